"""Compiled programs: files, costs, secure runs in two processes."""

import base64
import json
import os
import queue
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import nbclient
import nbformat
import pytest

import cenote as cn
from cenote import _errors, _native, _run

HERE = Path(__file__).parent
#: The version of the figures of a machine, see crates/engine/src/cost/machine.rs.
MACHINE = 4


@cn.program
def mixed(
    x: cn.Garbler[cn.Array[cn.Int[12], 4]], y: cn.Evaluator[cn.Array[cn.Int[12], 4]], s: cn.Evaluator[cn.UInt[2]]
) -> tuple[cn.Both[cn.Int[12]], cn.Garbler[cn.Array[cn.Int[12], 4]], cn.Evaluator[cn.Bit]]:
    """A bit of everything."""
    total = 0
    for i in cn.range(4):
        total += x[i] * y[i]
    return total // 7, cn.sort(x - y), x[s] > total % 5


@cn.program
def long(x: cn.Garbler[cn.UInt[64]], y: cn.Evaluator[cn.UInt[64]], n: int):
    """Takes a while."""
    for _i in cn.range(n):
        x = x * y + 1
    return x


def arguments(seed):
    """Inputs by a seed."""
    rng = random.Random(seed)
    return {
        "x": [rng.randrange(-2048, 2048) for _ in range(4)],
        "y": [rng.randrange(-2048, 2048) for _ in range(4)],
        "s": rng.randrange(4),
    }


@pytest.mark.parametrize(("backend", "seed"), [("plain", 1), ("yao", 2), ("yao", 3), ("wrk", 4), ("wrk", 5)])
def test_secure_runs_give_what_the_clear_gives(backend, seed):
    values = arguments(seed)
    run = mixed.run_local(**values, backend=backend, threads=seed - 2 if backend == "wrk" else 1)
    total, order, bit = mixed(**values)
    assert run.value == (total, order, bit)
    assert run.garbler == (total, order, None)
    assert run.evaluator == (total, None, bit)
    report = run.reports["garbler"]
    assert report["adversary"] == {"plain": "none", "yao": "semi-honest", "wrk": "malicious"}[backend]
    assert report["peer"] == "not authenticated"  # A pair of sockets, which nobody else can reach.
    assert report["bytes_sent"] > 0
    if backend == "wrk":
        assert report["epsilon_log2"] <= -40


@cn.program
def small(x: cn.Garbler[cn.Array[cn.UInt[8], 3]], y: cn.Evaluator[cn.UInt[8]]) -> tuple[cn.Both[cn.UInt[8]], cn.Garbler[cn.Bit]]:
    """With multiplexers, which ``jimu`` takes from pools of their own."""
    return cn.where(x[0] > y, x[0], cn.sum(x)), cn.any(x == y)


@pytest.mark.parametrize(("x", "y", "pool"), [([200, 100, 3], 7, 1000), ([200, 100, 3], 250, 1000), ([5, 6, 7], 6, None)])
def test_garbled_gates_from_a_pool_give_what_the_clear_gives(x, y, pool):
    run = small.run_local(x=x, y=y, backend="jimu", pool=pool)
    assert run.value == small.simulate(x=x, y=y).value == small(x, y)
    assert run.garbler == run.value
    assert run.evaluator == (run.value[0], None)
    for role in ("garbler", "evaluator"):
        assert run.reports[role]["adversary"] == "malicious"
        assert run.reports[role]["epsilon_log2"] < -38


@cn.program
def ranked(keys: cn.Garbler[cn.Array[cn.UInt[2], 9]], notes: cn.Evaluator[cn.Array[cn.UInt[8], 9]]):
    """Many equal keys."""
    return cn.sort(keys, notes), cn.top(4, keys, notes)


@pytest.mark.parametrize("backend", ["plain", "yao", "wrk"])
def test_equal_keys_come_in_the_same_order_everywhere(backend):
    values = {"keys": [1, 0, 1, 2, 1, 0, 2, 1, 1], "notes": [9, 8, 7, 6, 5, 4, 3, 2, 1]}
    (_, notes), _ = clear = ranked(**values)
    assert ranked.run_local(**values, backend=backend).value == ranked.simulate(**values).value == clear
    assert notes != [8, 4, 9, 7, 5, 2, 1, 6, 3], "this sort is stable by chance, so it shows nothing"


def test_prices_of_garbled_gates():
    made = small.compile()
    price = made.price("jimu", pool=1000)
    reports = made.run_local(x=[1, 2, 3], y=4, backend="jimu", pool=1000).reports
    for role in ("garbler", "evaluator"):
        # Coins decide which gates are checked.
        assert price[f"{role}_bytes_sent"] == pytest.approx(reports[role]["bytes_sent"], rel=0.05)
    assert price["garbler_bytes_sent"] < made.price("jimu")["garbler_bytes_sent"]
    with pytest.raises(cn.PolicyError, match="a pool of 10 items is too small"):
        made.price("jimu", pool=10)


def test_files_in_both_forms(tmp_path):
    made = mixed.compile()
    for name in ("mixed.cenote", "mixed.txt"):
        made.save(tmp_path / name)
        read = cn.load(tmp_path / name)
        assert read.digest == made.digest
        assert read.show() == made.show()
        assert read.cost() == made.cost()
        values = arguments(6)
        run = read.simulate(values)
        assert list(run.outputs.values()) == list(mixed(**values))
        assert run.overflow is None
    (tmp_path / "bad.txt").write_text('cenote 1\nprogram x ""\ninput a: nobody uint b8\n')
    with pytest.raises(cn.CompileError, match=r"bad\.txt:3:10"):
        cn.load(tmp_path / "bad.txt")
    (tmp_path / "bad.cenote").write_bytes(made.to_bytes()[:-1])
    with pytest.raises(cn.CompileError):
        cn.load(tmp_path / "bad.cenote")


def test_costs_do_not_expand_loops():
    start = time.perf_counter()
    small, large = long.compile(n=10).cost()["ands"], long.compile(n=10_000_000).cost()["ands"]
    assert large == small * 1_000_000
    assert time.perf_counter() - start < 5


@pytest.mark.parametrize("backend", ["plain", "yao", "wrk"])
def test_prices_are_what_runs_take(backend):
    price = mixed.compile().price(backend)
    reports = mixed.run_local(**arguments(9), backend=backend).reports
    for role in ("garbler", "evaluator"):
        assert price[f"{role}_bytes_sent"] == pytest.approx(reports[role]["bytes_sent"], rel=0.02, abs=200)
    assert 0 < price["seconds"] < mixed.compile().price(backend, rtt_ms=50, mbit=10)["seconds"]
    with pytest.raises(cn.PolicyError, match="too small"):
        mixed.compile().price("wrk", pool=10)


ENDLESS = """cenote 1
program endless "two loops of 2^30 rounds each"
input x: garbler uint b8
input y: evaluator uint b8
{
  %2 = for 1073741824 (%0) { |%3|
    %4 = for 1073741824 (%3) { |%5| %6 = mul %5, %1 yield %6 }
    yield %4
  }
}
output z: both uint %2
"""


def test_programs_of_strangers_are_refused_before_they_run(tmp_path):
    (tmp_path / "endless.txt").write_text(ENDLESS)
    made = cn.load(tmp_path / "endless.txt")
    for run in (made.simulate, lambda **values: made.run_local(**values, backend="yao")):
        with pytest.raises(
            cn.LimitError, match=r"ANDs predicted, more than the limit of 100000000000 \(ands\).*limits={.ands.: ..} raises"
        ):
            run(x=1, y=2)
        with pytest.raises(cn.LimitError, match=r"statements predicted"):
            run(x=1, y=2, limits=dict.fromkeys(("ands", "bytes", "memory"), float("inf")))


@pytest.mark.parametrize(("name", "least"), [("ands", 1), ("statements", 1), ("seconds", 1e-9), ("memory", 1000), ("live_bits", 8)])
def test_limits_can_be_set_and_lifted(name, least):
    values = {"x": 3, "y": 5, "n": 30}
    with pytest.raises(cn.LimitError, match=rf"limit of .* \({name}\)"):
        long.run_local(**values, backend="yao", limits={name: least})
    with pytest.raises(cn.LimitError, match=rf"\({name}\)"):
        long.simulate(**values, limits={name: least})
    assert long.simulate(**values, limits={name: float("inf")}).value == long(**values)
    with pytest.raises(cn.InputError, match="there is no limit `rounds`; there are ands, bytes"):
        long.simulate(**values, limits={"rounds": 3})


def test_prices_are_those_of_the_measured_machine(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = long.compile(n=1000)
    typical = made.price("wrk")
    assert typical["machine"] is None

    speed = {"setup_s": 1.0, "made_s": 0.0, "evaluated_s": 0.0, "batch_s": 0.0, "linear_s": 0.0, "linear_batch_s": 0.0, "call_s": 0.0}
    speed |= {"moved_s": 0.0, "wide_s": 0.0, "statement_s": 0.0, "pool_s": 0.0, "input_s": [0.0, 0.0]}
    figures = {"version": MACHINE, "speeds": dict.fromkeys(("plain", "yao", "wrk", "jimu"), speed), "counted_s": 0.0, "process_bytes": 0}
    kept = tmp_path / "cache" / "cenote" / "machine.json"
    kept.parent.mkdir(parents=True)
    kept.write_text(json.dumps(figures))
    measured = made.price("wrk")
    assert (measured["machine"], measured["seconds"]) == (str(kept), 1.0)
    assert {k: measured[k] for k in ("garbler_bytes_sent", "rounds")} == {k: typical[k] for k in ("garbler_bytes_sent", "rounds")}

    figures["speeds"]["wrk"] = {**speed, "setup_s": 7.0}
    other = tmp_path / "other.json"
    other.write_text(json.dumps(figures))
    assert made.price("wrk", machine=other)["seconds"] == 7.0
    # What is kept and cannot be read is passed over, with a word; what is named is refused.
    other.write_text("{\n]")
    kept.write_text("{\n]")
    with pytest.warns(UserWarning, match=r"machine\.json:2:1: .*cenote program calibrate"):
        assert made.price("wrk")["seconds"] == typical["seconds"]
    with pytest.raises(cn.InputError, match=r"other\.json:2:1: "):
        made.price("wrk", machine=other)


def test_results_as_numpy():
    np = pytest.importorskip("numpy")
    run = mixed.simulate(**arguments(7))
    assert run.numpy[1].dtype == np.int16
    assert run.numpy[1].tolist() == run.value[1]


def test_progress_is_told():
    seen = []
    ands = long.compile(n=20_000).cost()["ands"]
    long.run_local(x=3, y=5, n=20_000, backend="plain", progress=lambda done, total: seen.append((done, total)))
    assert seen == sorted(seen)
    assert seen[-1] == (ands, ands)
    assert len({done for done, _ in seen}) > 1


def test_progress_is_shown_where_somebody_looks(capfd, monkeypatch):
    long.run_local(x=3, y=5, n=300, backend="plain", progress=True)
    assert "AND/s" in capfd.readouterr().err
    for quiet in (None, False):
        long.run_local(x=3, y=5, n=300, backend="plain", progress=quiet)
        assert capfd.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    long.run_local(x=3, y=5, n=300, backend="plain")
    assert "AND/s" in capfd.readouterr().err


NOTEBOOK = """
import cenote as cn

@cn.program
def power(x: cn.Garbler[cn.UInt[64]], y: cn.Evaluator[cn.UInt[64]], n: int):
    for _ in cn.range(n):
        x = x * y
    return x
---
run = power.run_local(x=3, y=5, n=300, backend="yao", overflow=False)
run
---
power.run_local(x=3, y=5, n=3, backend="yao", progress=False).value
---
power.run_local(x=3, n=3)
"""


def test_a_notebook_has_a_progress_bar(monkeypatch):
    """There nobody's terminal says that somebody looks; results and errors are shown as notebooks show them."""
    monkeypatch.setenv("PYTHONPATH", str(HERE.parent), prepend=":")
    cells = [nbformat.v4.new_code_cell(text.strip()) for text in NOTEBOOK.split("---")]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", allow_errors=True).execute()
    _, loud, quiet, wrong = (cell.outputs for cell in notebook.cells)
    *bar, shown = loud
    assert {output.name for output in bar} == {"stderr"}
    told = "".join(output.text for output in bar)
    assert "AND/s" in told
    assert "Warning" not in told
    assert shown.data["text/plain"] == f"<run {3 * 5**300 % 2**64}>"
    assert [output.data["text/plain"] for output in quiet] == ["375"]
    assert (wrong[0].ename, wrong[0].evalue) == ("InputError", "power lacks input y")


def test_a_time_limit_ends_both_parties():
    with pytest.raises(cn.LimitError, match="time limit"):
        long.run_local(x=3, y=5, n=1_000_000, backend="yao", timeout=1.5)
    assert not _children(os.getpid())


def test_messages_do_not_put_the_end_off():
    lines = queue.Queue()
    lines.put(("garbler", {"done": 1}))
    with pytest.raises(cn.LimitError, match="time limit"):
        _run._next(lines, time.monotonic() - 1)
    assert _run._next(lines, None) == ("garbler", {"done": 1})


def _children(process):
    found = subprocess.run(["ps", "-o", "pid=,stat=", "--ppid", str(process)], capture_output=True, text=True, check=False).stdout
    return [line for line in found.splitlines() if "Z" not in line and "ps" not in line.split()[-1]] if "cenote" in found else []


def test_ctrl_c_ends_both_parties():
    text = (
        "import sys; sys.path.insert(0, sys.argv[1]); import test_runs\n"
        "try: test_runs.long.run_local(x=3, y=5, n=1_000_000, backend='yao', progress=lambda d, t: print('on', flush=True))\n"
        "except KeyboardInterrupt: print('interrupted', flush=True)"
    )
    process = subprocess.Popen([sys.executable, "-c", text, str(HERE)], stdout=subprocess.PIPE, text=True)
    watchdog = threading.Timer(60, process.kill)
    watchdog.start()
    try:
        assert process.stdout.readline() == "on\n"
        parties = _descendants(process.pid)
        assert len(parties) == 2
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
        assert rest.split()[-1] == "interrupted"
        assert process.wait() == 0
        assert not [p for p in parties if _runs(p)]
    finally:
        watchdog.cancel()
        process.kill()
        process.stdout.close()


def _descendants(process):
    return [int(p) for p in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def _runs(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().split(")")[1].split()[0] != "Z"
    except OSError:
        return False


def test_a_party_that_dies_is_reported():
    before = set(_descendants(os.getpid()))

    def kill(done, total):
        for child in set(_descendants(os.getpid())) - before:
            os.kill(child, signal.SIGABRT)

    with pytest.raises(cn.InternalError, match="ended without a report"):
        long.run_local(x=3, y=5, n=1_000_000, backend="yao", progress=kill)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"backend": "mpc"}, cn.InputError, "there is no backend `mpc`"),
        ({"pool": 0}, cn.InputError, "pool=0: a pool has a positive whole number"),
        ({"threads": 0}, cn.InputError, "threads=0: a party has 1 to 64 threads"),
        ({"threads": 65}, cn.InputError, "threads=65: a party has 1 to 64 threads"),
        ({"pool": 100, "backend": "yao"}, cn.InputError, "yao has no option `pool`"),
        ({"rho": 41}, cn.PolicyError, "rho is 40, 64 or 80"),
        ({"pool": 10}, cn.PolicyError, "a pool of 10 items is too small"),
    ],
)
def test_faults_of_the_engine_become_exceptions(options, error, message):
    with pytest.raises(error, match=message):
        long.run_local(x=3, y=5, n=1, **options)


def test_every_fault_has_an_exception():
    for kind, error in [
        ("misbehaved", cn.PeerMisbehaved),
        ("aborted", cn.PeerAborted),
        ("transport", cn.ConnectionFailed),
        ("exhausted", cn.LimitError),
        ("overflowed", cn.MemoryOverflowed),
        ("anything else", cn.InternalError),
    ]:
        assert type(_errors.of_fault(kind, "x")) is error
        assert issubclass(error, cn.Error)


def test_a_party_gets_its_own_inputs_alone(monkeypatch):
    specs = {}
    start = _run._start
    monkeypatch.setattr(_run, "_start", lambda spec, *rest: (specs.__setitem__(spec["role"], spec), start(spec, *rest))[1])
    mixed.run_local(**arguments(8), backend="plain")
    assert len(specs["garbler"]["inputs"]) == 1
    assert len(specs["evaluator"]["inputs"]) == 2


def test_the_native_module_refuses_what_does_not_fit():
    builder = _native.Builder("f", "")
    x = builder.input([("x", [])], "garbler", "uint", 0, 8)
    for call in (
        lambda: builder.input([("x", [])], "garbler", "uint", 0, 8),
        lambda: builder.input([("y", [])], "nobody", "uint", 0, 8),
        lambda: builder.word("add", [], [x, 99]),
        lambda: builder.word("frobnicate", [], [x]),
        lambda: builder.constant(2, 8, b"\0"),
        lambda: builder.lanes(x, 0, [(7, 1)], 1, 1),
        lambda: builder.call(0, [x]),
        lambda: builder.end_for([]),
    ):
        with pytest.raises(_native.BuildError):
            call()
    builder.output([("z", [])], "both", "uint", 0, x)
    made = builder.finish()
    assert made.evaluate([b"\x07"], {}) == ([b"\x07"], {})
    with pytest.raises(ValueError, match="1 inputs, 0 were given"):
        made.evaluate([], {})
    with pytest.raises(_native.BuildError):
        builder.finish()


@pytest.mark.parametrize("victim", [0, 1])
def test_a_party_that_is_killed_ends_the_run(victim):
    @cn.program
    def slow(a: cn.Garbler[cn.UInt[32]], b: cn.Evaluator[cn.UInt[32]]) -> cn.Both[cn.UInt[32]]:
        for _ in cn.range(10**6):
            a = a * b + 1
        return a

    started = []
    start = _run._start

    def noted(*arguments):
        started.append(start(*arguments))
        return started[-1]

    def kill(done, total):
        started[victim].send_signal(signal.SIGKILL)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_run, "_start", noted)
        role = ("garbler", "evaluator")[victim]
        with pytest.raises(cn.LimitError, match=f"^{role}: its process was ended by SIGKILL from outside"):
            slow.compile().run_local(a=1, b=2, backend="yao", progress=kill, timeout=60)
    assert started[victim].poll() == -signal.SIGKILL
    assert None not in [process.poll() for process in started], "a party is left"


def test_gates_are_counted_where_the_run_starts(monkeypatch):
    """A party takes the counts that come with the program, from which the parameters of a batch follow: so wrong ones show."""
    start = _run._start

    def miscounted(spec, *more):
        if spec["role"] == "garbler":
            head, program = base64.b64decode(spec["program"]).split(b"\n", 1)
            counts = json.loads(head)
            counts["module"]["stats"]["ands"] = 10**7
            spec = {**spec, "program": _run._text(json.dumps(counts).encode() + b"\n" + program)}
        return start(spec, *more)

    monkeypatch.setattr(_run, "_start", miscounted)
    with pytest.raises(cn.PolicyError, match="bucket"):
        mixed.run_local(**arguments(11), backend="wrk", overflow=False)
    # Nothing depends on them here.
    assert mixed.run_local(**arguments(11), backend="yao", overflow=False).value == mixed(**arguments(11))


def test_what_is_handed_over_is_a_program_with_its_counts():
    native = mixed.compile()._native
    taken = _native.Program.taken_over(native.handed_over())
    assert (taken.digest, taken.stats()) == (native.digest, native.stats())
    for data, wrong in ((b"", "EOF"), (native.to_bytes(), "expected value"), (native.handed_over()[:-1], "the file ends here")):
        with pytest.raises(ValueError, match=wrong):
            _native.Program.taken_over(data)

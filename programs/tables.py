"""docs/results.md: the evaluation of POOL (CCS 2017), measured again: ``python -m programs.tables [--quick] [--hour] [--only SECTION]``.

Everything is measured by ``cenote bench``, ``run`` and ``params`` of the command in CENOTE_BIN, or target/release. What the paper says
stands beside it as quoted: it is from other machines.
"""

import argparse
import dataclasses
import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile

import cenote as cn
from cenote import Array, Bit, Evaluator, Garbler, UInt

from . import drawing
from .hot_cards import standing
from .hot_cards.program import Card, Day, Reason

ROOT = pathlib.Path(__file__).parents[1]
PAGE = ROOT / "docs/results.md"
FIGURES = ROOT / "docs/results"
LINES = {"loopback": [], "LAN": ["--mbit", "2500", "--rtt-ms", "0.5"], "WAN": ["--mbit", "200", "--rtt-ms", "20"]}
#: ANDs of pools of table 5: the paper has the first and 35 million. These functions use both up.
POOLS = (35_000, 1_000_000)

#: Percent of table 3 that is checked, by the size of the pool.
CHECKED = {10_000: 12.2, 100_000: 5.5, 1_000_000: 5.5, 10_000_000: 26.5}
#: Seconds of table 3.
FILL = {
    "and": {10_000: 0.34, 100_000: 2.94, 1_000_000: 29.5, 10_000_000: 411.4},
    "mux8": {10_000: 1.92, 100_000: 18.82, 1_000_000: 188.53, 10_000_000: 2374.3},
}
#: The most cores of multiplexers of 8 bits that `cenote` takes in a stored pool.
MOST_MUX8 = 1_200_000
#: Bytes of table 4: garbler, evaluator.
STORED = {"and": (288, 240), "mux8": (1856, 1584)}
#: Seconds and GB of table 5 with pools of 35K and 35M, by line.
APPLICATIONS = {
    "sort of 4,096 numbers": {"LAN": ((149.3, 27.0), (87.1, 15.9)), "WAN": ((1168, None), (662.6, 13.7))},
    "Hamming distance of 2^20 bits": {"LAN": ((36.9, 6.42), (24.9, 3.8)), "WAN": ((268.9, None), (160, 5.0))},
    "edit distance of 1,024 symbols": {"LAN": ((1247, 215), (741.2, 127)), "WAN": ((9450, 213), (5333, None))},
    "access, one tree": {"LAN": ((46.6, 6.38), (31.4, 3.96)), "WAN": ((279.6, None), (174.7, None))},
    "access, recursive": {"LAN": ((15.4, 1.9), (11.2, 1.08)), "WAN": ((83.2, None), (48.0, None))},
    "access, recursive, factor 8, cut-off 256": {"LAN": ((15.4, 1.9), (11.2, 1.08)), "WAN": ((83.2, None), (48.0, None))},
}
#: Input bits of each party and output bits a second: WMK, and how many times as fast POOL is.
WMK_WIRES = 50_000
WIRES = {"garbler_input": 24, "evaluator_input": 2.4, "output": 600}
#: Least pools of table 6, by rho and size of buckets.
LEAST = {
    40: {3: 479_000, 4: 7_673, 5: 1_073},
    64: {3: 1_960_000_000, 4: 1_963_000, 5: 68_300},
    80: {3: 501_800_000_000, 4: 79_150_000, 5: 1_093_000},
}
#: The most leaky ANDs that a pool of `cenote` has.
MOST_LEAKY = 1 << 28
#: ANDs an hour of the paper's service.
HOURLY = 278_000_000


@dataclasses.dataclass
class Job:
    """A function of table 5, and the part of it that is run where the whole takes too long."""

    whole: list
    part: list
    said: str


JOBS = {
    "sort of 4,096 numbers": Job(["sort", "--n", "4096"], ["sort", "--n", "512"], "512 numbers"),
    "Hamming distance of 2^20 bits": Job(["hamming", "--bits", "1048576"], ["hamming", "--bits", "131072"], "2^17 bits"),
    "edit distance of 1,024 symbols": Job(
        ["edit", "--n", "1024", "--bits", "2"], ["edit", "--n", "1024", "--bits", "2", "--rows", "32"], "32 rows"
    ),
}
ACCESSES = {
    "access, one tree": ["--flat"],
    "access, recursive": ["--recursive"],
    "access, recursive, factor 8, cut-off 256": ["--factor", "8", "--cutoff", "256"],
}
#: As many gates as the largest circuit of Kreuter, shelat and Shen (USENIX Security 2012).
LARGE_EDIT = ["edit", "--n", "22200", "--bits", "2"]
#: Gates of figures 5 and 6 and ANDs a second that the paper states, by the size of the pool.
STATED = {1 << 20: "100 K ANDs a second: 10 us", 1 << 23: "about 4 gates"}
#: Rows of 32 bits of the memories whose layouts are compared.
BREAK_EVEN = (64, 256, 1_024, 4_096, 10_000, 16_384)
LAYOUTS = {"scan": ["--scan"], "one tree": ["--flat"], "recursive": ["--recursive"], "square root": ["--sqrt"]}
DAYS = 7
#: ANDs above which a part is run, by line.
LONG = {"loopback": 10_000_000, "LAN": 10_000_000, "WAN": 1_000_000}


def command():
    """The command that is measured."""
    return os.environ.get("CENOTE_BIN", str(ROOT / "target/release/cenote"))


def cenote(arguments):
    """What a command of `cenote` answers."""
    answer = subprocess.run([command(), *arguments, "--json"], capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise RuntimeError(f"cenote {' '.join(arguments)}: {answer.stderr.strip() or answer.stdout}")
    return json.loads(answer.stdout)


def bench(arguments):
    """A measurement."""
    print("cenote bench", *arguments, file=sys.stderr, flush=True)
    return cenote(["bench", *arguments])


def params(*arguments):
    """Derived parameters."""
    return cenote(["params", *map(str, arguments)])


def number(value, digits=3):
    """A figure with so many digits that count, or a dash."""
    if value is None:
        return "-"
    if value == 0:
        return "0"
    text = f"{value:.{digits}g}"
    return f"{float(text):,.0f}" if abs(value) >= 10 ** (digits - 1) else f"{float(text):g}"


def table(head, rows):
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def filling(chosen):
    """Table 3: seconds to fill a pool."""
    sizes = (10_000, 100_000) if chosen.quick else tuple(FILL["and"])
    rows = []
    for gadget, name in (("and", "AND"), ("mux8", "multiplexer core of 8 bits")):
        for size in sizes:
            most = min(size, MOST_MUX8) if gadget == "mux8" else size
            filled = bench(["pool-fill", "--backend", "jimu", "--gadget", gadget, "--size", str(most)])
            said, theirs, checked = f"{most:,}", number(FILL[gadget][size]), f"{CHECKED[size]} %"
            if most != size:
                said = f"{most:,}, the most that a stored pool has"
                theirs, checked = (f"{figure}, for {size:,}" for figure in (theirs, checked))
            rows.append([name, said, f"{100 * filled['check_rate']:.1f} %", checked, number(filled["fill_s"]), theirs])
    for size in (size for size in sizes if size >= 10_000):
        filled = bench(["and", "--backend", f"wrk:pool={size}", "--ands", "1000"])
        rows.append(["leaky AND of `wrk`", f"{size:,}", "-", "-", number(filled["fill_s"]), "-"])
    return table(["item", "pool", "checked", "paper", "s", "paper, s"], rows)


def storage(_):
    """Table 4: bytes of an item at each side."""
    rows = []
    for gadget, name in (("and", "AND"), ("mux8", "multiplexer core of 8 bits")):
        kept = bench(["pool-fill", "--backend", "jimu", "--gadget", gadget, "--size", "10000"])["stored_bytes_per_item"]
        theirs = STORED[gadget]
        rows.append([name, kept["garbler"], kept["evaluator"], *theirs])
    said = "Bytes. The garbler of `jimu` makes all but a number and a seal again from its seeds.\n\n"
    return said + table(["item", "garbler", "evaluator", "paper: garbler", "evaluator"], rows)


def wires(chosen):
    """Input and output wires a second."""
    count = 1 << (14 if chosen.quick else 20)
    rows = []
    for line in ("loopback", "LAN"):
        for backend in ("wrk", *(f"jimu:pool={pool}" for pool in POOLS)):
            often = [] if chosen.quick or LINES[line] else ["--repeat", "3"]
            run = bench(["wires", "--wires", str(count), "--backend", backend, *LINES[line], *often])
            figures = [f"{number(run[f'{name}s_per_s'] / 1e3)} ({number(run[f'bytes_per_{name}'])})" for name in WIRES]
            rows.append([f"`{backend}`", line, *figures])
    rows.append(["paper, WMK", "LAN", *[f"about {WMK_WIRES / 1e3:g}"] * 3])
    rows.append(["paper, POOL", "LAN", *(f"{times:g} times as many: {number(times * WMK_WIRES / 1e3)}" for times in WIRES.values())])
    return (
        f"Thousands a second, and in brackets bytes each, both ways: {count:,} input bits of the garbler, as many of the evaluator, and as "
        "many outputs to both. Making what inputs take is in their time; outputs are those of a job that has its inputs already. The paper "
        'says "roughly 50K input/output wires per second" of WMK, and how many times as fast POOL is.\n\n'
        + table(["here", "line", "garbler's inputs", "evaluator's inputs", "outputs"], rows)
    )


def backends(line):
    """What table 5 is measured with on a line: the largest pool as well where no part is run for the whole."""
    pools = POOLS[:1] if line == "WAN" else POOLS
    return ["wrk", *(f"jimu:pool={pool}" for pool in pools)]


def applications(chosen):
    """Table 5: seconds and GB of the functions of the paper, by line."""
    rows = []
    for line, shape in LINES.items():
        for name, job in JOBS.items():
            ands = bench([*job.whole, "--backend", "plain"])["ands"]
            short = chosen.quick or ands > LONG[line]
            # On loopback nothing is quiet but the line: medians.
            often = [] if chosen.quick or shape else ["--repeat", "3"]
            for backend in backends(line):
                run = bench([*(job.part if short else job.whole), "--warm", "--backend", backend, *shape, *often])
                times = ands / run["ands"]
                gigabytes = run["steady_bytes_per_and"] * ands / 1e9
                row = [name, line, f"`{backend}`", f"{ands / 1e6:.2f}", number(run["job_s"] * times), number(gigabytes)]
                rows.append([*row, job.said if short else "whole", *quoted(name, line)])
        for name, how in ACCESSES.items():
            for backend in backends(line):
                # 0.9 GB each.
                few = ["--accesses", "3"] if line == "WAN" and backend != "wrk" else []
                run = bench(["oram", "--blocks", "10000", "--width", "32", *how, "--warm", "--backend", backend, *shape, *few])
                gigabytes = run["bytes_per_access"] / 1e9
                row = [
                    name,
                    line,
                    f"`{backend}`",
                    f"{run['ands_per_access'] / 1e6:.3f}",
                    number(run["wall_per_access_s"]),
                    number(gigabytes),
                ]
                rows.append([*row, f"{run['accesses']} accesses, {run['rounds_per_access']:g} rounds each", *quoted(name, line)])
    gates = [params("--backend", "jimu", "--pool", size, "--epsilon-log2", -40)["gates_per_and"] for size in (35_000_000, POOLS[-1])]
    return (
        "Seconds (on loopback medians of three) and GB both ways; an access reads or writes one of 10,000 blocks of 32 bits, and "
        "*recursive* without more is in as many trees as take least. Each job is run once before the one that is measured, which "
        "finds all pools full. Beside loopback stands what the paper has for its LAN. On the WAN the smaller pool runs alone. The largest "
        "pool here has 1,000,000 ANDs, not "
        "35 million: a stored pool takes at most 8 GiB at a side, 31 million ANDs, and all of these jobs but the sort would exchange less "
        f"than half of that. What is left to gain is {gates[0]:.2f} gates an AND in place of {gates[1]:.2f}.\n\n"
        + table(["function", "line", "here", "M ANDs", "s", "GB", "run", "paper, n = 35K", "n = 35M"], rows)
    )


def sizes_of_memories(chosen):
    """Memories by their size, of zeros and of given rows: ANDs, seconds, and memory of the larger side."""
    rows = []
    cases = [("wrk", blocks, False) for blocks in dict.fromkeys((10_000, *(() if chosen.quick else (1 << 16, 1 << 20))))]
    cases += [("wrk", 10_000, True)]
    cases += [("jimu:pool=35000", 10_000, given) for given in (False, True)]
    for backend, blocks, given in cases:
        # A quick look is not for the hours that trees take to be filled.
        how = [*(["--given"] if given else []), *(["--sqrt"] if given and chosen.quick else [])]
        run = bench(["oram", "--blocks", str(blocks), "--width", "32", "--backend", backend, *how])
        row = [f"{blocks:,}", f"`{backend}`", "given rows" if given else "zeros", run["layout"], f"{run['start_ands'] / 1e6:.1f}"]
        seconds = [number(run[name]) for name in ("start_s", "wall_per_access_s")]
        rows.append([*row, seconds[0], f"{run['ands_per_access'] / 1e3:.0f}", seconds[1], f"{peak(run):.0f}"])
    return (
        "On loopback, twenty accesses to a memory that begins with zeros, of which buckets that no access came to take no memory, or with "
        "rows that the garbler enters, which is full. The beginning is what comes before the first access. MB are the most at a side, the "
        "beginning included. 2^16 given rows are among the large runs.\n\n"
        + table(["blocks of 32 bits", "here", "begins with", "kept", "beginning, M ANDs", "s", "an access, K ANDs", "s", "MB"], rows)
    )


@cn.program
def look_up(
    ours: Garbler[UInt[128]],
    yours: Evaluator[UInt[128]],
    listed: Garbler[Array[Card, 8]],
    asked: Evaluator[Array[Card, "q"]],
    *,
    n: int,
    q: int,
) -> tuple[Evaluator[Array[Bit, "q"]], Evaluator[Array[Reason, "q"]]]:
    """Which of the cards that are asked for are on a list of at most ``n``, and why. What a look-up takes does not depend on the list."""
    cards = cn.map_of(Card, Reason, n, seeds=(ours, yours), expires=Day)
    for k in cn.range(8):
        cards.insert(listed[k], k + 1, expires=1)
    hot, reasons = cn.zeros(Bit, q), cn.zeros(Reason, q)
    for k in cn.range(q):
        hot[k], reasons[k] = cards.get(asked[k])
    return hot, reasons


def looked_up(backend, n, q):
    """A run of so many look-ups, whose answers are checked."""
    listed = [4_000_000_000_000_000 + 977 * k for k in range(8)]
    asked = [listed[k % 8] + k % 3 for k in range(q)]
    given = {"ours": [1 << 100], "yours": [3 << 90], "listed": listed, "asked": asked}
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "look_up.bin"
        look_up.compile(n=n, q=q).save(file)
        inputs = [f"--input={name}={','.join(map(str, values))}" for name, values in given.items()]
        run = cenote(["run", str(file), "--backend", backend, *inputs])
    expected = [[card in listed for card in asked], [listed.index(card) + 1 if card in listed else 0 for card in asked]]
    if run["values"]["result"] != expected:
        raise AssertionError(f"{backend}: {q} look-ups among {n} cards give {run['values']['result']}, not {expected}")
    return run


def payment(n):
    """ANDs of a request with one payment, on a list of so many cards that is kept between requests."""
    return standing.pay.compile(n=n, q=1).cost()["ands"]


def look_ups(chosen):
    """Look-ups in the map of the application with hot cards, a second."""
    rows, (few, many) = [], (4, 8) if chosen.quick else (10, 60)
    for backend in ("wrk", f"jimu:pool={POOLS[0]}"):
        for n in (2_500, 10_000):
            pairs = [[looked_up(backend, n, q) for q in (few, many)] for _ in range(1 if chosen.quick else 3)]
            seconds = statistics.median(more["wall_s"] - less["wall_s"] for less, more in pairs) / (many - few)
            ands = (pairs[0][1]["ands"] - pairs[0][0]["ands"]) / (many - few)
            rows.append([f"{n:,}", f"`{backend}`", f"{ands / 1e3:.0f}", number(seconds), number(1 / seconds)])
    return (
        f"On loopback, cards of 54 bits, of which both parties' seeds hide where they are ([map.md](protocols/map.md)), with reasons of 4 "
        f"and days: the difference of jobs of {many} and of {few} look-ups, medians of three. A payment in a request of its own, on a list "
        f"that is kept between requests, is a look-up and a report: {payment(10_000) / 1e3:.0f} K ANDs on one of 10,000 cards, which `wrk` "
        "keeps alone.\n\n" + table(["cards", "here", "a look-up, K ANDs", "s", "a second"], rows)
    )


def break_even(chosen):
    """Seconds of an access by layout and size of the memory, and the layout that a program would get."""
    rows = []
    for line in ("loopback", "WAN"):
        for blocks in BREAK_EVEN[:3] if chosen.quick else BREAK_EVEN:
            what = ["oram", "--blocks", str(blocks), "--width", "32"]
            row, cheapest = [], ""
            for how in LAYOUTS.values():
                try:
                    known = bench([*what, *how, "--accesses", "1", "--backend", "plain"])
                except RuntimeError:
                    row.append("-")
                    continue
                cheapest = known["cheapest"]
                # One shuffle, and stashes of all sizes.
                accesses = 1 + known["period"] if known["period"] else 20
                run = bench([*what, *how, "--accesses", str(accesses), "--backend", "wrk", *LINES[line]])
                row.append(number(run["wall_per_access_s"]))
            rows.append([f"{blocks:,}", line, *row, cheapest])
    return (
        "Seconds of an access on `wrk`, by the way in which the memory is kept, means of twenty; of square-root ORAM those of a whole "
        "period, its shuffle included. *Taken* is what a program gets for 2^20 accesses, whatever its line: it counts an opening as 2^14 "
        "ANDs ([ram.md](protocols/ram.md)).\n\n" + table(["rows of 32 bits", "line", *LAYOUTS, "taken"], rows)
    )


def large(_):
    """The largest runs: nothing of a program stays in memory."""
    rows = []
    for name, said, backend, arguments in (
        ("edit distance of 22,200 symbols", "5.9 G gates are the largest circuit of KSS12, 8.2 h on 512 cores", "yao", LARGE_EDIT),
        ("1 G ANDs", "-", "wrk", ["and", "--ands", "1000000000"]),
    ):
        run = bench([*arguments, "--backend", backend])
        # The stream has an XOR for each AND.
        gates = run.get("gates", 2 * run["ands"])
        figures = [f"{gates / 1e9:.2f}", f"{run['ands'] / 1e9:.2f}", f"{run['wall_s']:,.0f}", f"{peak(run):.0f}"]
        rows.append([name, f"`{backend}`", *figures, said])
    # A full memory: trees take a thousand ANDs or more for each bit that is put in.
    run = bench(["oram", "--blocks", str(1 << 16), "--width", "32", "--given", "--backend", "wrk"])
    ands = run["start_ands"] + run["accesses"] * run["ands_per_access"]
    figures = ["-", f"{ands / 1e9:.2f}", f"{run['wall_s']:,.0f}", f"{peak(run):.0f}"]
    rows.append(["memory of 2^16 given rows of 32 bits, 20 accesses", "`wrk`", *figures, "-"])
    return table(["run", "backend", "G gates", "G ANDs", "s", "MB", "beside"], rows)


def peak(run):
    """Memory of the side that takes more, in MB."""
    return max(side["peak_rss_bytes"] for side in run["parties"].values()) / 1e6


def quoted(name, line):
    """What the paper has: seconds and GB; on its LAN, where it has no such line."""
    figures = APPLICATIONS[name].get(line) or APPLICATIONS[name]["LAN"]
    return [f"{number(seconds)} s" + (f", {gigabytes:g} GB" if gigabytes else "") for seconds, gigabytes in figures]


def bucket(size, rho):
    """The bucket of a pool of leaky ANDs, none if it is too small for any."""
    try:
        return params("--backend", "wrk", "--pool", size, "--epsilon-log2", -rho)["bucket"]
    except RuntimeError:
        return None


def least(wanted, rho):
    """The smallest pool whose buckets are that small."""
    low, high = 1, MOST_LEAKY
    found = bucket(high, rho)
    if found is None or found > wanted:
        return None
    while low < high:
        middle = (low + high) // 2
        found = bucket(middle, rho)
        low, high = (low, middle) if found is not None and found <= wanted else (middle + 1, high)
    return low


def smallest(_):
    """Table 6: the least pools of `wrk`."""
    rows = []
    for rho, theirs in LEAST.items():
        for size, quotation in theirs.items():
            here = least(size, rho)
            rows.append(
                [rho, size, f"{here:,}" if here else f"above 2^{MOST_LEAKY.bit_length() - 1}, the most that is taken", f"{quotation:,}"]
            )
    return table(["rho", "bucket", "leaky ANDs", "paper"], rows)


def sizes_and_costs(quick):
    """Figures 5 and 6: what an AND costs in gates, and in time, by the size of the pool."""
    rows = []
    for power in (10, 12, 14, 16, 18, 20, 21, 22, 23):
        size = 1 << power
        derived = params("--backend", "jimu", "--pool", size, "--epsilon-log2", -40)
        microseconds = None
        if power in (12, 14, 16, 18, 20) and not (quick and power > 16):
            run = bench(["and", "--backend", f"jimu:pool={size}", "--ands", str(300_000 if power < 18 else 1_000_000)])
            microseconds = 1e6 / run["steady_ands_per_s"]
        rows.append((size, derived["bucket"], 100 * derived["check_rate"], derived["gates_per_and"], microseconds))
    return rows


def size_of_the_pool(chosen):
    """Figures 5 and 6."""
    costs = sizes_and_costs(chosen.quick)
    draw_costs(costs)
    rows = [
        [f"{size:,}", width, f"{checked:.1f} %", f"{gates:.2f}", number(micros), STATED.get(size, "-")]
        for size, width, checked, gates, micros in costs
    ]
    return (
        "At 2^-40. The paper draws these figures, and states two points of them. "
        "![gates](results/figure5a.svg) ![time](results/figure5b.svg) ![buckets](results/figure6.svg)\n\n"
        + table(["items", "bucket", "checked", "gates an AND", "us an AND", "paper"], rows)
    )


#: What figure 7 has besides multiplexers alone.
WITH_MUXES = {
    "sort of 512 numbers": JOBS["sort of 4,096 numbers"].part,
    "edit distance, 32 rows of 1,024 symbols": JOBS["edit distance of 1,024 symbols"].part,
    "access to 10,000 blocks, recursive": ["oram", "--blocks", "10000", "--width", "32", "--recursive"],
}


def multiplexers(_):
    """Figure 7: what pools for multiplexers save."""
    savings = []
    for width in (8, 16, 32, 64):
        run = bench(["mux", "--backend", "jimu", "--width", str(width), "--pool", "20000"])
        savings.append((f"{width} bits", run["time_ratio"], run["bytes_ratio"]))
    for name, job in WITH_MUXES.items():
        ways = [bench([*job, "--warm", "--backend", f"jimu:pool=35000,muxcore={way}"]) for way in ("true", "false")]
        savings.append((name, *(ways[0][key] / ways[1][key] for key in ("job_s", "steady_bytes_per_and"))))
    draw_savings(savings)
    return (
        "With pools of their own, as shares of what it takes without. Each job is run once before, so that the one that is measured finds "
        "all pools full. The paper saves about 30 % of the time of a multiplexer, 6 to 23 % of applications. "
        "![savings](results/figure7.svg)\n\n"
        + table(["what", "time", "bytes"], [[name, f"{seconds:.2f}", f"{octets:.2f}"] for name, seconds, octets in savings])
    )


def week(chosen):
    """Days on the counters of a session, at the speed that is measured; an hour of it for real, if it is asked for."""
    rows, hourly = [], {}
    for backend, ands in (("wrk", 5_000_000), (f"jimu:pool={POOLS[-1]}", 1_000_000)):
        run = bench(["and", "--backend", backend, "--ands", str(ands // 50 if chosen.quick else ands)])
        rate = run["steady_ands_per_s"]
        hourly[backend] = rate * 3600
        days = cenote(["bench", "days", "--days", str(DAYS), "--ands-per-s", f"{rate:.0f}", "--backend", backend])
        largest = max(days["numbers"], key=lambda numbers: numbers["used"])
        sent = sum(days["bytes_sent"].values())
        bounds = [number(days[name]) for name in ("epsilon_log2", "adaptive_epsilon_log2")]
        rows.append(
            [
                f"`{backend}`",
                f"{rate * 3600 / 1e9:.2f}",
                number(days["ands"] / 1e9),
                f"{number(days['made'] / 1e9)} G {days['items']}",
                f"{days['refills']:,}",
                f"{days['pool_at_end']:,}",
                number(sent / 1e12),
                f"2^{largest['used_log2']:.1f} {largest['what']} of 2^{largest['bits']}",
                f"2^{bounds[0]}, 2^{bounds[1]}",
            ]
        )
    head = ["here", "G ANDs an hour", f"G ANDs in {DAYS} days", "made", "refills", "pool at the end", "TB sent", "largest counter", "bound"]
    text = (
        f"The speed is measured; what {DAYS} days of it make, use and send is counted by the plan of a session, whose formulas are those "
        "of its refills: a test compares them with a session that runs, those of `wrk` to the item, of `jimu` to 5 %. The pool is filled "
        "once and full again after each refill, so its bound is the same however many ANDs there are; the second bound is that against a "
        "cheater that adapts. "
        f"The paper's service ran seven days with a pool of 16 million gates: {HOURLY / 1e9:.3f} G ANDs an hour, 47.3 G in all.\n\n"
    ) + table(head, rows)
    if chosen.hour:
        real = bench(["and", "--backend", "wrk", "--ands", str(int(hourly["wrk"]))])
        text += (
            f"\nAn hour of `wrk`, run: {real['ands'] / 1e9:.2f} G ANDs in {real['wall_s']:,.0f} s, {peak(real):.0f} MB at most at a side.\n"
        )
    return text


def machine():
    """The machine, the day and the commit."""
    model = platform.processor()
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), model)
    commit = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()
    return f"{model}, {os.cpu_count()} cores, {datetime.date.today()}, commit {commit}"


def draw_costs(costs):
    """Figures 5 and 6."""
    FIGURES.mkdir(exist_ok=True)
    sizes = [row[0] for row in costs]
    figure, axes = drawing.frame("gates for an AND, by the size of the pool", "items of the pool", "gates")
    axes.semilogx(sizes, [row[3] for row in costs], base=2, color=drawing.COLOURS[0], marker="o")
    save(figure, "figure5a")
    figure, axes = drawing.frame("time for an AND, by the size of the pool", "items of the pool", "microseconds")
    timed = [row for row in costs if row[4]]
    axes.semilogx([row[0] for row in timed], [row[4] for row in timed], base=2, color=drawing.COLOURS[0], marker="o")
    axes.set_ylim(bottom=0)
    save(figure, "figure5b")
    figure, axes = drawing.frame("bucket and share that is checked, by the size of the pool", "items of the pool", "items of a bucket")
    axes.semilogx(sizes, [row[1] for row in costs], base=2, color=drawing.COLOURS[0], marker="o", label="bucket")
    axes.set_ylim(bottom=0)
    other = axes.twinx()
    other.semilogx(sizes, [row[2] for row in costs], base=2, color=drawing.COLOURS[1], marker="s", label="checked, %")
    other.set_ylabel("checked, %")
    save(figure, "figure6")


def draw_savings(savings):
    """Figure 7."""
    FIGURES.mkdir(exist_ok=True)
    figure, axes = drawing.frame("with pools for multiplexers, of what it takes without", "", "share")
    for offset, column, name in ((-0.2, 1, "time"), (0.2, 2, "bytes")):
        places = [place + offset for place in range(len(savings))]
        axes.bar(places, [row[column] for row in savings], width=0.36, color=drawing.COLOURS[column - 1], label=name)
    axes.set_xticks(range(len(savings)), [row[0] for row in savings])
    axes.legend(frameon=False)
    save(figure, "figure7")


def save(figure, name):
    """Writes a figure."""
    figure.savefig(FIGURES / f"{name}.svg", metadata={"Date": None})
    drawing.pyplot.close(figure)


#: The page: what each section is called, and what measures it.
SECTIONS = {
    "Filling a pool (table 3)": filling,
    "What an item takes at rest (table 4)": storage,
    "Input and output wires (section 7)": wires,
    "Functions (table 5)": applications,
    "Memories by their size": sizes_of_memories,
    "Memories by their layout": break_even,
    "Look-ups in a map (hot cards)": look_ups,
    "Large runs": large,
    "Least pools of `wrk` (table 6)": smallest,
    "Size of the pool (figures 5 and 6)": size_of_the_pool,
    "Multiplexers (figure 7)": multiplexers,
    "Seven days": week,
}
#: What is measured only when it is asked for.
APART = "Large runs"


def head(quick):
    """What stands above all sections."""
    part = " With `--quick`: to see that all runs, not to compare." if quick else ""
    lan, wan = (f"{LINES[name][1]} Mbit/s and {LINES[name][3]} ms there and back" for name in ("LAN", "WAN"))
    return f"""# The evaluation of POOL, measured again

Written by `make tables`.{part} {machine()}; a section with a line of its own was measured apart. Columns headed *paper* are quoted from
R. Zhu, Y. Huang, D. Cassel, "Pool: scalable on-demand secure computation service against malicious adversaries", CCS 2017: another machine,
another implementation. Both parties run on one machine, each on one core, as processes of their own. LAN is {lan},
WAN {wan}, both shaped by `cenote bench`. Pools of ANDs are filled before jobs; nothing else is ready. Where a part was
run, time and bytes are those of the part, times as many ANDs as the whole has more.
"""


def on_the_page(title):
    """A section as the page has it; none if it has none."""
    page = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    return page.partition(f"## {title}\n\n")[2].partition("\n## ")[0]


def kept(title):
    """A section that is not measured now."""
    return on_the_page(title) or f"""Not measured yet: `make tables TABLES="--only '{title}'"`.\n"""


def write(chosen):
    """Measures the sections that are `chosen` and writes the page, with the other ones as they are."""
    wanted = chosen.only or [title for title in SECTIONS if title != APART or chosen.large]
    page = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    above = page.partition("\n## ")[0] if chosen.only and page else head(chosen.quick)
    # All that is old is read before anything is written, and the page is written as a whole.
    for title, measure in SECTIONS.items():
        if title in wanted:
            is_apart = bool(chosen.only) or title == APART
            text = (f"{machine()}.\n\n" if is_apart else "") + measure(chosen)
        else:
            text = kept(title)
        above += f"\n## {title}\n\n{text}"
    PAGE.write_text(above, encoding="utf-8")


def section(start):
    """The title that begins like this."""
    found = [title for title in SECTIONS if title.startswith(start)]
    if len(found) != 1:
        raise argparse.ArgumentTypeError(f"{start}: one of {', '.join(found or SECTIONS)}")
    return found[0]


def main(arguments=None):
    """Measures all, or what is asked for, and writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small pools and parts of jobs, to see that all runs")
    parser.add_argument("--large", action="store_true", help="the largest runs as well: an hour more")
    parser.add_argument("--hour", action="store_true", help="one hour of the seven days for real")
    parser.add_argument("--only", action="append", type=section, help="this section, by how its title begins; the others stay")
    write(parser.parse_args(arguments))


if __name__ == "__main__":
    main()

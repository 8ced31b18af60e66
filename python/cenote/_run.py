"""Secure runs on this machine: two processes, one for each party, and what comes back from them."""

from __future__ import annotations

import base64
import contextlib
import importlib.util
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, Union

from . import _native
from ._clear import Overflow
from ._errors import ConnectionFailed, Error, LimitError, of_fault
from ._outputs import Outputs, as_array

#: Whether to show progress: ``None`` where somebody looks, or a function of the ANDs done and of all.
ProgressOption = Union[bool, Callable[[int, int], None], None]

#: How often an interruption is looked for, in seconds.
_TICK = 0.1
#: Figures of a report that are whole numbers.
_COUNTS = {"bytes_sent", "bytes_received", "rounds", "kappa"}
#: How long one party may go on after the other has failed, in seconds.
_GRACE = 5.0


class Run:
    """What a run gave."""

    def __init__(
        self,
        outputs: Outputs,
        joined: list[list[int] | None],
        garbler: list[list[int] | None],
        evaluator: list[list[int] | None],
        overflow: list[Overflow] | None = None,
        reports: dict[str, dict[str, Any]] | None = None,
    ) -> None:
        self._outputs, self._joined, self._sides = outputs, joined, {"garbler": garbler, "evaluator": evaluator}
        #: Lines whose numbers did not fit their type, from a simulation beside the run; ``None`` where that is not known.
        self.overflow = overflow
        #: Times, bytes and rounds of each party, of a secure run.
        self.reports = {role: {k: v for k, v in report.items() if k != "outputs"} for role, report in (reports or {}).items()}

    @property
    def value(self) -> Any:
        """The result, as a call of the function in the clear gives it."""
        return self._outputs.structured(self._joined)

    @property
    def numpy(self) -> Any:
        """The result with arrays as NumPy arrays."""
        return self._outputs.structured(self._joined, as_array)

    def _side(self, role: str) -> Any:
        if not self.reports:
            raise Error("a simulation has no parties: look at .value, or run with run_local")
        return self._outputs.structured(self._sides[role])

    @property
    def a(self) -> Any:
        """What A, who garbles, received; ``None`` in place of the rest."""
        return self._side("garbler")

    @property
    def b(self) -> Any:
        """What B, who evaluates, received; ``None`` in place of the rest."""
        return self._side("evaluator")

    garbler, evaluator = a, b

    @property
    def outputs(self) -> dict[str, Any]:
        """The outputs by the names of their ports."""
        return self._outputs.named(self._joined)

    @property
    def overflowed(self) -> bool | None:
        """Whether numbers did not fit: the overflow bit of a program with ``checked``; without, what the simulation beside it found.

        ``None`` where neither is known.
        """
        bit = self._outputs.overflowed(self._joined)
        return bit if bit is not None or self.overflow is None else bool(self.overflow)

    def __repr__(self) -> str:
        return f"<run {self.value!r}{f' overflow {self.overflow!r}' if self.overflow else ''}>"


def pair(
    program: bytes,
    inputs: dict[str, list[bytes]],
    backend: str,
    threads: int,
    total: int,
    progress: ProgressOption,
    timeout: float | None,
) -> dict[str, dict[str, Any]]:
    """Runs both parties; the report of each, by role."""
    lines: queue.Queue[tuple[str, dict[str, Any]]] = queue.Queue()
    started: list[subprocess.Popen[bytes]] = []
    deadline = None if timeout is None else time.monotonic() + timeout
    # Connected sockets that nobody else can reach.
    ends = dict(zip(("garbler", "evaluator"), _native.Connection.pair()))
    try:
        for role, end in ends.items():
            spec = {
                "role": role,
                "program": _text(program),
                "inputs": list(map(_text, inputs[role])),
                "backend": backend,
                "threads": threads,
            }
            started.append(_start(spec, end, lines))
        with _shown(progress, total) as show:
            return _reports(lines, deadline, show)
    finally:
        for process in started:
            process.kill()
        for process in started:
            process.wait()


#: What a party runs: nothing from the working directory, where anybody may have put a module.
_WORKER = "import sys; sys.path = [p for p in sys.path if p]; from cenote._worker import main; main()"


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _start(spec: dict[str, Any], end: _native.Connection, lines: queue.Queue[tuple[str, dict[str, Any]]]) -> subprocess.Popen[bytes]:
    """Starts a party, with its end of the connection as standard input."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
    reading, writing = os.pipe()
    order = os.fdopen(writing, "wb")
    try:
        process = subprocess.Popen(
            [sys.executable, "-c", _WORKER, str(reading)],
            stdin=end.fileno(),
            stdout=subprocess.PIPE,
            pass_fds=[reading],
            env={**os.environ, "PYTHONPATH": path},
            # Ctrl-C is for the parent, which then ends the parties.
            start_new_session=True,
        )
    except BaseException:
        order.close()
        raise
    finally:
        os.close(reading)
        # The peer must see that this party ended when it does.
        end.close()
    threading.Thread(target=_attend, args=(spec, process, order, lines), daemon=True).start()
    return process


def _attend(
    spec: dict[str, Any], process: subprocess.Popen[bytes], order: BinaryIO, lines: queue.Queue[tuple[str, dict[str, Any]]]
) -> None:
    """Tells a party what to do, and passes on what it says.

    Inputs go through a pipe, never into arguments or files; a party ends when the pipe does.
    """
    role, ended = spec["role"], False
    # A party that ended early is reported below.
    with contextlib.suppress(OSError), order:
        order.write(json.dumps(spec).encode() + b"\n")
        order.flush()
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                try:
                    message = json.loads(line)
                except ValueError:
                    continue
                ended |= "report" in message or "failure" in message
                lines.put((role, message))
    if not ended:
        lines.put((role, {"failure": _end_of(process.wait())}))


def _end_of(status: int) -> dict[str, str]:
    """The failure of a party whose process ended without a report, by its exit status."""
    if -status in (signal.SIGKILL, signal.SIGTERM):
        name = signal.Signals(-status).name
        return {"kind": "exhausted", "message": f"its process was ended by {name} from outside, as the system does when memory runs out"}
    return {"kind": "internal", "message": f"its process ended without a report, with status {status}"}


def _next(lines: queue.Queue[tuple[str, dict[str, Any]]], deadline: float | None) -> tuple[str, dict[str, Any]]:
    while deadline is None or time.monotonic() < deadline:
        # A bounded wait lets Ctrl-C through on every platform.
        wait = _TICK if deadline is None else max(0.0, min(_TICK, deadline - time.monotonic()))
        with contextlib.suppress(queue.Empty):
            return lines.get(timeout=wait)
    raise LimitError("the run took longer than its time limit; both parties were ended")


def _failure(role: str, message: dict[str, Any]) -> Error:
    failure = message.get("failure", {})
    return of_fault(str(failure.get("kind")), f"{role}: {failure.get('message', 'no answer')}")


def _reports(
    lines: queue.Queue[tuple[str, dict[str, Any]]], deadline: float | None, show: Callable[[int], None]
) -> dict[str, dict[str, Any]]:
    reports: dict[str, dict[str, Any]] = {}
    failures: list[Error] = []
    while len(reports) + len(failures) < 2:
        try:
            role, message = _next(lines, deadline)
        except LimitError:
            if failures:
                break
            raise
        if "report" in message:
            report = message["report"]
            report.update({name: int(report[name]) for name in _COUNTS & report.keys()})
            report["outputs"] = [None if words is None else base64.b64decode(words) for words in report["outputs"]]
            reports[role] = report
        elif "failure" in message:
            failures.append(_failure(role, message))
            deadline = min(deadline or float("inf"), time.monotonic() + _GRACE)
        elif "done" in message and role == "garbler":
            show(int(message["done"]))
    if failures:
        # The side that was told nothing, or lost the connection, knows less than the other.
        raise sorted(failures, key=lambda e: type(e).__name__ == "PeerAborted" or isinstance(e, ConnectionFailed))[0]
    return reports


def _in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


@contextlib.contextmanager
def _shown(progress: ProgressOption, total: int) -> Iterator[Callable[[int], None]]:
    """A function that shows how many ANDs are done."""
    if callable(progress):
        yield lambda done: progress(done, total)
        return
    if progress is False or (progress is None and not (_in_notebook() or sys.stderr.isatty())):
        yield lambda done: None
        return
    try:
        # Notebooks have a bar of their own, which needs another package; text does everywhere.
        if _in_notebook() and importlib.util.find_spec("ipywidgets"):
            from tqdm.notebook import tqdm  # type: ignore[import-untyped,unused-ignore]
        else:
            from tqdm import tqdm  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        yield lambda done: None
        return
    with tqdm(total=total, unit="AND", unit_scale=True, leave=False) as bar:
        yield lambda done: bar.update(done - bar.n) and None

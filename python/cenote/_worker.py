"""One party of a local run, in a process of its own, started by ``Program.run_local``.

Standard input is the connection to the peer. One line of JSON comes from the descriptor that the first argument names; lines of
JSON go to standard output. The process ends when that descriptor does.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import threading
from typing import Any, BinaryIO

from . import _native

#: How often progress is told, in seconds.
_TICK = 0.2

_lock = threading.Lock()


def _tell(message: dict[str, Any]) -> None:
    with _lock:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


def _end_with(order: BinaryIO) -> None:
    order.read()
    os._exit(1)


def _tell_progress(progress: _native.Progress, over: threading.Event) -> None:
    while not over.wait(_TICK):
        _tell({"done": progress.done})
    _tell({"done": progress.done})


def _run(spec: dict[str, Any]) -> dict[str, Any]:
    program = _native.Program.taken_over(base64.b64decode(spec["program"]))
    progress, over = _native.Progress(), threading.Event()
    teller = threading.Thread(target=_tell_progress, args=(progress, over), daemon=True)
    teller.start()
    try:
        return _native.run_party(
            program,
            spec["role"],
            [base64.b64decode(words) for words in spec["inputs"]],
            spec["backend"],
            spec["threads"],
            progress,
            _native.Connection.standard_input(),
        )
    finally:
        over.set()
        teller.join()


def main() -> None:
    """Runs the party that the order describes."""
    order = os.fdopen(int(sys.argv[1]), "rb")
    spec = json.loads(order.readline())
    threading.Thread(target=_end_with, args=(order,), daemon=True).start()
    try:
        report = _run(spec)
        report["outputs"] = [None if words is None else base64.b64encode(words).decode("ascii") for words in report["outputs"]]
        _tell({"report": report})
    except _native.Fault as fault:
        _tell({"failure": {"kind": fault.args[0], "message": fault.args[1]}})
    except Exception as error:
        _tell({"failure": {"kind": "internal", "message": f"{type(error).__name__}: {error}"}})
    # Threads that wait for input must not keep the process.
    os._exit(0)

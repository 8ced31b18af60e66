"""One party of a local run, in a process of its own: ``python -m cenote._worker``, started by ``Program.run_local``.

One line of JSON comes in; lines of JSON go out. The process ends when its standard input does.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import threading
from typing import Any

from . import _native

#: How often progress is told, in seconds.
_TICK = 0.2

_lock = threading.Lock()


def _tell(message: dict[str, Any]) -> None:
    with _lock:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


def _end_with_input() -> None:
    sys.stdin.buffer.read()
    os._exit(1)


def _tell_progress(progress: _native.Progress, over: threading.Event) -> None:
    while not over.wait(_TICK):
        _tell({"done": progress.done})


def _run(spec: dict[str, Any]) -> dict[str, Any]:
    program = _native.Program.from_bytes(base64.b64decode(spec["program"]))
    listener = None
    if "address" not in spec:
        listener = _native.Listener("127.0.0.1:0")
        _tell({"listening": listener.address})
    progress, over = _native.Progress(), threading.Event()
    threading.Thread(target=_tell_progress, args=(progress, over), daemon=True).start()
    try:
        return _native.run_party(
            program,
            spec["role"],
            [base64.b64decode(words) for words in spec["inputs"]],
            spec["backend"],
            spec["pool"],
            spec["rho"],
            progress,
            listener,
            spec.get("address"),
        )
    finally:
        over.set()


def main() -> None:
    """Runs the party that standard input describes."""
    spec = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_input, daemon=True).start()
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


if __name__ == "__main__":
    main()

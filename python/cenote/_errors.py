"""Exceptions, and where in the user's source they arose."""

from __future__ import annotations

import contextlib
import functools
import linecache
import os
import re
import sys
import warnings
from types import FrameType

__all__ = [
    "CompileError",
    "ConnectionFailed",
    "Error",
    "InputError",
    "InternalError",
    "LimitError",
    "MemoryOverflowed",
    "OverflowWarning",
    "PeerAborted",
    "PeerMisbehaved",
    "PolicyError",
    "ServiceError",
]

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


class Error(Exception):
    """Base of everything that this package raises on purpose."""


class CompileError(Error):
    """The program text cannot become a program. Says where, and what to write instead."""


class NoAttribute(CompileError, AttributeError):
    """A secret has no such attribute: Python's ``hasattr`` asks for it as well."""


class InputError(Error):
    """A value does not fit the input that it is for. Nothing has run."""


class LimitError(Error):
    """A stock, a memory limit or a time limit ran out."""


class MemoryOverflowed(LimitError):
    """The stash of a memory had no room left, which is as rare as the run promises: nothing was too small, run it again."""


class PolicyError(Error):
    """The two owners do not agree to this run, or its parameters are not sound."""


class PeerMisbehaved(Error):
    """The other party did what no honest party does. Nothing was revealed by this side afterwards."""


class PeerAborted(Error):
    """The other party ended the session and gave, as it must, no reason."""


class ConnectionFailed(Error):
    """The connection failed, ended, or stayed silent for too long."""


class ServiceError(Error):
    """A service did not do what it was asked for, and said why; or what it said cannot be read."""

    def __init__(self, status: int, kind: str, detail: str) -> None:
        super().__init__(f"{detail} ({kind}, HTTP {status})")
        #: The status of HTTP.
        self.status = status
        #: ``invalid``, ``unauthorised``, ``role``, ``forbidden``, ``not-found``, ``conflict``, ``too-large``, ``busy``, ``quota``,
        #: ``timeout``, ``unavailable``, ``internal``; ``malformed`` for an answer that is none of the API's.
        self.kind = kind
        #: Cause and remedy.
        self.detail = detail

    def __reduce__(self) -> tuple[type[ServiceError], tuple[int, str, str]]:
        return type(self), (self.status, self.kind, self.detail)


class InternalError(Error):
    """A defect of this package: please report it."""


class OverflowWarning(UserWarning):
    """Numbers of a run did not fit their types, and were cut: the result may not be what Python's numbers give."""


_BY_FAULT: dict[str, type[Error]] = {
    "misbehaved": PeerMisbehaved,
    "aborted": PeerAborted,
    "transport": ConnectionFailed,
    "misuse": InputError,
    "exhausted": LimitError,
    "overflowed": MemoryOverflowed,
    "policy": PolicyError,
    "internal": InternalError,
}


def of_fault(kind: str, message: str) -> Error:
    """The exception for a fault of the engine, by the name of its class."""
    # "misuse" is a word of the engine's; the class says as much.
    return _BY_FAULT.get(kind, InternalError)(message.replace("misuse: ", "", 1) if kind == "misuse" else message)


def _of_user(filename: str) -> bool:
    """Whether a file is the user's: not of this package, nor what Python puts between the two."""
    return not filename.startswith((_HERE, "<frozen ")) and filename not in (contextlib.__file__, functools.__file__)


def user_frame() -> FrameType | None:
    """The innermost frame outside this package."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not _of_user(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def place() -> str:
    """``file:line`` of the user's code that is running."""
    frame = user_frame()
    return "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def warn(message: str, kind: type[Warning]) -> None:
    """A warning at the line of the user's code that is running."""
    frame = user_frame()
    if frame is None:
        warnings.warn(message, kind, stacklevel=1)
    else:
        registry = frame.f_globals.setdefault("__warningregistry__", {})
        warnings.warn_explicit(message, kind, frame.f_code.co_filename, frame.f_lineno, frame.f_globals.get("__name__"), registry)


def located(message: str, filename: str, line: int) -> str:
    """A message with its place and the text of the line below it."""
    text = linecache.getline(filename, line).strip()
    return f"{message}\n  at {filename}:{line}" + (f"\n    {text}" if text else "")


def raised(error: RecursionError | NameError) -> CompileError:
    """What Python refused, with the line of the user's code: calls without end, a variable without a value."""
    filename, line, trace = "", 0, error.__traceback__
    while trace is not None:
        if _of_user(trace.tb_frame.f_code.co_filename):
            filename, line = trace.tb_frame.f_code.co_filename, trace.tb_lineno
        trace = trace.tb_next
    if isinstance(error, NameError):
        named = re.search(r"'(\w+)'", str(error))
        name = named[1] if named else "a variable"
        message = (
            f"`{name}` has no value here: give it one before, as in {name} = cn.zeros(..); what one side of an `if` alone assigns, or "
            "deletes, has none after it"
        )
    else:
        message = (
            f"a function calls itself without end, or calls go more than {sys.getrecursionlimit()} deep: whether to go on must depend on "
            "public values, such as the length of an array, as a secret cannot steer it; write a loop, or cn.fold, or allow more by "
            "sys.setrecursionlimit"
        )
    return CompileError(located(message, filename, line))


def plain_name(name: str) -> str:
    """A Python name as the program format takes it: a lambda has none of its own."""
    return re.sub(r"[^A-Za-z0-9_]", "_", name).strip("_") or "program"


def compile_error(message: str, kind: type[CompileError] = CompileError) -> CompileError:
    """A :class:`CompileError` that names the line of the user's code that is running."""
    frame = user_frame()
    if frame is None:
        return kind(message)
    return kind(located(message, frame.f_code.co_filename, frame.f_lineno))

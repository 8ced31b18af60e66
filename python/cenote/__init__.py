"""Cenote: secure two-party computation.

Write a function of secrets, run it with a party that may not see your data::

    import cenote as cn

    @cn.program
    def richer(a: cn.A[cn.UInt[32]], b: cn.B[cn.UInt[32]]) -> cn.Both[cn.Bit]:
        return a > b

    richer(5, 3)                                 # in the clear: True
    prog = richer.compile()                      # what both owners read, hash and approve
    prog.run_local(a=5, b=3, backend="wrk")      # two processes, malicious security

``docs/python.md`` is the guide.
"""

from __future__ import annotations

from . import _operators, paper
from ._calls import map, vmap
from ._checked import checked
from ._client import Client, Job
from ._client_async import AsyncClient, AsyncJob
from ._control import fold, range
from ._errors import (
    CompileError,
    ConnectionFailed,
    Error,
    InputError,
    InternalError,
    LimitError,
    MemoryOverflowed,
    OverflowWarning,
    PeerAborted,
    PeerMisbehaved,
    PolicyError,
    ServiceError,
)
from ._map import map_of
from ._native import __version__
from ._ops import (
    all,
    any,
    argmax,
    argmin,
    broadcast_to,
    concatenate,
    from_bits,
    isqrt,
    join_words,
    leading_zeros,
    lookup,
    matmul,
    max,
    min,
    multiply_full,
    parity,
    popcount,
    reshape,
    reveal,
    rotl,
    rotr,
    sort,
    stack,
    store,
    sum,
    top,
    transpose,
    where,
    zeros,
)
from ._program import Program, ProgramFunction, function, inline, load, program
from ._ram import Ram, ram
from ._run import Run
from ._service_views import JobCancelled, JobExpired, JobFailed, JobRefused, JobUnfinished, JobView, Public, Row, Submitter, Table
from ._slots import Map
from ._types import A, Array, B, Bit, Both, Evaluator, Fixed, Garbler, Int, Memory, NewMemory, Record, UInt
from ._values import Secret

_operators.install()

__all__ = [
    "A",
    "Array",
    "AsyncClient",
    "AsyncJob",
    "B",
    "Bit",
    "Both",
    "Client",
    "CompileError",
    "ConnectionFailed",
    "Error",
    "Evaluator",
    "Fixed",
    "Garbler",
    "InputError",
    "Int",
    "InternalError",
    "Job",
    "JobCancelled",
    "JobExpired",
    "JobFailed",
    "JobRefused",
    "JobUnfinished",
    "JobView",
    "LimitError",
    "Map",
    "Memory",
    "MemoryOverflowed",
    "NewMemory",
    "OverflowWarning",
    "PeerAborted",
    "PeerMisbehaved",
    "PolicyError",
    "Program",
    "ProgramFunction",
    "Public",
    "Ram",
    "Record",
    "Row",
    "Run",
    "Secret",
    "ServiceError",
    "Submitter",
    "Table",
    "UInt",
    "__version__",
    "all",
    "any",
    "argmax",
    "argmin",
    "broadcast_to",
    "checked",
    "concatenate",
    "fold",
    "from_bits",
    "function",
    "inline",
    "isqrt",
    "join_words",
    "leading_zeros",
    "load",
    "lookup",
    "map",
    "map_of",
    "matmul",
    "max",
    "min",
    "multiply_full",
    "paper",
    "parity",
    "popcount",
    "program",
    "ram",
    "range",
    "reshape",
    "reveal",
    "rotl",
    "rotr",
    "sort",
    "stack",
    "store",
    "sum",
    "top",
    "transpose",
    "vmap",
    "where",
    "zeros",
]

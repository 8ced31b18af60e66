"""What a service says of itself: its jobs, programs, approvals and data sets, read from the JSON of its API.

Fields that a newer service adds are left out. Times are in UTC, and know it.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any, TypeVar, Union

from ._errors import Error, InputError, LimitError, ServiceError

_T = TypeVar("_T")

#: Types of the fields of each view.
_HINTS: dict[Any, dict[str, Any]] = {}

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Submitter:
    """An input that comes with each job; so only jobs of the own owner have it."""


@dataclass(frozen=True)
class Table:
    """An input that is a whole data set."""

    #: Name of the data set.
    dataset: str
    #: Column of each field of the input; columns of the same name where none are given.
    columns: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """An input that is one record of a data set: the one with the value of a public parameter. The peer learns whether there is one."""

    #: Name of the data set.
    dataset: str
    #: Column that is looked in.
    key: str
    #: Name of the public parameter, of ``select`` of the job.
    parameter: str
    #: Column of each field of the input; columns of the same name where none are given.
    columns: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Public:
    """An input that is a public parameter itself: a whole number, which each side gives to the program by its own."""

    #: Name of the public parameter, of ``select`` of the job.
    parameter: str
    #: The smallest number with which a job may run.
    least: int


#: Where an own input comes from.
Source = Union[Submitter, Table, Row, Public]

_SOURCES: dict[str, type[Source]] = {"submitter": Submitter, "table": Table, "record": Row, "public": Public}


def source_json(name: str, source: Any) -> dict[str, Any]:
    """A source as the API takes it."""
    tag = next((tag for tag, of in _SOURCES.items() if isinstance(source, of)), None)
    if tag is None:
        raise InputError(
            f"input `{name}` comes from {type(source).__name__}: give cn.Submitter(), cn.Table(..), cn.Row(..) or cn.Public(..)"
        )
    return {"from": tag, **dataclasses.asdict(source)}


@dataclass(frozen=True)
class PeerView:
    """The peer of a service."""

    #: Its name in the configuration.
    name: str
    #: Fingerprint of its certificate.
    fingerprint: str
    #: The own role in all programs: ``garbler`` or ``evaluator``.
    role: str
    #: Whether it is connected.
    connected: bool
    #: A check failed: no job runs before the owner lifts that.
    held: bool
    #: Pools that were begun with it, in both lanes, and how many may be.
    pools: tuple[int, int]
    #: log2 of the bound on a cheater's success by any of these pools; None before the first.
    epsilon_log2: float | None
    #: For operators and auditors: this side holds proof that the peer has cheated, and the peer does not know.
    cheated: bool | None


@dataclass(frozen=True)
class MemoryView:
    """A memory that the session of a lane holds for later jobs."""

    #: Its name.
    name: str
    #: Its parts with their sizes, kinds and widths.
    layout: str
    #: Bits of all parts.
    bits: int
    #: Jobs that have left something in it.
    jobs: int
    #: Accesses left in the life of a random access memory: of its parts, the least.
    accesses_left: int | None = None


@dataclass(frozen=True)
class LaneView:
    """A session with the peer; small jobs and large ones have one each."""

    #: ``small`` or ``large``.
    name: str
    #: ``waiting`` for the peer, ``filling``, ``ready``, ``held`` or ``failed``.
    state: str
    #: Why, for a lane that is not ready.
    reason: str | None
    #: Ready triples.
    ready: int
    #: Ready triples that it keeps.
    level: int
    #: Jobs done since the service started.
    done: int
    #: Bytes sent and received since the service started.
    bytes: tuple[int, int]
    #: Pools that were begun in it with this peer.
    pools: int
    #: What its session holds for later jobs. Empty from a service that does not say.
    memories: list[MemoryView] = field(default_factory=list)


@dataclass(frozen=True)
class LineView:
    """The line to the peer, as it was measured."""

    #: Seconds from this side to the peer and back.
    round_trip_s: float
    #: Bytes a second that the peer got, beside whatever else was on the line.
    sent_bytes_per_s: float
    #: Bytes a second that came from it.
    received_bytes_per_s: float


@dataclass(frozen=True)
class Status:
    """A service as it is now."""

    #: Its name.
    name: str
    #: Version of the program.
    version: str
    #: The peer.
    peer: PeerView
    #: Sessions with it.
    lanes: list[LaneView]
    #: Jobs by state.
    jobs: dict[str, int]
    #: No further job begins: it was asked to end.
    stopping: bool


@dataclass(frozen=True)
class PortView:
    """An input or output of a program."""

    #: Its name; fields of a record are behind a dot.
    name: str
    #: Its type, as ``cenote program info`` shows it.
    kind: str
    #: ``garbler``, ``evaluator``, or ``both`` for an output.
    party: str


@dataclass(frozen=True)
class MemoryUse:
    """What a program does with a memory that outlives its jobs."""

    #: Its name, which programs share.
    name: str
    #: Its parts with their sizes, kinds and widths.
    layout: str
    #: Whether a job begins it, with zeros, and does not find it.
    begins: bool
    #: Whether a job leaves something in it; otherwise the memory ends.
    keeps: bool


@dataclass(frozen=True)
class ProgramCost:
    """What a job of a program takes of the line on the service's backend, as the model of costs predicts it."""

    #: The backend.
    backend: str
    #: Bytes that the garbler and the evaluator send, where all that the job takes is ready.
    bytes: tuple[int, int]
    #: Rounds, in the same case.
    rounds: int
    #: Bytes that both send to make ahead what it takes, the pool for that included, which a service fills once for many jobs;
    #: by the default oblivious transfer where the line decides on it.
    ahead_bytes: tuple[int, int]


@dataclass(frozen=True)
class ProgramView:
    """A program in the registry of a service."""

    #: Name in this registry; the peer's may be another.
    name: str
    #: What both sides compare, in hexadecimal.
    digest: str
    #: ANDs; a bound where opened bits steer what is computed.
    ands: int
    #: Input ports.
    inputs: list[PortView]
    #: Output ports.
    outputs: list[PortView]
    #: When it was registered.
    registered_at: datetime
    #: The own input that is the smallest group which it shows; approvals say how small that may be.
    smallest_group: str | None = None
    #: What a job of it takes of the line; ``None`` from a service that does not say.
    cost: ProgramCost | None = None
    #: Memories that outlive its jobs; empty from a service that does not say.
    memories: list[MemoryUse] = field(default_factory=list)


@dataclass(frozen=True)
class Terms:
    """What an owner permits."""

    #: Digest of the program.
    program: str
    #: Fingerprint of the peer's certificate.
    peer: str
    #: Whose jobs: ``own``, ``peer`` or ``both``.
    submitters: str
    #: Where own inputs come from; a kind that this version does not know is as it came.
    inputs: dict[str, Any] = field(default_factory=dict)
    #: Jobs in a period, or in all where there is none.
    uses: int | None = None
    #: Seconds of a period.
    period_s: int | None = None
    #: When it ends.
    expires_at: datetime | None = None
    #: Who may receive outputs: ``own``, ``peer`` or ``both``; where it is ``None``, whom the program shows them to.
    receivers: str | None = None


@dataclass(frozen=True)
class ApprovalView:
    """An approval, signed with the owner's key."""

    #: Number, from 1.
    id: int
    #: What is permitted.
    terms: Terms
    #: When it was given.
    given_at: datetime
    #: When it was withdrawn.
    withdrawn_at: datetime | None
    #: Uses so far, in all.
    spent: int
    #: The owner's signature over the terms, in hexadecimal.
    signature: str
    #: Who receives each output, by its name: ``garbler``, ``evaluator`` or ``both``.
    receivers: dict[str, str] = field(default_factory=dict)
    #: The memories that its jobs share with those of other programs.
    memories: list[MemoryUse] = field(default_factory=list)


@dataclass(frozen=True)
class DataSetView:
    """A data set bound by name."""

    #: Its name.
    name: str
    #: The file, on the machine of the service.
    path: str
    #: BLAKE3 of its bytes when it was bound, in hexadecimal; another file of that name is refused until it is bound again.
    digest: str
    #: Rows.
    rows: int
    #: Names of columns.
    columns: list[str]
    #: When it was bound.
    bound_at: datetime


@dataclass(frozen=True)
class AuditHead:
    """How far the audit logs go, as ``NUMBER:HASH``: to be noted elsewhere."""

    #: Of the own one.
    head: str
    #: The last that the peer told of its own; empty before it did.
    peer_head: str


@dataclass(frozen=True)
class JobCost:
    """What a job took of this side."""

    #: ANDs of the program.
    ands: int
    #: Bytes sent.
    bytes_sent: int
    #: Bytes received.
    bytes_received: int
    #: Seconds from its beginning to its end.
    seconds: float


@dataclass(frozen=True)
class JobView:
    """A job as its owner sees it."""

    #: 32 hexadecimal digits, equal on both sides.
    id: str
    #: Who asked for it: ``own`` or ``peer``.
    origin: str
    #: Name of the program in the own registry.
    program: str
    #: Its digest, in hexadecimal.
    digest: str
    #: ``submitted``, ``queued``, ``running``, or how it ended: ``done``, ``failed``, ``refused``, ``cancelled``, ``expired``.
    state: str
    #: Why, for a state that needs a reason.
    reason: str | None
    #: Public parameters.
    select: dict[str, str]
    #: Higher ones go first.
    priority: int
    #: When it came.
    submitted_at: datetime
    #: When it began to run.
    started_at: datetime | None = None
    #: When it ended.
    ended_at: datetime | None = None
    #: When it must not begin any more.
    deadline_at: datetime | None = None
    #: Own outputs by name, in JSON, while they are kept; ``None`` where the peer alone receives.
    result: Any = field(default=None, repr=False)
    #: When the result is forgotten.
    result_until: datetime | None = None
    #: What it took, once it ended well.
    cost: JobCost | None = None

    @property
    def ended(self) -> bool:
        """Whether nothing follows."""
        return self.state not in ("submitted", "queued", "running")


class JobFailed(Error):
    """A job ended without a result: with a fault, unless a class below says how."""

    def __init__(self, job: JobView) -> None:
        super().__init__(f"job {job.id} ({job.program or job.digest[:16]}) {self._how(job)}: {job.reason or 'no reason was given'}")
        #: The job as it ended.
        self.job = job

    @staticmethod
    def _how(job: JobView) -> str:
        return {"failed": "failed", "refused": "was refused", "cancelled": "was cancelled", "expired": "expired"}.get(
            job.state, f"ended as {job.state}"
        )

    def __reduce__(self) -> tuple[type[JobFailed], tuple[JobView]]:
        return type(self), (self.job,)


class JobRefused(JobFailed):
    """A side will not run the job."""


class JobCancelled(JobFailed):
    """An owner took the job back."""


class JobExpired(JobFailed):
    """The deadline of the job passed before it ran."""


class JobUnfinished(LimitError, TimeoutError):
    """The time to wait for a job ran out. The job goes on: wait again, or cancel it."""

    def __init__(self, job: JobView) -> None:
        super().__init__(f"job {job.id} ({job.program or job.digest[:16]}) is still {job.state}: wait longer, or cancel it")
        #: The job as it was last seen.
        self.job = job

    def __reduce__(self) -> tuple[type[JobUnfinished], tuple[JobView]]:
        return type(self), (self.job,)


def failure(job: JobView) -> JobFailed:
    """The exception for a job that ended, but not well."""
    kinds = {"refused": JobRefused, "cancelled": JobCancelled, "expired": JobExpired}
    return kinds.get(job.state, JobFailed)(job)


def malformed(what: str, status: int = 200) -> ServiceError:
    """The exception for an answer that is none of the API's."""
    return ServiceError(status, "malformed", f"the answer {what}: is this the address of a `cenote serve` of this version?")


def read(of: type[_T], data: Any) -> _T:
    """A view from JSON; raises :class:`ServiceError` for anything else."""
    made: _T = _read(of, data, of.__name__)
    return made


def read_all(of: type[_T], data: Any) -> list[_T]:
    """A list of views from JSON."""
    if not isinstance(data, list):
        raise malformed(f"is no list of {of.__name__}")
    return [read(of, item) for item in data]


def _read(of: Any, data: Any, where: str) -> Any:
    if of is Any:
        return data
    origin, arguments = typing.get_origin(of), typing.get_args(of)
    if origin in (Union, types.UnionType):
        return None if data is None else _read(arguments[0], data, where)
    if origin is list and isinstance(data, list):
        return [_read(arguments[0], item, where) for item in data]
    if origin is tuple and isinstance(data, list) and len(data) == len(arguments):
        return tuple(_read(part, item, where) for part, item in zip(arguments, data))
    if origin in (dict, Mapping) and isinstance(data, dict):
        return {str(name): _read(arguments[1], item, where) for name, item in data.items()}
    if dataclasses.is_dataclass(of) and isinstance(data, dict):
        return _record(of, data, where)
    if of is datetime and _is(data, int):
        return _time(data, where)
    if of is float and _is(data, (int, float)):
        return float(data)
    if of in (int, str, bool) and (type(data) is of):
        return data
    raise malformed(f"has something else than expected at {where}")


def _is(data: Any, of: Any) -> bool:
    return isinstance(data, of) and not isinstance(data, bool)


def _record(of: Any, data: dict[str, Any], where: str) -> Any:
    hints, values = _hints(of), {}
    for part in dataclasses.fields(of):
        if part.name in data:
            values[part.name] = _read(hints[part.name], data[part.name], f"{where}.{part.name}")
        elif part.default is dataclasses.MISSING and part.default_factory is dataclasses.MISSING:
            raise malformed(f"lacks {where}.{part.name}")
    if of is Terms:
        values["inputs"] = {name: _source(source) for name, source in values.get("inputs", {}).items()}
    return of(**values)


def _hints(of: Any) -> dict[str, Any]:
    # Annotations are text; to read them takes longer than all else here.
    if of not in _HINTS:
        _HINTS[of] = typing.get_type_hints(of)
    return _HINTS[of]


def _source(data: Any) -> Any:
    of = _SOURCES.get(str(data.get("from"))) if isinstance(data, dict) else None
    return data if of is None else _record(of, data, "Source")


def _time(milliseconds: int, where: str) -> datetime:
    try:
        return _EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        raise malformed(f"has no time at {where}") from None


def milliseconds(time: datetime) -> int:
    """A time as the API has it; raises :class:`InputError` for one without a zone."""
    if time.tzinfo is None:
        raise InputError("a time has a zone, as in datetime.now(timezone.utc): without it nobody knows when it is")
    return (time - _EPOCH) // timedelta(milliseconds=1)

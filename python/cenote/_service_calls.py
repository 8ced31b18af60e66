"""The calls of a service's API: each a flow that either client runs, with all that both know of requests, answers and retries."""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar, Union
from urllib.parse import quote

from . import _service_values as values
from ._errors import ConnectionFailed, Error, InputError, ServiceError
from ._program import Program, ProgramFunction, load, read_program
from ._service_http import Answer, Ask, Flow, Lost, Pause, asked, backoff, encoded, problem
from ._service_views import (
    ApprovalView,
    AuditHead,
    DataSetView,
    JobUnfinished,
    JobView,
    LineView,
    ProgramView,
    Source,
    Status,
    failure,
    malformed,
    milliseconds,
    read,
    read_all,
    source_json,
)

_T = TypeVar("_T")

#: A program, as calls that do not bring it along take it: itself, its name in the registry of the service, or its digest.
AnyProgram = Union[Program, ProgramFunction, str]
#: A program as :meth:`Client.register` takes it: also bytes of either form, or a file.
NewProgram = Union[Program, ProgramFunction, bytes, str, "os.PathLike[str]"]

#: Longest wait for a job in one request, in seconds.
_LONGEST_WAIT = 60
#: What such an answer may take beyond that, in seconds.
_MARGIN = 15.0
#: Between two looks at a job where waiting is of no use, in seconds.
_LOOK = 0.2
#: Seconds without a sign of life after which a stream of events is lost; there is one every 15.
_SILENCE = 45.0
#: Jobs on a page of :meth:`Client.all_jobs`.
PAGE = 100


@dataclass(frozen=True)
class NewJob:
    """What is asked for, beside the program."""

    inputs: Mapping[str, Any]
    select: Mapping[str, Any] | None
    priority: int
    deadline_s: int | None
    keep_result_s: int | None
    idempotency_key: str | None


class Calls:
    """The calls of one client, and the programs that it knows."""

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout
        self._known: dict[str, Program] = {}

    def known(self, name: str) -> Program | None:
        """The program of this name or digest, if this client was given it."""
        return self._known.get(name)

    def _json(self, of: type[_T], ask: Ask) -> Flow[_T]:
        return read(of, (yield from self._asked(ask)).json())

    def _list(self, of: type[_T], ask: Ask) -> Flow[list[_T]]:
        return read_all(of, (yield from self._asked(ask)).json())

    def _asked(self, ask: Ask, within: float | None = None) -> Flow[Answer]:
        within = self.timeout if within is None else within
        return (yield from asked(ask, within))

    def _post(self, path: str, body: Any = None, again: bool = True) -> Ask:
        return Ask("POST", path, body=None if body is None else encoded(body), again=again, silence=self.timeout)

    def _get(self, path: str, **query: Any) -> Ask:
        given = {name: str(value) for name, value in query.items() if value is not None}
        return Ask("GET", path, given, silence=self.timeout)

    def status(self) -> Flow[Status]:
        """What :meth:`Client.status` does; so the others."""
        return self._json(Status, self._get("/v1/status"))

    def ready(self) -> Flow[bool]:
        """Whether jobs would run now. A service that says no has answered."""
        try:
            answer = yield self._get("/readyz")
        except Lost as lost:
            raise ConnectionFailed(str(lost)) from None
        assert isinstance(answer, Answer)
        if answer.status not in (200, 503):
            raise problem(answer)
        return answer.status == 200

    def register(self, program: NewProgram, name: str | None, smallest_group: str | None) -> Flow[ProgramView]:
        """A program is read here, whatever form it has, so that its types are known."""
        made = _new_program(program)
        if name is None and isinstance(program, (str, os.PathLike)):
            name = Path(program).stem
        query = {"name": made.name if name is None else name}
        if smallest_group is not None:
            query["smallest_group"] = smallest_group
        ask = Ask(
            "POST",
            "/v1/programs",
            query,
            made.to_bytes(),
            "application/octet-stream",
            silence=self.timeout,
        )
        view = yield from self._json(ProgramView, ask)
        if view.digest != made.digest:
            raise malformed("is about another program than the one that was sent")
        self._known[view.name] = self._known[view.digest] = made
        return view

    def programs(self) -> Flow[list[ProgramView]]:
        """All programs."""
        return self._list(ProgramView, self._get("/v1/programs"))

    def program(self, name: str) -> Flow[ProgramView]:
        """One program."""
        return self._json(ProgramView, self._get(f"/v1/programs/{quote(name, safe='')}"))

    def program_text(self, name: str) -> Flow[str]:
        """The text form of one program."""
        return (yield from self._asked(self._get(f"/v1/programs/{quote(name, safe='')}/text"))).text()

    def approve(
        self,
        program: AnyProgram,
        inputs: Mapping[str, Source] | None,
        submitters: str,
        receivers: str | None,
        uses: int | None,
        period_s: int | None,
        expires_at: datetime | None,
        peer: str,
    ) -> Flow[ApprovalView]:
        """An approval is sent again only when it cannot have arrived: two would permit twice as much."""
        terms = {
            "program": self._named(program)[0],
            "peer": peer,
            "inputs": {name: source_json(name, source) for name, source in (inputs or {}).items()},
            "submitters": submitters,
            "uses": uses,
            "period_s": period_s,
            "expires_at": None if expires_at is None else milliseconds(expires_at),
        }
        # An older service knows no such term, and permits whom the program names.
        if receivers is not None:
            terms["receivers"] = receivers
        return self._json(ApprovalView, self._post("/v1/approvals", terms, again=False))

    def approvals(self) -> Flow[list[ApprovalView]]:
        """All approvals."""
        return self._list(ApprovalView, self._get("/v1/approvals"))

    def withdraw(self, approval: int | ApprovalView) -> Flow[ApprovalView]:
        """An approval ends."""
        number = approval.id if isinstance(approval, ApprovalView) else int(approval)
        return self._json(ApprovalView, self._post(f"/v1/approvals/{number}/withdraw"))

    def bind(self, name: str, path: str | os.PathLike[str], schema: Mapping[str, Any] | None) -> Flow[DataSetView]:
        """A file gets a name."""
        body = {"name": name, "path": os.fspath(path), "schema": schema}
        return self._json(DataSetView, self._post("/v1/datasets", body))

    def datasets(self) -> Flow[list[DataSetView]]:
        """All data sets."""
        return self._list(DataSetView, self._get("/v1/datasets"))

    def lift(self) -> Flow[Status]:
        """The hold ends. Asked twice, it would be refused."""
        return self._json(Status, self._post("/v1/peer/lift", again=False))

    def end_memory(self, name: str) -> Flow[Status]:
        """A memory ends. Asked twice, there would be none."""
        return self._json(Status, self._post(f"/v1/memories/{quote(name, safe='')}/end", again=False))

    def measure(self) -> Flow[LineView]:
        """How fast the line is."""
        return self._json(LineView, self._post("/v1/peer/line"))

    def audit_head(self) -> Flow[AuditHead]:
        """How far the audit logs go."""
        return self._json(AuditHead, self._get("/v1/audit/head"))

    def submit(self, program: AnyProgram, job: NewJob) -> Flow[JobView]:
        """A job is asked for under a key, so that it may be asked for again."""
        name, known = self._named(program)
        body = {
            "program": name,
            "inputs": dict(job.inputs) if known is None else values.to_json(known, job.inputs),
            "select": {parameter: str(value) for parameter, value in (job.select or {}).items()},
            "priority": job.priority,
            "deadline_s": job.deadline_s,
            "keep_result_s": job.keep_result_s,
            "idempotency_key": str(uuid.uuid4()) if job.idempotency_key is None else job.idempotency_key,
        }
        return self._json(JobView, self._post("/v1/jobs", body))

    def job(self, name: str, wait_s: int = 0, within: float | None = None) -> Flow[JobView]:
        """A job, at once or when it has ended."""
        ask = self._get(f"/v1/jobs/{quote(name, safe='')}", wait_s=wait_s or None)
        if wait_s:
            ask = replace(ask, silence=wait_s + _MARGIN)
        return read(JobView, (yield from self._asked(ask, within)).json())

    def jobs(self, state: str | None, limit: int | None, before: str | None) -> Flow[list[JobView]]:
        """Jobs, newest first."""
        return self._list(JobView, self._get("/v1/jobs", state=state, limit=limit, before=before))

    def cancel(self, name: str) -> Flow[JobView]:
        """A job is taken back. One that was taken back is what was asked for: the first answer may have been lost."""
        try:
            return (yield from self._json(JobView, self._post(f"/v1/jobs/{quote(name, safe='')}/cancel")))
        except ServiceError as error:
            if error.kind != "conflict":
                raise
            view = yield from self.job(name)
            if view.state != "cancelled":
                raise
            return view

    def wait(self, view: JobView, timeout: float | None) -> Flow[JobView]:
        """The job when it has ended. Raises :class:`JobUnfinished` when time is up."""
        end = None if timeout is None else time.monotonic() + timeout
        while not view.ended:
            left = _LONGEST_WAIT if end is None else max(0.0, end - time.monotonic())
            wait_s, begun = min(_LONGEST_WAIT, int(left)), time.monotonic()
            view = yield from self.job(view.id, wait_s, None if end is None else min(self.timeout, left))
            if view.ended:
                break
            if end is not None and time.monotonic() >= end:
                raise JobUnfinished(view)
            # Less than a second is left, or the service is stopping and lets nobody wait.
            if time.monotonic() - begun < min(wait_s, 1) or not wait_s:
                yield Pause(_LOOK if end is None else min(_LOOK, max(0.0, end - time.monotonic())))
        return view

    def _named(self, program: AnyProgram) -> tuple[str, Program | None]:
        """What the service calls a program, and the program if it is known."""
        if isinstance(program, str):
            return program, self._known.get(program)
        made = _compiled(program)
        self._known[made.digest] = made
        return made.digest, made


def _compiled(program: Any) -> Program:
    made = program.compile() if isinstance(program, ProgramFunction) else program
    if not isinstance(made, Program):
        raise InputError(f"{type(program).__name__} is no program: give a compiled one, its name or its digest")
    return made


def _new_program(program: NewProgram) -> Program:
    if isinstance(program, (bytes, bytearray)):
        return read_program(bytes(program))
    if isinstance(program, (str, os.PathLike)):
        try:
            return load(program)
        except OSError as error:
            raise InputError(f"{os.fspath(program)}: {error.strerror}; a program is given compiled, as bytes or as a file") from None
    return _compiled(program)


class Handle:
    """What both clients know of a job."""

    def __init__(self, calls: Calls, view: JobView) -> None:
        self._calls, self._view = calls, view

    @property
    def id(self) -> str:
        """32 hexadecimal digits, equal on both sides."""
        return self._view.id

    @property
    def view(self) -> JobView:
        """The job as it was last seen."""
        return self._view

    @property
    def state(self) -> str:
        """Where it stood when it was last seen; see :attr:`JobView.state`."""
        return self._view.state

    @property
    def overflowed(self) -> bool | None:
        """The overflow bit of a ``checked`` program, once the job is done; ``None`` where it has none or the peer alone received it."""
        program = self._calls.known(self._view.digest)
        if program is None or self._view.result is None:
            return None
        return program._outputs.overflowed(values.from_json(program, self._view.result))

    def _seen(self, view: JobView) -> JobView:
        self._view = view
        return view

    def _value(self) -> Any:
        """The result of a job that ended, in the types of its program where that is known."""
        view = self._view
        if view.state != "done":
            raise failure(view)
        if view.result is None and view.result_until is not None:
            until = view.result_until.isoformat(timespec="seconds")
            raise Error(
                f"job {view.id} is done, but its result is not here: it was kept until {until} (keep_result_s), and is shown to tokens "
                "with the role `submitter` alone"
            )
        program = self._calls.known(view.digest)
        if program is None:
            return view.result
        return program._outputs.structured(values.from_json(program, view.result))

    def __repr__(self) -> str:
        return f"<job {self.id} of {self._view.program or self._view.digest[:16]}, {self.state}>"


class Watch:
    """How far a stream of a job's events is: reads its lines, and says when to ask again."""

    def __init__(self, calls: Calls, name: str) -> None:
        self.ask = Ask("GET", f"/v1/jobs/{quote(name, safe='')}/events", silence=_SILENCE)
        self._timeout, self._state = calls.timeout, ""
        self._data: list[str] = []
        self._over = False
        self._alive()

    def _alive(self) -> None:
        self._heard, self._pauses = time.monotonic(), backoff()
        self._why: Error = ConnectionFailed("the stream of events ended before the job did")

    @property
    def over(self) -> bool:
        """Whether nothing follows."""
        return self._over

    def opened(self, answer: Answer) -> bool:
        """Whether lines follow; raises :class:`ServiceError` for a problem that time does not solve."""
        if answer.status == 200 and answer.kind.startswith("text/event-stream"):
            return True
        if answer.status == 200:
            raise malformed(f"is {answer.kind or 'of no type'} and no stream of events")
        error = problem(answer)
        if answer.status not in (429, 502, 503, 504):
            raise error
        self._why = error
        return False

    def line(self, line: str) -> JobView | None:
        """The job, if this line ends an event that is news."""
        if line.startswith("data:"):
            self._data.append(line[5:].removeprefix(" "))
        if line or not self._data:
            return None
        data, self._data = "\n".join(self._data), []
        try:
            view = read(JobView, json.loads(data))
        except (ValueError, RecursionError):
            raise malformed("has an event that is no JSON") from None
        self._alive()
        self._over = view.ended
        # The first event of a new stream may be what the last one said.
        news, self._state = view.state != self._state, view.state
        return view if news else None

    def lost(self, lost: Lost) -> None:
        """The stream broke off."""
        self._why = ConnectionFailed(str(lost))

    def pause(self) -> float:
        """Seconds before the stream is asked for again; raises what went wrong when it has for too long."""
        self._data = []
        pause = next(self._pauses)
        if time.monotonic() + pause > self._heard + self._timeout:
            raise self._why
        return pause

"""The client of a standing service: programs, approvals, data sets and jobs, over its HTTP API."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, TypeVar

from ._service_calls import PAGE, AnyProgram, Calls, Handle, NewJob, NewProgram, Watch
from ._service_http import Answer, Ask, Flow, Http, Lost, Pause
from ._service_place import place
from ._service_views import ApprovalView, AuditHead, DataSetView, JobView, LineView, ProgramView, Source, Status

_T = TypeVar("_T")


class Job(Handle):
    """A job of a service."""

    def __init__(self, client: Client, calls: Calls, view: JobView) -> None:
        super().__init__(calls, view)
        self._client = client

    def refresh(self) -> JobView:
        """The job as it is now."""
        return self._seen(self._client._run(self._calls.job(self.id)))

    def wait(self, timeout: float | None = None) -> JobView:
        """The job when it has ended, however it did.

        ``timeout`` is in seconds; without it the wait is as long as the job's. Lost connections are made again. Raises
        :class:`JobUnfinished` when time is up, :class:`ServiceError`, :class:`ConnectionFailed`.
        """
        return self._seen(self._client._run(self._calls.wait(self._view, timeout)))

    def result(self, timeout: float | None = None) -> Any:
        """What the job gave, once it has ended: as :attr:`Run.value` where the client knows the program, else a dictionary of JSON.

        ``None`` stands for what the peer alone receives. Raises :class:`JobFailed`, or its subclasses :class:`JobRefused`,
        :class:`JobCancelled`, :class:`JobExpired`, with the reason; and what :meth:`wait` raises. ``timeout`` is in seconds.
        """
        self.wait(timeout)
        return self._value()

    def cancel(self) -> JobView:
        """Takes the job back; one that runs if this side asked for it: its result is not kept, and its use stays spent.

        Raises :class:`ServiceError` of kind ``conflict`` once it has ended.
        """
        return self._seen(self._client._run(self._calls.cancel(self.id)))

    def events(self) -> Iterator[JobView]:
        """The job whenever its state changes, first as it stands, to its end. Streams that break off are opened again."""
        return self._client._events(self)


class Client:
    """Speaks with a service that runs ``cenote serve``.

    ::

        with cn.Client.of("alice") as service:
            service.register(prog)
            service.run(prog, a=5)

    Every call raises :class:`ServiceError` for what the service refuses, and :class:`ConnectionFailed` where no answer came. What may
    be sent twice is, while the service is away or busy, for ``timeout`` seconds in all (30). From another
    machine a service is reached by ``https://`` alone. Needs ``httpx``: ``pip install 'cenote[client]'``.
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:7780",
        token: str = "",
        *,
        ca: str | os.PathLike[str] | None = None,
        timeout: float = 30.0,
        transport: Any = None,
    ) -> None:
        """``ca`` is a file with certificates to trust, in PEM: the API's own, or its authority's; without it those that httpx trusts.

        ``transport`` is one of httpx's, for sockets of one's own, and ``ca`` does not count then. Raises :class:`InputError`,
        :class:`PolicyError` for an address of another machine without TLS, and :class:`Error` without httpx.
        """
        self._http = Http(url, token, timeout, ca)
        self._calls = Calls(self._http.timeout)
        self._sender = self._http.httpx.Client(**self._http.options(transport))

    @classmethod
    def of(cls, directory: str | os.PathLike[str], *, timeout: float = 30.0) -> Client:
        """For the service of a directory that ``cenote init`` made: its address, its certificate, and the token in its file ``token``.

        Raises :class:`PolicyError` for a token that others may read, :class:`InputError` for files that cannot be used.
        """
        url, token, ca = place(directory)
        return cls(url, token, ca=ca, timeout=timeout)

    def close(self) -> None:
        """Closes connections. The client is of no use afterwards."""
        self._sender.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<client of {self._http.url}>"

    def _run(self, flow: Flow[_T]) -> _T:
        """Sends what a flow asks for, to its end."""
        try:
            step = next(flow)
            while True:
                if isinstance(step, Pause):
                    time.sleep(step.seconds)
                    step = flow.send(None)
                    continue
                answer = self._send(step)
                step = flow.throw(answer) if isinstance(answer, Lost) else flow.send(answer)
        except StopIteration as end:
            result: _T = end.value
            return result

    def _send(self, ask: Ask) -> Answer | Lost:
        try:
            return self._http.answer(self._sender.request(**self._http.arguments(ask)))
        except self._http.failures as error:
            return self._http.lost(error)

    def _events(self, job: Job) -> Iterator[JobView]:
        watch = Watch(self._calls, job.id)
        while True:
            try:
                with self._sender.stream(**self._http.arguments(watch.ask)) as response:
                    if response.status_code != 200:
                        response.read()
                    if watch.opened(self._http.head(response)):
                        for line in response.iter_lines():
                            view = watch.line(line)
                            if view is not None:
                                yield job._seen(view)
                            if watch.over:
                                return
            except self._http.failures as error:
                watch.lost(self._http.lost(error))
            time.sleep(watch.pause())

    def status(self) -> Status:
        """The service as it is now."""
        return self._run(self._calls.status())

    def ready(self) -> bool:
        """Whether jobs would run now; :meth:`status` says why not."""
        return self._run(self._calls.ready())

    def register(self, program: NewProgram, name: str | None = None, *, smallest_group: str | None = None) -> ProgramView:
        """Registers a program: a compiled one, the bytes of either form, or a file, also of a circuit.

        ``name`` is what this service calls it, without it the program's own or the file's. The same program under the same name again
        changes nothing. ``smallest_group`` is the own input, a whole number, that is the smallest group which the program shows:
        approvals then have to say how small that may be, by :class:`Public`. Raises :class:`CompileError` for what is no program.
        """
        return self._run(self._calls.register(program, name, smallest_group))

    def programs(self) -> list[ProgramView]:
        """All programs, by name."""
        return self._run(self._calls.programs())

    def program(self, name: str) -> ProgramView:
        """The program of this name or digest."""
        return self._run(self._calls.program(name))

    def program_text(self, name: str) -> str:
        """The text form of the program of this name or digest: what it computes, and who receives what. :func:`load` takes it."""
        return self._run(self._calls.program_text(name))

    def approve(
        self,
        program: AnyProgram,
        inputs: Mapping[str, Source] | None = None,
        submitters: str = "own",
        *,
        receivers: str | None = None,
        uses: int | None = None,
        period_s: int | None = None,
        expires_at: datetime | None = None,
        peer: str = "",
    ) -> ApprovalView:
        """Permits jobs of a program, signed with the owner's key.

        ``inputs`` says where own inputs come from: :class:`Submitter` (what is not there as well), :class:`Table`, :class:`Row`,
        :class:`Public`.
        ``submitters`` is whose jobs: ``"own"``, ``"peer"`` or ``"both"``. ``receivers`` says in the same words who may receive
        outputs, and a program that shows them to others is refused; without it, whom the program shows them to. ``uses`` jobs in
        ``period_s`` seconds, or in all; without it any number. ``expires_at`` is a time with a zone. ``peer`` is the
        fingerprint of its certificate; without it that of this service's.
        """
        return self._run(self._calls.approve(program, inputs, submitters, receivers, uses, period_s, expires_at, peer))

    def approvals(self) -> list[ApprovalView]:
        """All approvals, also withdrawn ones, oldest first."""
        return self._run(self._calls.approvals())

    def withdraw(self, approval: int | ApprovalView) -> ApprovalView:
        """Withdraws an approval, or that of this number: no job begins under it any more."""
        return self._run(self._calls.withdraw(approval))

    def bind(self, name: str, path: str | os.PathLike[str], schema: Mapping[str, Any] | None = None) -> DataSetView:
        """Gives a file on the machine of the service a name, or the name another file; paths are relative to the service's directory.

        ``schema`` has the columns of a CSV file: ``{"columns": [{"name": "id", "kind": "integer", "unique": True}]}``; kinds are
        ``integer``, ``bool``, ``number`` and ``text``.
        """
        return self._run(self._calls.bind(name, path, schema))

    def datasets(self) -> list[DataSetView]:
        """All data sets, by name."""
        return self._run(self._calls.datasets())

    def lift(self) -> Status:
        """Lets sessions with the peer open again after a failed check.

        Raises :class:`ServiceError` of kind ``conflict`` where nothing is held.
        """
        return self._run(self._calls.lift())

    def end_memory(self, name: str) -> Status:
        """Ends a memory that outlives jobs, on both sides: what is kept of it is wiped, and its name is free.

        Raises :class:`ServiceError` of kind ``not-found`` where there is none of this name, and ``conflict`` where a job that runs has it.
        """
        return self._run(self._calls.end_memory(name))

    def measure(self) -> LineView:
        """How long the line to the peer is, and how much goes over it: at most 8 MiB each way, mostly within a second.

        What was measured in the last 5 s is said again. Raises :class:`ServiceError` of kind ``conflict`` where the peer is not connected.
        """
        return self._run(self._calls.measure())

    def audit_head(self) -> AuditHead:
        """How far the own audit log goes, and the peer's, as it says."""
        return self._run(self._calls.audit_head())

    def submit(
        self,
        program: AnyProgram,
        inputs: Mapping[str, Any] | None = None,
        /,
        *,
        select: Mapping[str, Any] | None = None,
        priority: int = 0,
        deadline_s: int | None = None,
        keep_result_s: int | None = None,
        idempotency_key: str | None = None,
        **more: Any,
    ) -> Job:
        """Asks for a job of a registered program, with own inputs that its approval leaves to the submitter.

        Inputs are what :meth:`Program.run_local` takes where the client knows the program (it is given compiled, or was registered
        through this client), else values of JSON. ``select`` has public parameters, for both sides to see. Jobs of higher
        ``priority`` (-100 to 100) go first; the job must begin within ``deadline_s`` seconds, and its result is kept for
        ``keep_result_s`` seconds. A second job with the same ``idempotency_key`` is the first one; without it each call has a key of
        its own, so that a request that is sent again does not submit twice.

        Raises :class:`InputError` for values that do not fit, :class:`ServiceError` of kind ``conflict`` for a key of a job with
        another program, other inputs or parameters, or another token.
        """
        job = NewJob({**(inputs or {}), **more}, select, priority, deadline_s, keep_result_s, idempotency_key)
        return Job(self, self._calls, self._run(self._calls.submit(program, job)))

    def run(
        self,
        program: AnyProgram,
        inputs: Mapping[str, Any] | None = None,
        /,
        *,
        select: Mapping[str, Any] | None = None,
        priority: int = 0,
        deadline_s: int | None = None,
        keep_result_s: int | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
        **more: Any,
    ) -> Any:
        """:meth:`submit`, and the :meth:`Job.result` within ``timeout`` seconds."""
        job = NewJob({**(inputs or {}), **more}, select, priority, deadline_s, keep_result_s, idempotency_key)
        return Job(self, self._calls, self._run(self._calls.submit(program, job))).result(timeout)

    def job(self, id: str) -> Job:
        """The job of this id, the peer's as well."""
        return Job(self, self._calls, self._run(self._calls.job(id)))

    def jobs(self, state: str | None = None, limit: int | None = None, before: str | None = None) -> list[Job]:
        """Jobs of both owners, newest first: those in ``state``, that came before the job with the id ``before``.

        At most ``limit`` of them: 100 without it, and 1000 at most.
        """
        return [Job(self, self._calls, view) for view in self._run(self._calls.jobs(state, limit, before))]

    def all_jobs(self, state: str | None = None) -> Iterator[Job]:
        """All jobs, newest first, page by page."""
        before = None
        while True:
            page = self.jobs(state, PAGE, before)
            yield from page
            if len(page) < PAGE:
                return
            before = page[-1].id

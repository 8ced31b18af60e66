"""The client of a standing service for asyncio and trio: what ``_client.py`` has, to be awaited."""

from __future__ import annotations

import importlib
import os
from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from typing import Any, TypeVar

from ._service_calls import PAGE, AnyProgram, Calls, Handle, NewJob, NewProgram, Watch
from ._service_http import Answer, Ask, Flow, Http, Lost, Pause
from ._service_place import place
from ._service_views import ApprovalView, AuditHead, DataSetView, JobView, LineView, ProgramView, Source, Status

_T = TypeVar("_T")


class AsyncJob(Handle):
    """A job of a service."""

    def __init__(self, client: AsyncClient, calls: Calls, view: JobView) -> None:
        super().__init__(calls, view)
        self._client = client

    async def refresh(self) -> JobView:
        """The job as it is now."""
        return self._seen(await self._client._run(self._calls.job(self.id)))

    async def wait(self, timeout: float | None = None) -> JobView:
        """As :meth:`Job.wait`."""
        return self._seen(await self._client._run(self._calls.wait(self._view, timeout)))

    async def result(self, timeout: float | None = None) -> Any:
        """As :meth:`Job.result`."""
        await self.wait(timeout)
        return self._value()

    async def cancel(self) -> JobView:
        """As :meth:`Job.cancel`."""
        return self._seen(await self._client._run(self._calls.cancel(self.id)))

    def events(self) -> AsyncIterator[JobView]:
        """As :meth:`Job.events`."""
        return self._client._events(self)


class AsyncClient:
    """:class:`Client` for asyncio and trio.

    ::

        async with cn.AsyncClient.of("alice") as service:
            await service.run(prog, a=5)

    Methods have the same names, and are awaited; :meth:`all_jobs` and :meth:`AsyncJob.events` are iterated with ``async for``.
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
        self._sender = self._http.httpx.AsyncClient(**self._http.options(transport))
        # A part of httpx, which sleeps in whatever loop runs.
        self._sleep = importlib.import_module("anyio").sleep

    @classmethod
    def of(cls, directory: str | os.PathLike[str], *, timeout: float = 30.0) -> AsyncClient:
        """As :meth:`Client.of`."""
        url, token, ca = place(directory)
        return cls(url, token, ca=ca, timeout=timeout)

    async def close(self) -> None:
        """As :meth:`Client.close`."""
        await self._sender.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<asynchronous client of {self._http.url}>"

    async def _run(self, flow: Flow[_T]) -> _T:
        """Sends what a flow asks for, to its end."""
        try:
            step = next(flow)
            while True:
                if isinstance(step, Pause):
                    await self._sleep(step.seconds)
                    step = flow.send(None)
                    continue
                answer = await self._send(step)
                step = flow.throw(answer) if isinstance(answer, Lost) else flow.send(answer)
        except StopIteration as end:
            result: _T = end.value
            return result

    async def _send(self, ask: Ask) -> Answer | Lost:
        try:
            return self._http.answer(await self._sender.request(**self._http.arguments(ask)))
        except self._http.failures as error:
            return self._http.lost(error)

    async def _events(self, job: AsyncJob) -> AsyncIterator[JobView]:
        watch = Watch(self._calls, job.id)
        while True:
            try:
                async with self._sender.stream(**self._http.arguments(watch.ask)) as response:
                    if response.status_code != 200:
                        await response.aread()
                    if watch.opened(self._http.head(response)):
                        async for line in response.aiter_lines():
                            view = watch.line(line)
                            if view is not None:
                                yield job._seen(view)
                            if watch.over:
                                return
            except self._http.failures as error:
                watch.lost(self._http.lost(error))
            await self._sleep(watch.pause())

    async def status(self) -> Status:
        """As :meth:`Client.status`."""
        return await self._run(self._calls.status())

    async def ready(self) -> bool:
        """As :meth:`Client.ready`."""
        return await self._run(self._calls.ready())

    async def register(self, program: NewProgram, name: str | None = None, *, smallest_group: str | None = None) -> ProgramView:
        """As :meth:`Client.register`."""
        return await self._run(self._calls.register(program, name, smallest_group))

    async def programs(self) -> list[ProgramView]:
        """As :meth:`Client.programs`."""
        return await self._run(self._calls.programs())

    async def program(self, name: str) -> ProgramView:
        """As :meth:`Client.program`."""
        return await self._run(self._calls.program(name))

    async def program_text(self, name: str) -> str:
        """As :meth:`Client.program_text`."""
        return await self._run(self._calls.program_text(name))

    async def approve(
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
        """As :meth:`Client.approve`."""
        return await self._run(self._calls.approve(program, inputs, submitters, receivers, uses, period_s, expires_at, peer))

    async def approvals(self) -> list[ApprovalView]:
        """As :meth:`Client.approvals`."""
        return await self._run(self._calls.approvals())

    async def withdraw(self, approval: int | ApprovalView) -> ApprovalView:
        """As :meth:`Client.withdraw`."""
        return await self._run(self._calls.withdraw(approval))

    async def bind(self, name: str, path: str | os.PathLike[str], schema: Mapping[str, Any] | None = None) -> DataSetView:
        """As :meth:`Client.bind`."""
        return await self._run(self._calls.bind(name, path, schema))

    async def datasets(self) -> list[DataSetView]:
        """As :meth:`Client.datasets`."""
        return await self._run(self._calls.datasets())

    async def lift(self) -> Status:
        """As :meth:`Client.lift`."""
        return await self._run(self._calls.lift())

    async def end_memory(self, name: str) -> Status:
        """As :meth:`Client.end_memory`."""
        return await self._run(self._calls.end_memory(name))

    async def measure(self) -> LineView:
        """As :meth:`Client.measure`."""
        return await self._run(self._calls.measure())

    async def audit_head(self) -> AuditHead:
        """As :meth:`Client.audit_head`."""
        return await self._run(self._calls.audit_head())

    async def submit(
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
    ) -> AsyncJob:
        """As :meth:`Client.submit`."""
        job = NewJob({**(inputs or {}), **more}, select, priority, deadline_s, keep_result_s, idempotency_key)
        return AsyncJob(self, self._calls, await self._run(self._calls.submit(program, job)))

    async def run(
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
        """As :meth:`Client.run`."""
        job = NewJob({**(inputs or {}), **more}, select, priority, deadline_s, keep_result_s, idempotency_key)
        submitted = AsyncJob(self, self._calls, await self._run(self._calls.submit(program, job)))
        return await submitted.result(timeout)

    async def job(self, id: str) -> AsyncJob:
        """As :meth:`Client.job`."""
        return AsyncJob(self, self._calls, await self._run(self._calls.job(id)))

    async def jobs(self, state: str | None = None, limit: int | None = None, before: str | None = None) -> list[AsyncJob]:
        """As :meth:`Client.jobs`."""
        return [AsyncJob(self, self._calls, view) for view in await self._run(self._calls.jobs(state, limit, before))]

    async def all_jobs(self, state: str | None = None) -> AsyncIterator[AsyncJob]:
        """As :meth:`Client.all_jobs`."""
        before = None
        while True:
            page = await self.jobs(state, PAGE, before)
            for job in page:
                yield job
            if len(page) < PAGE:
                return
            before = page[-1].id

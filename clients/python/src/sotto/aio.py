"""The asynchronous client."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Mapping
from types import TracebackType
from typing import Any, TypeVar, overload

import httpx

from .answers import Answer
from .asking import AsyncAsking
from .columns import Grouping
from .connection import TIMEOUT_SECONDS, address_of, http_arguments, http_options, key_of, lost, reply_of
from .methods import AsyncWait, meanwhile_async, runs_async, wait_async
from .operations import (
    DatasetOperations,
    GroupOperations,
    ServiceOperations,
    SessionOperations,
    dataset_operations,
    session_operations,
)
from .protocol import Lost, Operation, Pause, Reply, Request, Retries
from .query import A, Contribution, Groups, On, Query, Subject

T = TypeVar("T")


class AsyncSender:
    """Performs the steps of operations, one after the other."""

    def __init__(self, http: httpx.AsyncClient, pause: AsyncWait = wait_async) -> None:
        self.http = http
        self._pause = pause

    async def run(self, operation: Operation[T]) -> T:
        """Perform the steps of an operation and return its result."""
        outcome: Reply | Lost | None = None
        # Closed at once if a step is interrupted, so that its files are.
        with contextlib.closing(operation):
            while True:
                try:
                    step = operation.send(outcome)
                except StopIteration as end:
                    result: T = end.value
                    return result
                outcome = await self._perform(step)

    async def _perform(self, step: Request | Pause) -> Reply | Lost | None:
        if isinstance(step, Pause):
            await self._pause(step.seconds)
            return None
        watch = step.watch
        if watch is None:
            return await self._send(step)

        async def work() -> Reply | Lost:
            return await self._send(step)

        async def look() -> None:
            outcome = await self._send(watch.request)
            if isinstance(outcome, Reply):
                watch.look(outcome)

        return await meanwhile_async(work, look, watch.pause_seconds)

    async def _send(self, request: Request) -> Reply | Lost:
        try:
            return reply_of(await self.http.request(**http_arguments(request)))
        except httpx.TransportError as error:
            return lost(error)


class AsyncClient:
    """A connection to a service. Use it in an `async with` statement, or `close` it."""

    def __init__(self, sender: AsyncSender, operations: ServiceOperations) -> None:
        self._sender = sender
        self._operations = operations

    def dataset(self, id: str, *, on: On = "data", rows: int | None = None, seed: str | None = None) -> AsyncDataset:
        """Return a dataset.

        With `on="dummy"`, made-up rows answer its queries, free of charge: by default 1,000 `rows`, from a `seed`.
        """
        return AsyncDataset(self._sender, dataset_operations(self._operations, id, on, rows, seed))

    datasets = runs_async(ServiceOperations.datasets)
    batch = runs_async(ServiceOperations.batch_across)
    release = runs_async(ServiceOperations.release)
    history = runs_async(ServiceOperations.history)
    postprocess = runs_async(ServiceOperations.postprocess)
    plot = runs_async(ServiceOperations.plot)
    draft = runs_async(ServiceOperations.draft)
    register = runs_async(ServiceOperations.register)
    tables = runs_async(ServiceOperations.tables)

    async def close(self) -> None:
        """Close the connections."""
        await self._sender.http.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncClient({str(self._sender.http.base_url)!r})"


class AsyncDataset(AsyncAsking):
    """A dataset of a service. Its methods answer queries, and charge them unless their answer is stored."""

    def __init__(self, sender: AsyncSender, operations: DatasetOperations) -> None:
        self._sender = sender
        self._operations = operations

    @property
    def id(self) -> str:
        """Id of the dataset."""
        return self._operations.id

    batch = runs_async(DatasetOperations.batch)
    sql = runs_async(DatasetOperations.sql)
    preview = runs_async(DatasetOperations.preview)
    describe = runs_async(DatasetOperations.describe)
    budget = runs_async(DatasetOperations.budget)
    history = runs_async(DatasetOperations.own_history)
    dummy = runs_async(DatasetOperations.dummy)
    postprocess = runs_async(DatasetOperations.postprocess)
    plot = runs_async(DatasetOperations.plot)
    publish = runs_async(DatasetOperations.publish)

    @overload
    async def ask(self, query: Query[A]) -> A: ...
    @overload
    async def ask(self, query: Mapping[str, Any]) -> Answer: ...
    async def ask(self, query: Query[Any] | Mapping[str, Any]) -> Answer:
        """Answer a query from `sotto.count(...)` and the like, or JSON of the service."""
        if isinstance(query, Query):
            answer: Answer = await self._sender.run(self._operations.ask(query))
            return answer
        return await self._sender.run(self._operations.ask_json(query))

    def group_by(self, *keys: Grouping) -> AsyncGroupBy:
        """Divide the rows into groups: `group_by("Sex").agg(n=sotto.count()).run(epsilon=0.5)`."""
        return AsyncGroupBy(self._sender, GroupOperations(self._operations, Groups(keys)))

    def session(
        self,
        *,
        threshold: int,
        positives: int,
        epsilon: Any,
        of: Subject | None = None,
        contribution: Contribution | None = None,
        idempotency_key: str | None = None,
    ) -> AsyncSession:
        """Return a session that reports, for any number of conditions, if `threshold` rows satisfy them.

        It is opened, and charged, when the `with` block starts. A session with the same terms is continued.
        """
        terms = (threshold, positives, epsilon, of, contribution, idempotency_key)
        return AsyncSession(self._sender, session_operations(self._operations, *terms))

    def __repr__(self) -> str:
        practice = ", on='dummy'" if self._operations.on == "dummy" else ""
        return f"AsyncDataset({self.id!r}{practice})"


class AsyncGroupBy:
    """Groups of rows, and the statistics of each."""

    def __init__(self, sender: AsyncSender, operations: GroupOperations) -> None:
        self._sender = sender
        self._operations = operations

    def agg(self, **statistics: Query[Any]) -> AsyncGroupBy:
        """Return the groups with further statistics, under these names: `agg(pay=sotto.mean("Earnings"))`."""
        return AsyncGroupBy(self._sender, self._operations.with_statistics(statistics))

    run = runs_async(GroupOperations.run)
    preview = runs_async(GroupOperations.preview)


class AsyncSession:
    """A session of questions about a threshold. Use it in an `async with` statement."""

    def __init__(self, sender: AsyncSender, operations: SessionOperations) -> None:
        self._sender = sender
        self._operations = operations

    above = runs_async(SessionOperations.above)
    preview = runs_async(SessionOperations.preview)

    @property
    def positives_left(self) -> int | None:
        """Number of answers `above` left; None before the session is opened."""
        return self._operations.positives_left

    async def __aenter__(self) -> AsyncSession:
        await self._sender.run(self._operations.open())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


def connect_async(
    url: str | None = None,
    key: str | pathlib.Path | None = None,
    *,
    timeout_seconds: float = TIMEOUT_SECONDS,
    retries: Retries | None = None,
    transport: httpx.AsyncBaseTransport | None = None,
) -> AsyncClient:
    """Return an asynchronous client of the service at an address.

    Args:
        url: address of the service. Default: `SOTTO_URL`, or http://127.0.0.1:8080.
        key: API key or access token, or the path of a file that contains it. Default: `SOTTO_KEY`.
        timeout_seconds: time to wait for a response, before the request is repeated.
        retries: limits on repeats.
        transport: transport of httpx, for certificates of your own, proxies, and tests.

    """
    options = http_options(address_of(url), key_of(key), timeout_seconds, transport)
    return AsyncClient(AsyncSender(httpx.AsyncClient(**options)), ServiceOperations(retries or Retries()))

"""The synchronous client."""

# Generated from clients/python/src/sotto/aio.py by `npm run generate`. Do not edit.

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Mapping
from types import TracebackType
from typing import Any, TypeVar, overload

import httpx

from .answers import Answer
from .asking import Asking
from .columns import Grouping
from .connection import TIMEOUT_SECONDS, address_of, http_arguments, http_options, key_of, lost, reply_of
from .methods import Wait, meanwhile, runs, wait
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


class Sender:
    """Performs the steps of operations, one after the other."""

    def __init__(self, http: httpx.Client, pause: Wait = wait) -> None:
        self.http = http
        self._pause = pause

    def run(self, operation: Operation[T]) -> T:
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
                outcome = self._perform(step)

    def _perform(self, step: Request | Pause) -> Reply | Lost | None:
        if isinstance(step, Pause):
            self._pause(step.seconds)
            return None
        watch = step.watch
        if watch is None:
            return self._send(step)

        def work() -> Reply | Lost:
            return self._send(step)

        def look() -> None:
            outcome = self._send(watch.request)
            if isinstance(outcome, Reply):
                watch.look(outcome)

        return meanwhile(work, look, watch.pause_seconds)

    def _send(self, request: Request) -> Reply | Lost:
        try:
            return reply_of(self.http.request(**http_arguments(request)))
        except httpx.TransportError as error:
            return lost(error)


class Client:
    """A connection to a service. Use it in a `with` statement, or `close` it."""

    def __init__(self, sender: Sender, operations: ServiceOperations) -> None:
        self._sender = sender
        self._operations = operations

    def dataset(self, id: str, *, on: On = "data", rows: int | None = None, seed: str | None = None) -> Dataset:
        """Return a dataset.

        With `on="dummy"`, made-up rows answer its queries, free of charge: by default 1,000 `rows`, from a `seed`.
        """
        return Dataset(self._sender, dataset_operations(self._operations, id, on, rows, seed))

    datasets = runs(ServiceOperations.datasets)
    batch = runs(ServiceOperations.batch_across)
    release = runs(ServiceOperations.release)
    history = runs(ServiceOperations.history)
    postprocess = runs(ServiceOperations.postprocess)
    plot = runs(ServiceOperations.plot)
    draft = runs(ServiceOperations.draft)
    register = runs(ServiceOperations.register)
    tables = runs(ServiceOperations.tables)

    def close(self) -> None:
        """Close the connections."""
        self._sender.http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({str(self._sender.http.base_url)!r})"


class Dataset(Asking):
    """A dataset of a service. Its methods answer queries, and charge them unless their answer is stored."""

    def __init__(self, sender: Sender, operations: DatasetOperations) -> None:
        self._sender = sender
        self._operations = operations

    @property
    def id(self) -> str:
        """Id of the dataset."""
        return self._operations.id

    batch = runs(DatasetOperations.batch)
    sql = runs(DatasetOperations.sql)
    preview = runs(DatasetOperations.preview)
    describe = runs(DatasetOperations.describe)
    budget = runs(DatasetOperations.budget)
    history = runs(DatasetOperations.own_history)
    dummy = runs(DatasetOperations.dummy)
    postprocess = runs(DatasetOperations.postprocess)
    plot = runs(DatasetOperations.plot)
    publish = runs(DatasetOperations.publish)

    @overload
    def ask(self, query: Query[A]) -> A: ...
    @overload
    def ask(self, query: Mapping[str, Any]) -> Answer: ...
    def ask(self, query: Query[Any] | Mapping[str, Any]) -> Answer:
        """Answer a query from `sotto.count(...)` and the like, or JSON of the service."""
        if isinstance(query, Query):
            answer: Answer = self._sender.run(self._operations.ask(query))
            return answer
        return self._sender.run(self._operations.ask_json(query))

    def group_by(self, *keys: Grouping) -> GroupBy:
        """Divide the rows into groups: `group_by("Sex").agg(n=sotto.count()).run(epsilon=0.5)`."""
        return GroupBy(self._sender, GroupOperations(self._operations, Groups(keys)))

    def session(
        self,
        *,
        threshold: int,
        positives: int,
        epsilon: Any,
        of: Subject | None = None,
        contribution: Contribution | None = None,
        idempotency_key: str | None = None,
    ) -> Session:
        """Return a session that reports, for any number of conditions, if `threshold` rows satisfy them.

        It is opened, and charged, when the `with` block starts. A session with the same terms is continued.
        """
        terms = (threshold, positives, epsilon, of, contribution, idempotency_key)
        return Session(self._sender, session_operations(self._operations, *terms))

    def __repr__(self) -> str:
        practice = ", on='dummy'" if self._operations.on == "dummy" else ""
        return f"Dataset({self.id!r}{practice})"


class GroupBy:
    """Groups of rows, and the statistics of each."""

    def __init__(self, sender: Sender, operations: GroupOperations) -> None:
        self._sender = sender
        self._operations = operations

    def agg(self, **statistics: Query[Any]) -> GroupBy:
        """Return the groups with further statistics, under these names: `agg(pay=sotto.mean("Earnings"))`."""
        return GroupBy(self._sender, self._operations.with_statistics(statistics))

    run = runs(GroupOperations.run)
    preview = runs(GroupOperations.preview)


class Session:
    """A session of questions about a threshold. Use it in a `with` statement."""

    def __init__(self, sender: Sender, operations: SessionOperations) -> None:
        self._sender = sender
        self._operations = operations

    above = runs(SessionOperations.above)
    preview = runs(SessionOperations.preview)

    @property
    def positives_left(self) -> int | None:
        """Number of answers `above` left; None before the session is opened."""
        return self._operations.positives_left

    def __enter__(self) -> Session:
        self._sender.run(self._operations.open())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


def connect(
    url: str | None = None,
    key: str | pathlib.Path | None = None,
    *,
    timeout_seconds: float = TIMEOUT_SECONDS,
    retries: Retries | None = None,
    transport: httpx.BaseTransport | None = None,
) -> Client:
    """Return a synchronous client of the service at an address.

    Args:
        url: address of the service. Default: `SOTTO_URL`, or http://127.0.0.1:8080.
        key: API key or access token, or the path of a file that contains it. Default: `SOTTO_KEY`.
        timeout_seconds: time to wait for a response, before the request is repeated.
        retries: limits on repeats.
        transport: transport of httpx, for certificates of your own, proxies, and tests.

    """
    options = http_options(address_of(url), key_of(key), timeout_seconds, transport)
    return Client(Sender(httpx.Client(**options)), ServiceOperations(retries or Retries()))

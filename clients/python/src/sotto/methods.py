"""Attaches operations to the methods of the clients.

Each client has one line for each operation. A method returns its result, or a coroutine of it.
"""

from __future__ import annotations

import functools
import inspect
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, TypeVar

import anyio

from .protocol import Operation
from .query import A, Query, shown_signature

P = ParamSpec("P")
T = TypeVar("T")

Wait = Callable[[float], None]
AsyncWait = Callable[[float], Awaitable[None]]

wait: Wait = time.sleep
wait_async: AsyncWait = anyio.sleep


def meanwhile(work: Callable[[], T], task: Callable[[], object], pause_seconds: float) -> T:
    """Return the result of work, and repeat a task in another thread until the work has ended."""
    ended = threading.Event()

    def repeat() -> None:
        while not ended.wait(pause_seconds):
            task()

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        return work()
    finally:
        ended.set()
        thread.join()


async def meanwhile_async(
    work: Callable[[], Awaitable[T]], task: Callable[[], Awaitable[object]], pause_seconds: float
) -> T:
    """Return the result of work, and repeat a task beside it until the work has ended."""

    async def repeat() -> None:
        while True:
            await anyio.sleep(pause_seconds)
            await task()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(repeat)
        result = await work()
        tasks.cancel_scope.cancel()
    return result


def runs(operation: Callable[Concatenate[Any, P], Operation[T]]) -> Callable[Concatenate[Any, P], T]:
    """Return a method that runs an operation of `self._operations` and returns its result."""
    method: Callable[Concatenate[Any, P], T] = _running(operation)
    return method


def runs_async(
    operation: Callable[Concatenate[Any, P], Operation[T]],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """Return a method that runs an operation and returns a coroutine of its result."""
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]] = _running(operation)
    return method


def asks(build: Callable[P, Query[A]]) -> Callable[Concatenate[Any, P], A]:
    """Return a method that asks the dataset a query of this kind and returns its answer."""
    method: Callable[Concatenate[Any, P], A] = _asking(build)
    return method


def asks_async(build: Callable[P, Query[A]]) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, A]]:
    """Return a method that asks a query and returns a coroutine of its answer."""
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, A]] = _asking(build)
    return method


def _running(operation: Callable[..., Any]) -> Any:
    @functools.wraps(operation)
    def method(self: Any, *args: Any, **options: Any) -> Any:
        return self._sender.run(operation(self._operations, *args, **options))

    method.__signature__ = shown_signature(operation)  # type: ignore[attr-defined]
    return method


def _asking(build: Callable[..., Any]) -> Any:
    @functools.wraps(build)
    def method(self: Any, *args: Any, **options: Any) -> Any:
        return self._sender.run(self._operations.ask(build(*args, **options)))

    signature = inspect.signature(build)
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    shown = signature.replace(parameters=[own, *signature.parameters.values()])
    method.__signature__ = shown  # type: ignore[attr-defined]
    return method

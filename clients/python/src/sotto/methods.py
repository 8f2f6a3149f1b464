"""Attaches operations to the methods of the clients.

Each client has one line for each operation. The functions `runs` and `asks` of `client.py` and `aio.py` differ in what
a method returns: a result, or a coroutine of it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from .queries import shown_signature


def running(operation: Callable[..., Any]) -> Any:
    """Return a method that runs an operation of `self._operations`."""

    @functools.wraps(operation)
    def method(self: Any, *args: Any, **options: Any) -> Any:
        return self._sender.run(operation(self._operations, *args, **options))

    method.__signature__ = shown_signature(operation)  # type: ignore[attr-defined]
    return method


def asking(build: Callable[..., Any]) -> Any:
    """Return a method that asks the dataset a query of this kind."""

    @functools.wraps(build)
    def method(self: Any, *args: Any, **options: Any) -> Any:
        return self._sender.run(self._operations.ask(build(*args, **options)))

    signature = inspect.signature(build)
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    shown = signature.replace(parameters=[own, *signature.parameters.values()])
    method.__signature__ = shown  # type: ignore[attr-defined]
    return method

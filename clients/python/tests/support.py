"""A service made of canned responses."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import httpx

import sotto
from sotto.client import Sender
from sotto.connection import http_options
from sotto.operations import ServiceOperations

KEY = "sotto_secretsecretsecret"
URL = "http://127.0.0.1:9"

Step: TypeAlias = httpx.Response | httpx.TransportError | Callable[[httpx.Request], httpx.Response]


def answer_document(**changes: Any) -> dict[str, Any]:
    return {
        "id": "1" * 32,
        "dataset": "census",
        "datasetVersion": "1",
        "kind": "count",
        "result": {"value": 2531},
        "accuracy": {"confidence": 0.95, "halfWidth": 30, "expectedAbsoluteError": 9.98},
        "cost": {"epsilon": 0.1, "delta": 0},
        "budget": {
            "cap": {"epsilon": 10, "delta": 1e-5},
            "spent": {"epsilon": 0.1, "delta": 0},
            "remaining": {"epsilon": 9.9, "delta": 1e-5},
        },
        **changes,
    }


def answered(**changes: Any) -> httpx.Response:
    return httpx.Response(200, json=answer_document(**changes))


def problem(code: str, status: int, headers: dict[str, str] | None = None, **facts: Any) -> httpx.Response:
    document = {"type": f"/problems/{code}", "title": code, "status": status, "code": code}
    return httpx.Response(status, json={**document, "detail": f"about {code}", **facts}, headers=headers)


class Service:
    """Answers requests with the given steps, one after the other, and records requests and pauses."""

    def __init__(self, *steps: Step, retries: sotto.Retries | None = None) -> None:
        self.steps = list(steps)
        self.requests: list[httpx.Request] = []
        self.pauses: list[float] = []
        http = httpx.Client(**http_options(URL, KEY, 5, httpx.MockTransport(self._respond)))
        sender = Sender(http, self.pauses.append)
        self.client = sotto.Client(sender, ServiceOperations(retries or sotto.Retries(chance=lambda: 1.0)))
        self.census = self.client.dataset("census")

    def _respond(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        step = self.steps.pop(0)
        if isinstance(step, httpx.TransportError):
            raise step
        return step if isinstance(step, httpx.Response) else step(request)

    @property
    def bodies(self) -> Sequence[Any]:
        return [json.loads(request.content) for request in self.requests if request.content]

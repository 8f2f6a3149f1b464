from __future__ import annotations

import asyncio
import logging
import pathlib
import pickle
import re
import traceback
from typing import Any

import httpx
import pytest
import yaml

import sotto

from .pages import ROOT
from .support import KEY, URL, Service, answered, problem


def codes_of_the_service() -> list[str]:
    """Return all problem codes that openapi.yaml lists."""
    schemas = yaml.load((ROOT / "openapi.yaml").read_text(), yaml.CSafeLoader)["components"]["schemas"]
    return list(schemas["Problem"]["properties"]["code"]["examples"])


def codes_of_the_page() -> list[str]:
    return re.findall(r"^## ([a-z-]+)$", (ROOT / "docs/problems.md").read_text(), re.MULTILINE)


def test_every_problem_code_has_a_class_and_no_class_is_left_over() -> None:
    assert sorted(sotto.Problem.by_code) == sorted(codes_of_the_service()) == sorted(codes_of_the_page())


@pytest.mark.parametrize("code", codes_of_the_page())
def test_every_problem_code_is_raised_as_its_class(code: str) -> None:
    expected = sotto.Problem.by_code[code]
    facts: dict[str, Any] = {"errors": [{"field": "epsilon", "rule": "must be greater than 0"}], "requestId": "r"}
    # 418: a status that is never repeated.
    service = Service(problem(code, 418, **facts))
    with pytest.raises(expected) as caught:
        service.census.count(epsilon=0.1)
    error = caught.value
    assert type(error) is expected
    assert (error.code, error.field, error.rule) == (code, "epsilon", "must be greater than 0")
    assert (error.detail, error.status, error.request_id) == (f"about {code}", 418, "r")
    assert str(error) == f"{code}: about {code} (see {URL}/problems/{code})"
    loaded = pickle.loads(pickle.dumps(error))
    assert (type(loaded), str(loaded)) == (expected, str(error))
    assert expected.__doc__ != sotto.Problem.__doc__


def test_a_code_of_a_later_service_is_a_problem() -> None:
    service = Service(problem("brand-new", 422))
    with pytest.raises(sotto.Problem, match="brand-new") as caught:
        service.census.budget()
    assert type(caught.value) is sotto.Problem
    assert caught.value.field is None


LOST = [httpx.ReadError("lost"), httpx.RemoteProtocolError("cut"), httpx.ReadTimeout("late"), httpx.ConnectError("no")]


@pytest.mark.parametrize("error", LOST)
def test_a_lost_connection_is_repeated_with_the_same_body_and_no_key(error: httpx.TransportError) -> None:
    service = Service(error, error, answered())
    assert service.census.count(epsilon=0.1).value == 2531
    assert service.bodies == [{"kind": "count", "epsilon": 0.1}] * 3
    assert not any("idempotency-key" in request.headers for request in service.requests)
    assert service.pauses == [0.25, 0.5]


def test_a_chosen_idempotency_key_is_sent_with_every_attempt() -> None:
    service = Service(httpx.ReadError("lost"), answered())
    service.census.count(epsilon=0.1, idempotency_key="mine")
    assert [request.headers["idempotency-key"] for request in service.requests] == ["mine", "mine"]


def test_repeats_end() -> None:
    service = Service(*[httpx.ReadError("lost")] * 5)
    with pytest.raises(sotto.ConnectionFailed, match=r"lost \(ReadError; tried 5 times\)"):
        service.census.count(epsilon=0.1)
    assert len(service.requests) == 5


@pytest.mark.parametrize(
    "refusal",
    [
        problem("query-in-flight", 409, {"retry-after": "2"}),
        problem("rate-limited", 429, {"retry-after": "2"}),
        problem("quota-exceeded", 429, {"retry-after": "2"}),
        problem("unavailable", 503, {"retry-after": "2"}),
        httpx.Response(502, headers={"retry-after": "2"}),
        httpx.Response(504, headers={"retry-after": "2"}, text="<html>"),
    ],
)
def test_temporary_refusals_are_repeated_after_the_stated_time(refusal: httpx.Response) -> None:
    service = Service(refusal, refusal, answered())
    assert service.census.count(epsilon=0.1).value == 2531
    assert service.pauses == [2, 2]


def test_a_rate_limit_without_a_stated_time_is_repeated() -> None:
    service = Service(problem("rate-limited", 429), answered())
    assert service.census.count(epsilon=0.1).value == 2531
    assert service.pauses == [0.25]


def test_without_a_stated_time_the_pauses_grow_to_a_limit_and_end() -> None:
    service = Service(*[problem("unavailable", 503)] * 50)
    with pytest.raises(sotto.Unavailable):
        service.census.count(epsilon=0.1)
    assert service.pauses[:7] == [0.25, 0.5, 1, 2, 4, 8, 8]
    assert 50 < sum(service.pauses) <= 60


def test_pauses_vary_between_clients() -> None:
    service = Service(problem("unavailable", 503), answered(), retries=sotto.Retries(chance=lambda: 0.0))
    service.census.count(epsilon=0.1)
    assert service.pauses == [0.125]


def test_a_stated_time_beyond_the_limit_is_not_waited() -> None:
    service = Service(problem("quota-exceeded", 429, {"retry-after": "3600"}))
    with pytest.raises(sotto.QuotaExceeded):
        service.census.count(epsilon=0.1)
    assert service.pauses == []


@pytest.mark.parametrize(
    "final",
    [
        problem("query-failed", 500),
        problem("internal-error", 500),
        problem("budget-insufficient", 403),
        problem("dataset-suspended", 409),
        problem("session-used-up", 409),
        problem("quota-exceeded", 429),
        problem("invalid-request", 400),
    ],
)
def test_other_problems_are_not_repeated(final: httpx.Response) -> None:
    service = Service(final)
    with pytest.raises(sotto.Problem):
        service.census.count(epsilon=0.1)
    assert len(service.requests) == 1


def test_a_redirect_is_not_followed() -> None:
    service = Service(httpx.Response(307, headers={"location": "http://elsewhere.example/"}))
    with pytest.raises(sotto.UnexpectedResponse, match="redirects"):
        service.census.count(epsilon=0.1)
    assert [request.url.host for request in service.requests] == ["127.0.0.1"]


@pytest.mark.parametrize("response", [httpx.Response(404, text="nginx"), httpx.Response(200, text="<html>")])
def test_another_server_is_recognised(response: httpx.Response) -> None:
    with pytest.raises(sotto.UnexpectedResponse):
        Service(response).census.count(epsilon=0.1)


def test_the_key_is_sent_and_never_shown(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    service = Service(answered(), problem("unauthenticated", 401), *[httpx.ReadError(f"Bearer {KEY}")] * 5)
    shown = [repr(service.client), repr(service.census), repr(service.census.count(epsilon=0.1))]
    for kind in (sotto.Unauthenticated, sotto.ConnectionFailed):
        with pytest.raises(kind) as caught:
            service.census.count(epsilon=0.1)
        shown += [str(caught.value), repr(caught.value), "".join(traceback.format_exception(caught.value))]
    assert all(request.headers["authorization"] == f"Bearer {KEY}" for request in service.requests)
    assert repr(service.client._sender.http.auth) == "BearerKey(...)"
    assert not any(KEY in text for text in [*shown, caplog.text])
    assert "HTTP Request: POST" in caplog.text


def test_address_and_key_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOTTO_URL", "https://sotto.example.org/")
    monkeypatch.setenv("SOTTO_KEY", f"{KEY}\n")
    assert repr(sotto.connect()) == "Client('https://sotto.example.org')"
    monkeypatch.delenv("SOTTO_KEY")
    with pytest.raises(ValueError, match="SOTTO_KEY"):
        sotto.connect()


def test_a_key_file_is_read(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "analyst.key"
    file.write_text(f"{KEY}\n")
    seen: list[str] = []

    def respond(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers["authorization"])
        return answered()

    with sotto.connect(URL, key=file, transport=httpx.MockTransport(respond)) as client:
        client.dataset("census").count(epsilon=0.1)
    assert seen == [f"Bearer {KEY}"]


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "kéy"])
def test_a_malformed_key_is_refused_without_being_shown(key: str) -> None:
    with pytest.raises(ValueError, match="characters that no key has") as caught:
        sotto.connect(URL, key=key)
    assert key not in str(caught.value)


@pytest.mark.parametrize("url", ["ftp://x", "sotto.example.org", "http://user:pw@127.0.0.1", "http://h/?a=1"])
def test_other_addresses_are_refused(url: str) -> None:
    with pytest.raises(ValueError, match="address"):
        sotto.connect(url, key=KEY)


def test_an_unencrypted_connection_to_another_machine_warns() -> None:
    with pytest.warns(sotto.InsecureConnection, match="without encryption"):
        sotto.connect("http://sotto.example.org", key=KEY)
    sotto.connect("http://localhost:8080", key=KEY)


async def _asynchronous_count(steps: list[Any]) -> tuple[Any, int]:
    requests = 0

    def respond(request: httpx.Request) -> httpx.Response:
        nonlocal requests
        requests += 1
        step = steps.pop(0)
        if isinstance(step, Exception):
            raise step
        assert isinstance(step, httpx.Response)
        return step

    retries = sotto.Retries(first_pause_seconds=0.001)
    async with sotto.connect_async(URL, KEY, retries=retries, transport=httpx.MockTransport(respond)) as client:
        answer = await client.dataset("census").count(where=sotto.col("Age") >= 65, epsilon=0.1)
        return answer.value, requests


def test_the_asynchronous_client_repeats_as_well() -> None:
    steps = [httpx.ReadError("lost"), problem("unavailable", 503), answered()]
    assert asyncio.run(_asynchronous_count(steps)) == (2531, 3)

"""Drafts, registrations and their progress."""

from __future__ import annotations

import asyncio
import io
import json
import pathlib
import sys
import threading
import types
from typing import Any

import anyio
import httpx
import pandas as pd
import pytest

import sotto
from sotto import operations
from sotto.progress import Progress, SentFile
from sotto.registering import Data, opened

from .support import KEY, URL, Service, problem

UPLOAD = {"id": "a" * 32, "name": "visits.csv", "bytes": 8, "format": "csv"}
COUNTS = {
    "rowsRead": 3000,
    "rowsWithoutIdentifier": 0,
    "rowsStored": 2990,
    "people": 800,
    "clampedValues": [{"column": "cost", "values": 12}, {"column": "age", "values": 0}],
    "invalidValues": [{"column": "region", "values": 4, "misfits": []}],
}
REGISTERED = {"id": "visits", "version": "1", "ingestion": COUNTS}
DECLARATION = {"id": "visits", "budget": {"epsilon": 0.1 + 0.2}}


def reply(document: Any, status: int = 200) -> httpx.Response:
    return httpx.Response(status, json=document)


def uploaded() -> httpx.Response:
    return reply(UPLOAD, 201)


@pytest.fixture
def visits(tmp_path: pathlib.Path) -> pathlib.Path:
    file = tmp_path / "visits.csv"
    file.write_bytes(b"cost\n1\n2\n")
    return file


def test_a_file_is_uploaded_registered_and_deleted(visits: pathlib.Path) -> None:
    service = Service(uploaded(), reply(REGISTERED, 201), httpx.Response(204))
    declaration = {**DECLARATION, "source": {"csv": {"delimiter": ";"}}}
    seen: list[Progress] = []
    registration = service.client.register(declaration, visits, progress=seen.append)
    assert [(request.method, request.url.path) for request in service.requests] == [
        ("POST", "/v1/sources"),
        ("POST", "/v1/datasets"),
        ("DELETE", f"/v1/sources/{UPLOAD['id']}"),
    ]
    form = service.requests[0].content
    assert b'name="file"; filename="visits.csv"' in form
    assert b"\r\n\r\ncost\n1\n2\n\r\n--" in form
    assert service.requests[0].headers["content-length"] == str(len(form))
    assert json.loads(service.requests[1].content) == {
        "id": "visits",
        "budget": {"epsilon": 0.3},
        "source": {"kind": "upload", "upload": UPLOAD["id"], "format": "csv", "csv": {"delimiter": ";"}},
    }
    assert seen == [
        Progress("visits.csv", "upload", 0, 0, 9),
        Progress("visits.csv", "upload", 1, 9, 9),
        Progress("visits", "done", 1),
    ]
    assert (registration.version, registration.dry_run, registration.counts["people"]) == ("1", False, 800)
    assert repr(registration) == (
        "visits: version 1\n(exact, for custodians only: 3,000 rows read, 2,990 rows stored, 800 people, "
        "12 values of cost clamped, 4 values of region unfit)"
    )


def test_the_tables_of_a_joined_source_are_uploaded_together(visits: pathlib.Path) -> None:
    uploads = [reply({**UPLOAD, "id": part * 32}, 201) for part in "ab"]
    service = Service(*uploads, reply(REGISTERED, 201), httpx.Response(204), httpx.Response(204))
    joins = [{"from": "visits.patient", "to": "patients.id"}]
    declaration = {**DECLARATION, "source": {"joins": joins, "tables": {"visits": {"csv": {"delimiter": ";"}}}}}
    tables: dict[str, Data] = {"visits": visits, "patients": pd.DataFrame({"id": ["p1"]})}
    assert service.client.register(declaration, tables, progress=lambda _: None).version == "1"
    paths = [(request.method, request.url.path) for request in service.requests]
    assert paths[:3] == [("POST", "/v1/sources"), ("POST", "/v1/sources"), ("POST", "/v1/datasets")]
    assert sorted(paths[3:]) == [("DELETE", f"/v1/sources/{part * 32}") for part in "ab"]
    assert b"id\np1\n" in service.requests[1].content
    form = {"kind": "upload", "format": "csv"}
    assert json.loads(service.requests[2].content)["source"] == {
        "kind": "joined",
        "joins": joins,
        "tables": {
            "visits": {**form, "upload": "a" * 32, "csv": {"delimiter": ";"}},
            "patients": {**form, "upload": "b" * 32},
        },
    }


def test_a_dry_run_and_a_version_are_sent_to_their_places(visits: pathlib.Path) -> None:
    tried = reply({"id": "census", "dryRun": True, "ingestion": COUNTS})
    service = Service(tried, uploaded(), tried, httpx.Response(204))
    assert service.client.register(DECLARATION, dry_run=True).dry_run
    assert json.loads(service.requests[0].content) == {"id": "visits", "budget": {"epsilon": 0.3}}
    declaration = {"id": "census", "columns": [{"name": "cost"}], "budget": {"epsilon": 1}}
    assert "nothing was published" in repr(service.census.publish(visits, declaration, dry_run=True))
    sent = [request for request in service.requests if request.url.params.get("dryRun") == "true"]
    assert [request.url.path for request in sent] == ["/v1/datasets", "/v1/datasets/census/versions"]
    source = {"format": "csv", "kind": "upload", "upload": UPLOAD["id"]}
    assert json.loads(sent[1].content) == {"columns": [{"name": "cost"}], "source": source}


def test_a_refused_registration_deletes_its_upload(visits: pathlib.Path) -> None:
    # That the deletion fails must not hide the refusal.
    service = Service(uploaded(), problem("invalid-request", 400), problem("internal-error", 500))
    seen: list[Progress] = []
    with pytest.raises(sotto.InvalidRequest):
        service.client.register(DECLARATION, visits, progress=seen.append)
    assert service.requests[-1].method == "DELETE"
    assert seen[-1].phase == "failed"


def test_an_upload_whose_connection_is_lost_is_sent_again_from_its_start(visits: pathlib.Path) -> None:
    service = Service(httpx.WriteError("lost"), problem("unavailable", 503), uploaded(), reply(REGISTERED))
    service.steps.append(httpx.Response(204))
    service.client.register(DECLARATION, visits, progress=lambda _: None)
    assert [request.content.count(b"cost\n1\n2\n") for request in service.requests[:3]] == [1, 1, 1]


def test_the_parts_of_a_large_file_are_reported_as_they_are_sent() -> None:
    seen: list[Progress] = []
    file = SentFile("big", io.BytesIO(bytes(5 * 2**20 + 1)), seen.append)
    file.seek(0)
    while file.read(2**16):
        pass
    assert [progress.sent_bytes for progress in seen] == [*(part * 2**20 for part in range(6)), 5 * 2**20 + 1]
    assert seen[-1].fraction == 1


def test_a_data_frame_is_sent_as_csv() -> None:
    frame = pd.DataFrame(
        {
            "seen": pd.to_datetime(pd.Series(["2024-01-02T03:04:05Z", None])),
            "day": pd.to_datetime(["2024-01-02", "2024-01-03"]),
            "cost": [0.1, float("nan")],
            "ward": ['a "b", c', None],
            "member": pd.array([True, None], dtype="boolean"),
        }
    )
    with opened(frame) as file:
        assert file.seek(0) == 0
        assert file.read().decode() == (
            'seen,day,cost,ward,member\n2024-01-02 03:04:05+00:00,2024-01-02,0.1,"a ""b"", c",True\n,2024-01-03,,,\n'
        )


LISTED = {
    "ingestions": [
        {"dataset": "other", "phase": "store"},
        {"dataset": "visits", "phase": "read", "fraction": 0.5},
        {"dataset": "visits", "phase": "wait"},
    ]
}
WATCHED = [Progress("visits", "read", 0.5), Progress("visits", "done", 1)]


def test_the_progress_of_an_ingestion_is_reported_while_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations, "LOOK_EVERY_SECONDS", 0.01)
    reported = threading.Event()
    seen: list[Progress] = []
    page = httpx.Response(200, text="<html>")
    failures: list[httpx.Response | Exception] = [page, httpx.ReadError("lost"), problem("unavailable", 503)]

    def respond(request: httpx.Request) -> httpx.Response:
        if request.method == "POST":
            assert request.extensions["timeout"]["read"] is None
            assert reported.wait(10)
            return reply(REGISTERED)
        outcome = failures.pop() if failures else reply(LISTED)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def report(progress: Progress) -> None:
        seen.append(progress)
        reported.set()

    with sotto.connect(URL, KEY, transport=httpx.MockTransport(respond)) as client:
        client.register(DECLARATION, progress=report)
    assert list(dict.fromkeys(seen)) == WATCHED


def test_the_asynchronous_client_reports_it_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations, "LOOK_EVERY_SECONDS", 0.01)
    seen: list[Progress] = []

    async def register() -> sotto.Registration:
        reported = anyio.Event()

        async def respond(request: httpx.Request) -> httpx.Response:
            if request.method == "GET":
                return reply(LISTED)
            await reported.wait()
            return reply(REGISTERED)

        def report(progress: Progress) -> None:
            seen.append(progress)
            reported.set()

        async with sotto.connect_async(URL, KEY, transport=httpx.MockTransport(respond)) as client:
            return await client.register(DECLARATION, progress=report)

    assert asyncio.run(register()).id == "visits"
    assert list(dict.fromkeys(seen)) == WATCHED


def test_an_interrupted_upload_closes_its_file_and_ends_its_progress(visits: pathlib.Path) -> None:
    def interrupt(_: httpx.Request) -> httpx.Response:
        raise KeyboardInterrupt

    seen: list[Progress] = []
    with pytest.raises(KeyboardInterrupt):
        Service(interrupt).client.register(DECLARATION, visits, progress=seen.append)
    assert seen[-1].phase == "failed"


def test_a_draft_shows_its_open_questions(visits: pathlib.Path) -> None:
    draft_document = {
        "declaration": {
            "id": "visits",
            "source": {"kind": "upload", "upload": UPLOAD["id"], "format": "csv"},
            "columns": [{"name": "cost", "lower": "TODO"}],
        },
        "warning": "Everything in a declaration is public.",
        "questions": [{"field": "columns.0.lower", "text": "Smallest plausible cost."}],
        "notes": [{"field": "columns.0", "text": "Looks like a number."}],
        "dataHints": [{"field": "columns.0.lower", "text": "-3"}],
    }
    service = Service(uploaded(), reply(draft_document), httpx.Response(204))
    draft = service.client.draft(visits, show_data_hints=True, progress=lambda _: None)
    source = {"kind": "upload", "upload": UPLOAD["id"]}
    assert json.loads(service.requests[1].content) == {"source": source, "showDataHints": True}
    # The upload is gone when the declaration is registered.
    assert draft.declaration["source"] == {"kind": "upload", "format": "csv"}
    assert "'lower': 'TODO'" in repr(draft)
    assert "columns.0.lower: Smallest plausible cost." in repr(draft)
    assert "columns.0.lower: DATA: -3" in repr(draft)
    assert "(Everything in a declaration is public.)" in repr(draft)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


STATES = [
    Progress("visits.csv", "upload", 0.5, 1_500_000, 3_000_000),
    Progress("visits", "read", 0.25),
    Progress("visits", "done", 1),
]
LINES = ["visits.csv: uploading 50%, 1.5 of 3.0 MB", "visits: reading the values 25%", "visits: done"]


def shown(stream: io.StringIO) -> None:
    for progress in STATES:
        sotto.show_progress(progress)
    assert stream.getvalue().endswith("\n")
    assert stream.getvalue().count("\n") == 1
    first, *lines = stream.getvalue()[:-1].split("\r")
    assert first == ""
    assert [line.rstrip() for line in lines] == LINES
    # Each one covers the one before.
    assert len({len(line) for line in lines}) == 1


def test_a_terminal_shows_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    shown(sys.stderr)  # type: ignore[arg-type]
    assert capsys.readouterr().out == ""


def test_a_notebook_shows_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    shell = types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    shown(sys.stdout)  # type: ignore[arg-type]
    assert capsys.readouterr().err == ""


def test_a_script_without_a_terminal_shows_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    for progress in STATES:
        sotto.show_progress(progress)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(sys, "stderr", None)
    sotto.show_progress(STATES[0])

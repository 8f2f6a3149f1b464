"""Paid releases: their list, post-processing and pictures."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pandas as pd
import pytest

import sotto

from .support import Service, answer_document

SVG = '<svg xmlns="http://www.w3.org/2000/svg"></svg>'


def entry(id: str, **changes: Any) -> dict[str, Any]:
    question = {"kind": "count", "epsilon": 0.1}
    answered = answer_document(id=id, question=question)
    return {
        "id": id,
        "dataset": "census",
        "datasetVersion": "1",
        "kind": "count",
        "analyst": "analyst",
        "question": question,
        "answeredAt": "2026-01-02T03:04:05.000Z",
        "softwareVersion": "0.1.0",
        "price": {"epsilon": 0.1, "delta": 0},
        "answer": answered,
        **changes,
    }


def page(*entries: dict[str, Any], next: str | None = None) -> httpx.Response:
    return httpx.Response(200, json={"releases": list(entries), **({} if next is None else {"next": next})})


def test_history_reads_all_pages_and_becomes_a_frame() -> None:
    session = entry("c", kind="sparseVector", answer={"id": "c"}, question={"threshold": 3})
    service = Service(page(entry("a"), entry("b"), next="n1"), page(session))
    history = service.census.history(kind="count", from_=pd.Timestamp("2026-01-01T12:00"))
    assert [dict(request.url.params) for request in service.requests] == [
        {"dataset": "census", "kind": "count", "limit": "100", "from": "2026-01-01T12:00:00Z"},
        {"dataset": "census", "kind": "count", "limit": "100", "from": "2026-01-01T12:00:00Z", "cursor": "n1"},
    ]
    assert [release.id for release in history] == ["a", "b", "c"]
    assert isinstance(history[0].answer, sotto.Value)
    assert history[2].answer is None
    frame = history.to_frame()
    assert frame["value"].tolist()[:2] == [2531, 2531]
    assert frame["half_width"].tolist()[:2] == [30, 30]
    assert frame["epsilon"].tolist() == [0.1] * 3
    assert frame["answered_at"][0] == pd.Timestamp("2026-01-02T03:04:05Z")
    assert json.loads(frame["question"][0]) == {"kind": "count", "epsilon": 0.1}
    assert "rho" not in frame


def test_datasets_are_read_from_all_pages() -> None:
    facts = {"title": "T", "columns": [], "privacyUnit": {"kind": "row"}}
    pages = [{"datasets": [{"id": "a", **facts}], "next": "a"}, {"datasets": [{"id": "b", **facts}]}]
    service = Service(*(httpx.Response(200, json=document) for document in pages))
    assert [dataset.id for dataset in service.client.datasets()] == ["a", "b"]
    assert [dict(request.url.params) for request in service.requests] == [
        {"limit": "500"},
        {"limit": "500", "cursor": "a"},
    ]


def test_history_ends_at_its_limit() -> None:
    service = Service(page(entry("a"), entry("b"), next="n1"))
    assert len(service.client.history(limit=2)) == 2
    assert dict(service.requests[0].url.params) == {"limit": "2"}


def test_an_empty_history() -> None:
    assert Service(page()).client.history().to_frame().empty


def grouped(value: float) -> dict[str, Any]:
    values = {"mean_Age": {"value": value, "halfWidth": 0.5}, "count": {"value": 10, "halfWidth": 3}}
    groups = [{"key": {"Sex": "F"}, "values": values}]
    return answer_document(kind="groupBy", result={"groups": groups})


def test_post_processing_keeps_the_names_of_statistics() -> None:
    service = Service(httpx.Response(200, json=grouped(40.25)), httpx.Response(200, json=grouped(40)))
    table = service.census.group_by("Sex").agg(n=sotto.count(), age=sotto.mean("Age")).run(epsilon=0.1)
    rounded = service.census.postprocess(table, round=True)
    assert isinstance(rounded, sotto.Table)
    assert rounded.statistics == ["n", "age"]
    assert rounded.rows[0].values["age"].value == 40
    assert service.requests[1].url.path == f"/v1/releases/{table.id}/postprocess"
    assert service.bodies[1] == {"round": True, "nonNegative": False}


def test_pictures_are_svg() -> None:
    service = Service(httpx.Response(200, text=SVG))
    picture = service.client.plot("1" * 32, theme="dark")
    assert picture._repr_svg_() == SVG
    assert service.requests[0].url.raw_path == b"/v1/releases/" + b"1" * 32 + b"/plot?theme=dark"


def test_an_answer_of_a_batch_is_no_release() -> None:
    part = {name: answer_document()[name] for name in ("kind", "result", "accuracy")}
    document = {**answer_document(), "answers": [{**part, "price": {"epsilon": 0.1, "delta": 0}}]}
    del document["result"]
    service = Service(httpx.Response(200, json=document))
    batch = service.census.batch([sotto.count(epsilon=0.1)])
    with pytest.raises(ValueError, match="not a release"):
        service.client.plot(batch[0])

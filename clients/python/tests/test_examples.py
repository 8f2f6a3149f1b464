"""The queries on the page of queries, as calls of the client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx
import pytest

import sotto
from sotto import col

from .pages import Example, examples, snake
from .support import Service, problem

EXAMPLES = examples()


def grouping(column: Any) -> Any:
    """Return a column as a user writes it: a name, or `col(name)` in cells."""
    if not isinstance(column, Mapping):
        return column
    if "edges" in column:
        return col(column["column"]).bins(column["edges"])
    return col(column["column"]).by(column["by"], from_=column.get("from"), to=column.get("to"))


def arguments(field: str, value: Any) -> dict[str, Any]:
    """Return the arguments of a method that state a field."""
    match field:
        case "accuracy":
            return {snake(name): part for name, part in value.items()}
        case "candidates" if "predicates" in value:
            return {"candidates": {each["name"]: each["where"] for each in value["predicates"]}}
        case "candidates" | "column":
            return {field: grouping(value["column"] if field == "candidates" else value)}
        case "columns" | "keys":
            return {field: [grouping(column) for column in value]}
        case _:
            return {snake(field): value}


def call(asker: Any, query: Mapping[str, Any]) -> Any:
    """Call the method or the function of a kind, as the fields of a query ask for it."""
    fields = {name: value for name, value in query.items() if name not in ("kind", "name")}
    options = {name: given for field, value in fields.items() for name, given in arguments(field, value).items()}
    columns = options.pop("columns") if query["kind"] in ("covariance", "correlation") else []
    return getattr(asker, snake(query["kind"]))(*columns, **options)


def ask(dataset: sotto.Dataset, query: Mapping[str, Any]) -> Any:
    """Ask a query by the method of its kind, and groups by `group_by`."""
    if query["kind"] != "groupBy":
        return call(dataset, query)
    statistics = {f"s{place}": call(sotto, statistic) for place, statistic in enumerate(query["statistics"])}
    options = {name: value for name, value in query.items() if name not in ("kind", "keys", "statistics")}
    return dataset.group_by(*map(grouping, query["keys"])).agg(**statistics).run(**options)


def unnamed(query: Mapping[str, Any]) -> dict[str, Any]:
    """Return a query without the names of its statistics: `agg` gives them others."""
    if query["kind"] != "groupBy":
        return dict(query)
    bare = [{name: value for name, value in each.items() if name != "name"} for each in query["statistics"]]
    return {**query, "statistics": bare}


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_a_method_sends_what_the_page_shows(example: Example) -> None:
    service = Service(problem("invalid-request", 400))
    with pytest.raises(sotto.InvalidRequest):
        ask(service.census, example.query)
    assert [unnamed(body) for body in service.bodies] == [unnamed(example.query)]


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_the_service_answers_what_the_page_shows(
    example: Example, client: sotto.Client, custodian: httpx.Client
) -> None:
    practice = client.dataset(example.dataset, on="dummy")
    for answer in (practice.ask(example.query), ask(practice, example.query)):
        assert answer.kind == example.query["kind"]
        assert len(answer.to_frame()) > 0 or answer.kind == "keySelection"

"""The words of errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import httpx
import pytest

import sotto
from sotto import col

from .support import Service, problem

BY_GROUP: Any = {"rows_per_group": 2}
# A call that the service refuses, and the detail of the refusal.
REFUSED: list[tuple[str, Callable[[sotto.Dataset], Any], str]] = [
    ("population", lambda data: data.count(half_width=-1), "half_width: must be greater than 0"),
    ("population", lambda data: data.count(half_width=1, confidence=2), "confidence: must be at least"),
    ("population", lambda data: data.count(), "epsilon: is required unless half_width is given"),
    ("population", lambda data: data.mean("Age", half_width=1), 'such as supposed={"rows": 1000}'),
    ("population", lambda data: data.correlation("Age", "Age", half_width=1), "columns.1: must not repeat"),
    ("population", lambda data: data.correlation("Age", "Earnings", half_width=1), "half_width: is not supported"),
    (
        "population",
        lambda data: data.histogram("Age", epsilon=1),
        'column: Age is numeric: give col("Age").bins([...])',
    ),
    (
        "population",
        lambda data: data.ask({"kind": "histogram", "column": 5}),
        "col(name).bins([...]) for a column of numbers",
    ),
    ("population", lambda data: data.histogram(col("Sex").bins([1, 2]), epsilon=1), "column: bins need a column of"),
    ("population", lambda data: data.histogram(col("Age").bins([1, 500]), epsilon=1), "column.bins.1: must lie"),
    ("population", lambda data: data.key_selection("Sex", delta=1e-9, epsilon=1), "use histogram or noisy_max"),
    ("population", lambda data: data.batch([sotto.count(half_width=-1)] * 2), "queries.0: half_width: must be"),
    (
        "population",
        lambda data: data.group_by("Sex").agg(n=sotto.count(), pay=sotto.mean("Age")).run(half_width=1),
        "or give epsilon in place of half_width",
    ),
    (
        "population",
        lambda data: data.group_by("Sex").agg(n=sotto.histogram("Sex")).run(epsilon=1),
        "count(), proportion(of), percentile(column, p), or sum, mean, variance, standard_deviation, median or count_",
    ),
    (
        "population",
        lambda data: data.mean("Age", supposed={"standard_deviation": 1e9}, epsilon=1),
        "supposed.standard_deviation: must be at most",
    ),
    ("clinic", lambda data: data.histogram("visited", epsilon=1), 'give col("visited").by("month") or another'),
    ("clinic", lambda data: data.histogram(col("visited").by("month", "1999-01"), epsilon=1), "column.from_: must"),
    ("clinic", lambda data: data.count(contribution=BY_GROUP, epsilon=1), "contribution.rows_per_group: must"),
    ("clinic", lambda data: data.count(contribution={"per_person": (0, 1)}, epsilon=1), "contribution.per_person: app"),
    ("clinic", lambda data: data.mean("cost", per_person="all", epsilon=1), "per_person: must be one of"),  # type: ignore[arg-type]
    (
        "clinic",
        lambda data: data.sum("cost", postprocess={"non_negative": 1}, epsilon=1),  # type: ignore[arg-type]
        "postprocess.non_negative: must be",
    ),
    ("mixed", lambda data: data.key_selection("Diagnosis", delta=1e-9, half_width=1), "set counts=True, or give eps"),
]


@pytest.mark.parametrize(("dataset", "ask", "detail"), REFUSED, ids=[detail for _, _, detail in REFUSED])
def test_refusals_name_the_words_of_python(
    dataset: str, ask: Callable[[sotto.Dataset], Any], detail: str, client: sotto.Client, custodian: httpx.Client
) -> None:
    with pytest.raises(sotto.Problem) as caught:
        ask(client.dataset(dataset))
    problem = caught.value
    assert detail in problem.detail
    assert problem.detail in str(problem)
    assert not re.search(r"[a-z][A-Z]|(?<!=)\{\"|\bedges\b", problem.detail)
    path, rule = problem.detail.replace("queries.0: ", "queries.0.").split(": ", 1)
    assert (problem.field, problem.rule) == (path, rule)


def test_names_of_columns_stay() -> None:
    rule = 'the dataset has no column "halfWidth"; it has accuracy, edges, perPerson'
    errors = [{"field": "column", "rule": rule}]
    service = Service(problem("query-does-not-fit", 422, errors=errors, detail=f"column: {rule}"))
    with pytest.raises(sotto.QueryDoesNotFit) as caught:
        service.census.mean("halfWidth", epsilon=1)
    assert caught.value.rule == rule
    assert caught.value.detail == f"column: {rule}"
    assert caught.value.document["errors"] == errors

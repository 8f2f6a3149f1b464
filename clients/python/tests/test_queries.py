from __future__ import annotations

import datetime
import inspect
import re
from typing import Any

import pytest

import sotto
from sotto import col

from .pages import ROOT, snake

AGE, SEX = col("Age"), col("Sex")


@pytest.mark.parametrize(
    ("expression", "sent"),
    [
        (AGE >= 65, {"column": "Age", "op": ">=", "value": 65}),
        (AGE < 65, {"column": "Age", "op": "<", "value": 65}),
        (SEX == "F", {"column": "Sex", "op": "=", "value": "F"}),
        (SEX != "F", {"column": "Sex", "op": "!=", "value": "F"}),
        (SEX.isin(("F", "M")), {"column": "Sex", "op": "in", "values": ["F", "M"]}),
        (AGE.between(18, 65), {"column": "Age", "op": "between", "lower": 18, "upper": 65}),
        (AGE.is_null(), {"column": "Age", "op": "isNull"}),
        (~AGE.is_null(), {"op": "not", "predicate": {"column": "Age", "op": "isNull"}}),
    ],
)
def test_expressions_become_predicates(expression: Any, sent: Any) -> None:
    assert expression.to_wire() == sent


@pytest.mark.parametrize(
    ("expression", "sent"),
    [
        (col("arr_delay") - col("dep_delay"), "arr_delay - dep_delay"),
        (2 * (AGE + 0.5) / 3 - 1, "((2 * (Age + 0.5)) / 3) - 1"),
        (-col("Gross income"), '0 - "Gross income"'),
        (AGE * -1, "Age * (-1)"),
        ((AGE / 7).round(0.1), "round((Age / 7), 0.1)"),
        (col("case").coalesce("it's"), "coalesce(\"case\", 'it''s')"),
        (col("visited").coalesce(datetime.date(2024, 2, 29)).part("year"), "year((coalesce(visited, '2024-02-29')))"),
    ],
)
def test_arithmetic_makes_columns(expression: Any, sent: str) -> None:
    assert sotto.sum(expression, epsilon=1).body["column"] == sent
    assert (expression > 1).to_wire() == {"column": sent, "op": ">", "value": 1}
    assert expression.bins([0, 1]).to_wire()["column"] == sent


def test_chains_of_one_operator_are_one_list() -> None:
    parts = [AGE == value for value in range(50)]
    either = parts[0]
    for part in parts[1:]:
        either = either | part
    assert either.to_wire() == {"op": "or", "predicates": [part.to_wire() for part in parts]}
    mixed: Any = ((AGE > 1) & (AGE < 9) | (SEX == "F")).to_wire()
    assert [part["op"] for part in mixed["predicates"]] == ["and", "="]


def test_mistakes_in_expressions_are_errors() -> None:
    with pytest.raises(TypeError, match="between"):
        bool(18 <= AGE <= 65)
    with pytest.raises(TypeError, match="parentheses"):
        (AGE >= 65) & "F"  # type: ignore[operator]
    with pytest.raises(TypeError, match="another column"):
        AGE == SEX  # noqa: B015
    with pytest.raises(TypeError, match="neither a column nor a constant"):
        sotto.sum(AGE + {}, epsilon=1)
    with pytest.raises(TypeError, match="list of values"):
        SEX.isin("F")


def test_clamps_are_pairs_or_objects() -> None:
    bounds = {"lower": 0, "upper": 80}
    assert sotto.sum("cost", clamp=(0, 80), epsilon=1).body["clamp"] == bounds
    assert sotto.sum("cost", clamp=bounds, epsilon=1).body["clamp"] == bounds
    days = (datetime.date(2024, 1, 1), datetime.date(2024, 12, 31))
    assert sotto.median("day", clamp=days, epsilon=1).body["clamp"] == {"lower": "2024-01-01", "upper": "2024-12-31"}
    by_column: list[Any] = [{"cost": (0, 80)}, {"cost": bounds}]
    for clamp in by_column:
        assert sotto.covariance("age", "cost", clamp=clamp, epsilon=1).body["clamp"] == {"cost": bounds}
    ranges: list[Any] = [(0, 80), bounds]
    assert sotto.cumulative_counts("cost", ranges=ranges, epsilon=1).body["ranges"] == [bounds, bounds]


def test_options_have_the_names_and_shapes_of_the_service() -> None:
    query = sotto.mean(
        "cost",
        per_person="sum",
        where=AGE >= 65,
        half_width=0.5,
        confidence=0.99,
        contribution={"rows": 20, "per_person": (0, 2_000)},
        postprocess={"non_negative": True},
        supposed={"rows": 80_000, "standard_deviation": 18},
    )
    assert query.body == {
        "kind": "mean",
        "column": "cost",
        "perPerson": "sum",
        "where": {"column": "Age", "op": ">=", "value": 65},
        "accuracy": {"halfWidth": 0.5, "confidence": 0.99},
        "contribution": {"rows": 20, "perPerson": {"lower": 0, "upper": 2_000}},
        "postprocess": {"nonNegative": True},
        "supposed": {"rows": 80_000, "standardDeviation": 18},
    }
    bounds = sotto.count(contribution={"groups": 4, "rows_per_group": 2}).body["contribution"]
    assert bounds == {"groups": 4, "rowsPerGroup": 2}
    as_documented: Any = {"rows": 20, "perPerson": {"lower": 0, "upper": 2_000}}
    assert sotto.sum("cost", contribution=as_documented).body["contribution"] == as_documented


def test_omitted_options_are_not_sent() -> None:
    assert sotto.count(epsilon=0.1).body == {"kind": "count", "epsilon": 0.1}


def test_a_misspelt_option_is_an_error() -> None:
    with pytest.raises(TypeError, match="epsilonn"):
        sotto.count(epsilonn=0.1)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="half_width"):
        sotto.count(confidence=0.9)


def test_help_shows_the_options_of_functions_and_methods() -> None:
    functions: list[Any] = [sotto.count, sotto.Dataset.count, sotto.AsyncDataset.count, sotto.Dataset.sql]
    for function in functions:
        assert {"epsilon", "half_width", "idempotency_key", "on", "delta"} <= set(
            inspect.signature(function).parameters
        )
    assert sotto.Dataset.count.__doc__ == sotto.count.__doc__


def test_cells() -> None:
    month = col("visited").by("month", from_="2023-03", to="2023-08")
    assert month.to_wire() == {"column": "visited", "by": "month", "from": "2023-03", "to": "2023-08"}
    assert AGE.bins([0, 0.1 + 0.2, 18]).to_wire() == {"column": "Age", "edges": [0, 0.3, 18]}


def test_statistics_of_groups_have_no_options_of_their_own() -> None:
    groups = sotto.connect("http://127.0.0.1:9", key="k").dataset("census").group_by("Sex")
    with pytest.raises(ValueError, match=r"n: epsilon, where belongs in run"):
        groups.agg(n=sotto.count(epsilon=0.1, where=AGE > 3))
    with pytest.raises(ValueError, match="no statistics"):
        groups.run(epsilon=0.1)


def test_both_clients_have_the_same_methods() -> None:
    pairs: list[tuple[Any, Any]] = [(sotto.Client, sotto.AsyncClient), (sotto.Dataset, sotto.AsyncDataset)]
    for one, other in pairs:
        names = [{name for name in vars(kind) if not name.startswith("_")} for kind in (one, other)]
        assert names[0] == names[1]
        for name in names[0] - {"id"}:
            parameters = [[*inspect.signature(getattr(kind, name)).parameters] for kind in (one, other)]
            assert parameters[0] == parameters[1], name


def test_every_kind_is_a_function_and_a_method() -> None:
    headings = re.findall(r"^### (.+)$", (ROOT / "docs/reference/questions.md").read_text(), re.MULTILINE)
    kinds = {snake(kind) for heading in headings for kind in heading.split(", ")}
    assert {"count", "minimum", "maximum", "cumulative_counts"} <= kinds
    for kind in kinds - {"group_by"}:
        assert hasattr(sotto, kind), kind
        assert hasattr(sotto.Dataset, kind), kind

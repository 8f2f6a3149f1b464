"""Computing with estimates: the results, what is known of their error, and with which confidence."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sotto
from sotto.answers import read_answer
from sotto.estimates import Estimate

from .support import answer_document


def count(value: float, half_width: float | None = 30, confidence: float = 0.95) -> sotto.Value:
    interval = {} if half_width is None else {"interval": {"lower": value - half_width, "upper": value + half_width}}
    accuracy = {"confidence": confidence, "halfWidth": half_width, **interval}
    answer = read_answer(answer_document(result={"value": value}, accuracy=accuracy), {"kind": "count"})
    assert isinstance(answer, sotto.Value)
    return answer


def facts(estimate: sotto.Value | Estimate) -> tuple[Any, Any, Any]:
    return estimate.value, estimate.half_width, estimate.confidence


def test_a_combination_of_two_answers_holds_with_the_confidence_that_both_hold() -> None:
    men, women = count(200, 30), count(100, 20)
    assert facts(men + women) == (300, 50, 0.9)
    assert facts(men - women) == (100, 50, 0.9)
    assert repr(men - women) == "Estimate(100 ± 50, 90% confidence)"
    assert (men - women).interval == (50, 150)
    ratio = men / women
    assert ratio.interval == (170 / 120, 230 / 80)
    assert facts(ratio) == (2, 230 / 80 - 2, 0.9)
    others = [women, count(5, 1, confidence=0.99)]
    assert facts(sum(others, men * 1)) == (305, 51, 0.89)


def test_an_answer_that_is_used_twice_counts_once() -> None:
    men, women = count(200, 30), count(100, 20)
    share = women / (men + women)
    assert share.confidence == 0.9
    assert (share - men).confidence == 0.9
    assert (men - men).confidence == 0.95


def test_constants_are_certain() -> None:
    answer = count(200, 30)
    assert facts(answer * 2) == facts(2 * answer) == (400, 60, 0.95)
    assert facts(-answer) == (-200, 30, 0.95)
    assert facts(1_000 - answer) == (800, 30, 0.95)
    assert facts(answer / 4) == (50, 7.5, 0.95)
    assert facts(answer * np.float64(2)) == facts(np.float64(2) * answer) == (400, 60, 0.95)
    assert (1 / answer).interval == (1 / 230, 1 / 170)


def test_a_share_is_between_0_and_1() -> None:
    assert count(95, 10).share_of(count(100, 10)).interval == (85 / 110, 1)
    assert count(95, 10).share_of(200).interval == (85 / 200, 105 / 200)


@pytest.mark.parametrize("divisor", [count(20, 30), count(30, 30), count(-5, 10), count(20, None)])
def test_a_divisor_that_may_be_0_leaves_no_bound(divisor: sotto.Value) -> None:
    quotient = count(200) / divisor
    assert (quotient.half_width, quotient.interval) == (None, None)
    assert quotient.value == 200 / divisor.value
    assert (quotient + 1).half_width is None
    assert count(200).share_of(divisor).half_width is None


def test_what_the_declaration_makes_impossible_stays_out_of_results() -> None:
    # A count of 5 ± 30 is at least 0, and a share of 0.9 ± 0.3 at most 1.
    few, share = Estimate(5, 30, interval=(0, 35)), Estimate(0.9, 0.3, interval=(0.6, 1))
    assert (few + 10).interval == (10, 45)
    assert (few * share).interval == (0, 35)
    assert (few / share).interval == (0, 35 / 0.6)


@pytest.mark.parametrize("operation", [operator.add, operator.sub, operator.mul, operator.truediv])
def test_results_are_within_their_half_width_wherever_both_operands_are(
    operation: Callable[[Any, Any], Any],
) -> None:
    chance = random.Random(7)
    for _ in range(500):
        truths = [chance.uniform(-9, 9) for _ in range(2)]
        widths = [chance.uniform(0, 3) for _ in range(2)]
        a, b = (Estimate(t + w * chance.uniform(-1, 1), w) for t, w in zip(truths, widths, strict=True))
        result = operation(a, b)
        if result.half_width is not None:
            assert abs(result.value - operation(*truths)) <= result.half_width + 1e-9


def test_times() -> None:
    first = Estimate.read("2024-03-01", 2, "days")
    last = Estimate.read("2024-03-11", 3, "days")
    day = pd.Timedelta(days=1)
    assert facts(last - first) == (10 * day, 5 * day, 0.9)
    assert (first + day).value == pd.Timestamp("2024-03-02")
    with pytest.raises(TypeError):
        first + last


@pytest.mark.parametrize("unit", ["rows", "people"])
def test_ranks_are_not_computed_with(unit: str) -> None:
    median = Estimate.read(45, 77, unit)
    for operation in (operator.add, operator.sub, operator.mul, operator.truediv):
        for operands in ((median, 1), (2, median), (count(5), median), (median, count(5))):
            with pytest.raises(TypeError, match="number of ranks"):
                operation(*operands)
    assert median > 40
    assert f"{median:.1f}" == "45.0"


def test_other_things_are_not_computed_with() -> None:
    with pytest.raises(TypeError, match="unsupported operand"):
        count(5) + "1"
    with pytest.raises(TypeError, match="not supported between"):
        count(5) < "1"  # noqa: B015


def test_values_compare_round_and_print_as_numbers() -> None:
    answer, other = count(2531.26, 30.6), count(2600)
    assert answer < other
    assert answer <= 2531.26
    assert other > answer
    assert other >= 2600
    assert max(answer, other) is other
    assert (int(answer), float(answer), round(answer), round(answer, 1)) == (2531, 2531.26, 2531, 2531.3)
    assert f"{answer}" == "2,531 ± 31"
    assert f"{answer:,.1f}" == "2,531.3 ± 30.6"
    assert f"{count(5, None):.1f}" == "5.0"


def test_values_of_a_table_and_of_a_regression_have_the_confidence_of_their_answer() -> None:
    accuracy = {"confidence": 0.99, "halfWidth": 5}
    cells = [{"key": {"Sex": name}, "value": value} for name, value in (("F", 60), ("M", 40))]
    table = read_answer(answer_document(result={"cells": cells}, accuracy=accuracy), {"kind": "histogram"})
    assert isinstance(table, sotto.Table)
    women, men = (row.values["count"] for row in table.rows)
    # Each holds by itself with 99%.
    assert facts(women - men) == (20, 10, 0.98)
    top = read_answer(answer_document(kind="topGroups", result={"cells": cells}, accuracy=accuracy), {})
    assert isinstance(top, sotto.Table)
    women, men = (row.values["count"] for row in top.rows)
    # All hold together with 99%.
    assert facts(women - men) == (20, 10, 0.99)
    coefficients = [{"column": "Age", "value": 3, "halfWidth": 1}]
    result = {"intercept": {"value": 1, "halfWidth": 2}, "coefficients": coefficients, "ridge": 0}
    regression = read_answer(answer_document(result=result, accuracy=accuracy), {"kind": "linearRegression"})
    assert isinstance(regression, sotto.Regression)
    assert facts(regression.intercept + 40 * regression.coefficients["Age"]) == (121, 42, 0.99)

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import sotto
from sotto.answers import read_answer
from sotto.estimates import Estimate
from sotto.frames import period_start
from sotto.notebook import MOST_ROWS, error_bars

from .support import answer_document


@pytest.mark.parametrize(
    ("value", "half_width", "unit", "shown"),
    [
        (2531, 30, None, "2,531 ± 30"),
        (167010.537, 13838.94, None, "167,011 ± 13,839"),
        (0, 2217072.37, None, "0 ± 2,217,072"),
        (46.1234, 0.6183, None, "46.12 ± 0.62"),
        (45, 77.25, "rows", "45 (rank ± 77.25 rows)"),
        ("2024-03-03", 6.2, "days", "2024-03-03 ± 6.2 days"),
        ("2024-03-03T10:00:00Z", 90, "seconds", "2024-03-03 10:00:00 UTC ± 90 seconds"),
        (0.5, None, None, "0.5"),
    ],
)
def test_estimates_are_shown_with_their_error(value: Any, half_width: Any, unit: str | None, shown: str) -> None:
    assert str(Estimate.read(value, half_width, unit)) == shown


@pytest.mark.parametrize(
    ("label", "by", "start"),
    [
        ("2024", "year", "2024-01-01"),
        ("2024-Q3", "quarter", "2024-07-01"),
        ("2024-03", "month", "2024-03-01"),
        ("2024-W01", "week", "2024-01-01"),
        ("2020-W53", "week", "2020-12-28"),
        ("2024-02-29", "day", "2024-02-29"),
        ("2024-02-29T05Z", "hour", "2024-02-29T05:00Z"),
    ],
)
def test_periods_start_at_their_first_instant(label: str, by: str, start: str) -> None:
    assert period_start(label, by) == pd.Timestamp(start)


def test_a_replay_shows_what_was_paid() -> None:
    document = answer_document(cost={"epsilon": 0, "delta": 0}, price={"epsilon": 0.1, "delta": 0})
    answer = read_answer(document, {"kind": "count"}, replayed=True)
    assert str(answer.price) == "epsilon 0.1"
    assert "replayed at no cost, paid: epsilon 0.1 · left then: epsilon" in repr(answer)


def test_budgets_in_rho() -> None:
    budget = {"cap": {"rho": 1}, "spent": {"rho": 0.25}, "remaining": {"rho": 0.75}}
    answer = read_answer(answer_document(cost={"rho": 0.25}, budget=budget), {"kind": "count"})
    assert "price: rho 0.25 · left: rho 0.75" in repr(answer)


def test_error_bars_share_a_scale_and_end_at_the_half_width() -> None:
    # From 0 to 350 on 148 pixels, 6 from the edge.
    first, second = error_bars([Estimate(100, 10), Estimate(300, 50)])
    assert '<line x1="44.1" x2="52.5"' in first
    assert 'cx="48.3"' in first
    assert '<line x1="111.7" x2="154.0"' in second
    assert error_bars([Estimate(45, 77, "rows")]) == [""]


def table(groups: int, name: str = "F") -> sotto.Answer:
    cells = [{"key": {"Sex": f"{name}{place}"}, "value": place} for place in range(groups)]
    return read_answer(
        answer_document(kind="histogram", result={"cells": cells}), {"kind": "histogram", "column": "Sex"}
    )


def test_html_is_escaped_and_bounded() -> None:
    html = table(100, "<b>&")._repr_html_()
    assert "<b>" not in html
    assert "&lt;b&gt;&amp;0" in html
    assert html.count("<tr>") == MOST_ROWS + 1
    assert "40 more rows" in html


def test_regressions_and_results_of_computing_show_their_error_bars() -> None:
    result = {"intercept": {"value": 1, "halfWidth": 2}, "coefficients": [], "ridge": 0}
    result["coefficients"] = [{"column": "A<e", "value": 3, "halfWidth": None}]
    html = read_answer(answer_document(result=result), {"kind": "linearRegression"})._repr_html_()
    assert html.count("<svg") == 2
    assert "A&lt;e" in html
    assert "1 ± 2" in html
    difference = Estimate(100, 10) - Estimate(60, 5)
    assert "40 ± 15" in difference._repr_html_()
    assert "90% confidence" in difference._repr_html_()
    assert "<svg" in difference._repr_html_()


def test_the_last_bin_contains_its_upper_edge() -> None:
    first = {"lower": "2023-01-01", "upper": "2024-01-01"}
    last = {"lower": "2024-01-01", "upper": "2024-12-31", "upperIncluded": True}
    cells = [{"key": {"visited": label}, "value": 7} for label in (first, last, None)]
    answer = read_answer(answer_document(result={"cells": cells}), {"kind": "histogram"})
    ends = [pd.Timestamp(day) for day in ("2023-01-01", "2024-01-01", "2024-12-31")]
    assert answer.to_frame()["visited"].tolist() == [
        pd.Interval(ends[0], ends[1], closed="left"),
        pd.Interval(ends[1], ends[2], closed="both"),
        None,
    ]
    html = answer._repr_html_()
    assert "[2023-01-01, 2024-01-01)" in html
    assert "[2024-01-01, 2024-12-31]" in html


def test_an_answer_over_a_live_table_says_how_old_it_can_be() -> None:
    document = answer_document(debitedAt="2026-01-01T12:00:00.000Z", replaysUntil="2026-01-02T00:00:00.000Z")
    answer = read_answer(document, {"kind": "count"}, replayed=False)
    assert answer.debited_at == pd.Timestamp("2026-01-01T12:00Z")
    assert answer.replays_until == pd.Timestamp("2026-01-02T00:00Z")
    ingested = read_answer(answer_document(), {"kind": "count"}, replayed=False)
    assert (ingested.debited_at, ingested.replays_until) == (None, None)

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import pandas as pd
import pytest
from matplotlib.figure import Figure

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


HOSTILE = "<b>&\"'"
DRAWN: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "percentile": (
        {"percentiles": [{"p": 10, "value": "2024-01-03"}, {"p": 90, "value": "2024-02-01"}]},
        {"halfWidth": 77, "unit": "people"},
        ["2024-01-03 (rank ± 77 people)", "2024-02-01 (rank ± 77 people)"],
    ),
    "keySelection": (
        {"keys": [{"key": HOSTILE, "count": 1204}, {"key": "flu", "count": 3}], "truncated": False},
        {"halfWidth": 15},
        ["1,204 ± 15", "3 ± 15"],
    ),
    "noisyMax": (
        {"selected": [{"candidate": HOSTILE, "gap": 40}, {"candidate": None, "gap": 7}]},
        {"halfWidth": None, "gapHalfWidth": 12},
        ["40 ± 12", "7 ± 12"],
    ),
    "topGroups": (
        {"cells": [{"key": {HOSTILE: HOSTILE}, "value": 90}, {"key": {HOSTILE: None}, "value": 20}]},
        {"halfWidth": 8},
        ["90 ± 8", "20 ± 8"],
    ),
}


@pytest.mark.parametrize("kind", DRAWN)
def test_every_kind_of_answer_draws_its_values_with_their_error(kind: str) -> None:
    result, accuracy, shown = DRAWN[kind]
    document = answer_document(kind=kind, result=result, accuracy={"confidence": 0.95, **accuracy})
    answer = read_answer(document, {"kind": kind})
    html = ElementTree.fromstring(answer._repr_html_())
    assert [picture.get("aria-label") for picture in html.iter("svg")] == shown
    assert set(shown) < set(html.itertext())
    bars = 3 * len(shown) if answer.kind != "percentile" else 0
    assert len(list(html.iter("line"))) == bars
    assert len(answer.errorbar(Figure().subplots()).get_yticks()) == 2


def test_rows_of_sql_draw_their_values_with_their_error() -> None:
    columns = [
        {"name": "n", "type": "integer", "halfWidthColumn": "n_half_width"},
        {"name": "n_half_width", "type": "number"},
        {"name": HOSTILE, "type": "text"},
        {"name": "day", "type": "date", "halfWidthColumn": "day_rank_half_width"},
        {"name": "day_rank_half_width", "type": "number", "unit": "rows"},
    ]
    rows = [[120, 9, HOSTILE, "2024-01-03", 7], [80, None, None, "2024-02-01", 7]]
    document = {"query": {"kind": "groupBy"}, "columns": columns, "rows": rows, "notes": [HOSTILE]}
    answer = sotto.SqlAnswer({**document, "answer": answer_document(result={"groups": []})}, replayed=False)
    html = ElementTree.fromstring(answer._repr_html_())
    shown = ["120 ± 9", "2024-01-03 (rank ± 7 rows)", "80", "2024-02-01 (rank ± 7 rows)"]
    assert [picture.get("aria-label") for picture in html.iter("svg")] == shown
    assert [cell.text for cell in html.iter("td") if cell.text][::3] == [HOSTILE, "<NA>"]
    assert [len(list(picture)) for picture in html.iter("svg")] == [4, 1, 1, 1]


def test_answers_without_values_draw_nothing() -> None:
    document = answer_document(kind="keySelection", result={"keys": [{"key": HOSTILE}], "truncated": False})
    answer = read_answer(document, {"kind": "keySelection"})
    assert "<svg" not in answer._repr_html_()
    assert ElementTree.fromstring(answer._repr_html_()).findtext(".//td") == HOSTILE
    with pytest.raises(TypeError, match="no values"):
        answer.errorbar()
    assert "no rows" in table(0)._repr_html_()


@pytest.mark.parametrize("background", ["#ffffff", "#1e1e1e", "#111111"])
def test_error_bars_stand_out_from_light_and_dark_notebooks(background: str) -> None:
    def luminance(colour: str) -> float:
        parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    colours = re.findall(r"#[0-9a-f]{6}", error_bars([Estimate(100, 10)])[0])
    assert len(colours) == 1
    darker, lighter = sorted([luminance(colours[0]), luminance(background)])
    assert (lighter + 0.05) / (darker + 0.05) > 3


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


def test_an_inferred_answer_says_what_it_follows_from() -> None:
    inference = {
        "statement": "Follows from one answer that you have paid for (histogram).",
        "releases": [{"id": "a" * 32, "measurement": "b"}, {"id": "this", "measurement": "this"}],
    }
    answer = read_answer(answer_document(cost={"epsilon": 0, "delta": 0}, inference=inference), {"kind": "count"})
    assert answer.inferred_from == ["a" * 32]
    assert "(Follows from one answer that you have paid for (histogram).)" in repr(answer)
    assert "inferred at no cost" in repr(answer)
    assert "Follows from one answer" in answer._repr_html_()


def test_offers_are_readable() -> None:
    document = {
        **answer_document(price={"epsilon": 0.1, "delta": 0}, paid=False, affordable=True),
        "disclosureRisk": {"statement": "An adversary may guess."},
        "offers": {
            "free": {
                "result": {"value": 2531},
                "accuracy": {"confidence": 0.95, "halfWidth": 20, "expectedAbsoluteError": 7},
                "releases": ["a" * 32, "b" * 32],
                "statement": "The best estimate from 2 answers that you have paid for (count, histogram).",
            },
            "topUp": {"epsilon": 0.07, "price": {"epsilon": 0.07, "delta": 0}},
            "fresh": {"price": {"epsilon": 0.1, "delta": 0}},
        },
    }
    offers = sotto.Preview(document).offers
    assert offers is not None
    assert offers.free is not None
    assert offers.free.half_width == 20
    line = "free: 2,531 ± 20 from 2 answers; top up: epsilon 0.07; fresh: epsilon 0.1"
    assert repr(offers) == line
    assert line in repr(sotto.Preview(document))
    refused = {**document["offers"], "topUp": {"reason": "the epsilon is too small"}}
    assert "top up: the epsilon is too small;" in repr(sotto.Preview({**document, "offers": refused}).offers)
    reason = "it does not follow from the answers that you have paid for"
    nothing = {"free": {"reason": reason}, "fresh": document["offers"]["fresh"]}
    preview = sotto.Preview({**document, "offers": nothing})
    assert repr(preview.offers) == f"free: {reason}; fresh: epsilon 0.1"

"""Answers as HTML for notebooks, with error bars as inline SVG."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import pandas as pd

from .estimates import Estimate, Row
from .values import show_label

MOST_ROWS = 60
_WIDTH, _HEIGHT, _MARGIN = 160, 16, 6
_COLOUR = "#3b6ea5"
"""Stands out from the white and from the dark background of notebooks by a contrast of at least 3."""


def answer_html(values: str, lines: Sequence[str]) -> str:
    """Return an answer as HTML: its values, and sentences about what is left out and what it cost."""
    small = "".join(f"<div><small>{escape(line)}</small></div>" for line in lines)
    return f"<div>{values}{small}</div>"


def value_html(estimate: Estimate) -> str:
    """Return a value as HTML, with its error bar."""
    return f"<div><strong>{escape(str(estimate))}</strong></div>{error_bars([estimate])[0]}"


def table_html(all_rows: Sequence[Row]) -> str:
    """Return rows as HTML, with error bars on one scale for each statistic."""
    if not all_rows:
        return "<div>no rows</div>"
    rows = all_rows[:MOST_ROWS]
    keys = list(rows[0].key)
    head = "".join(f"<th>{escape(name)}</th>" for name in keys)
    columns = []
    for name in rows[0].values:
        head += f'<th colspan="2" style="text-align:center">{escape(name)}</th>'
        estimates = [row.values[name] for row in rows]
        columns.append(list(zip(estimates, error_bars(estimates), strict=True)))
    lines = []
    for place, row in enumerate(rows):
        cells = "".join(f"<td>{escape(show_label(row.key[name]))}</td>" for name in keys)
        for column in columns:
            estimate, bar = column[place]
            cells += f'<td style="text-align:right;white-space:nowrap">{escape(str(estimate))}</td><td>{bar}</td>'
        lines.append(f"<tr>{cells}</tr>")
    left_out = len(all_rows) - len(rows)
    more = f"<div><small>{left_out} more rows in to_frame()</small></div>" if left_out else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>{more}"


def error_bars(estimates: Sequence[Estimate]) -> list[str]:
    """Return an SVG for each estimate, all on one scale: a dot, and a line from value - to value + half-width.

    An estimate without an error bar, such as a quantile, whose half-width is a number of ranks, is a ring without a
    line. Values that are all at one place are not drawn.
    """
    spans = [_span(estimate) for estimate in estimates]
    ends = [end for span in spans for end in span]
    if len(set(ends)) < 2:
        return [""] * len(estimates)
    lowest, highest = min(ends), max(ends)
    # Counts and sums are read from 0, unless 0 would leave no space for the differences.
    if 0 < lowest < (highest - lowest) * 4:
        lowest = 0
    scale = (_WIDTH - 2 * _MARGIN) / (highest - lowest)
    return [
        _bar(str(estimate), [f"{_MARGIN + (end - lowest) * scale:.1f}" for end in span])
        for estimate, span in zip(estimates, spans, strict=True)
    ]


def _number(value: Any) -> float | None:
    if isinstance(value, pd.Timestamp):
        return value.timestamp()
    if isinstance(value, pd.Timedelta):
        return value.total_seconds()
    return float(value) if isinstance(value, int | float) else None


def _span(estimate: Estimate) -> list[float]:
    """Return the value and, if it has a half-width in its unit, the ends of its error bar; nothing for no number."""
    value, width = _number(estimate.value), _number(estimate.error_bar)
    if value is None:
        return []
    return [value] if width is None else [value, value - width, value + width]


def _bar(shown: str, places: Sequence[str]) -> str:
    if not places:
        return ""
    value, *ends = places
    middle = _HEIGHT / 2
    lines = "".join(f'<line x1="{end}" x2="{end}" y1="4" y2="{_HEIGHT - 4}"/>' for end in ends)
    if ends:
        lines = f'<line x1="{ends[0]}" x2="{ends[1]}" y1="{middle}" y2="{middle}"/>{lines}'
    fill = "currentColor" if ends else "none"
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="{escape(shown)}" '
        f'style="color:{_COLOUR}" stroke="currentColor" stroke-width="2">'
        f'{lines}<circle cx="{value}" cy="{middle}" r="3" fill="{fill}"/></svg>'
    )

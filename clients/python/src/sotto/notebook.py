"""Answers as HTML for notebooks, with error bars as inline SVG."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import pandas as pd

from .estimates import Estimate, Row
from .values import show_label, show_number

MOST_ROWS = 60
_WIDTH, _HEIGHT, _MARGIN = 160, 16, 6


def answer_html(values: str, lines: Sequence[str]) -> str:
    """Return an answer as HTML: its values, and sentences about what is left out and what it cost."""
    small = "".join(f"<div><small>{escape(line)}</small></div>" for line in lines)
    return f"<div>{values}{small}</div>"


def frame_html(frame: pd.DataFrame) -> str:
    """Return a data frame as HTML, without its index."""
    return str(frame.to_html(index=False, border=0, max_rows=MOST_ROWS))


def value_html(estimate: Estimate) -> str:
    """Return a value as HTML, with its error bar."""
    return f"<div><strong>{escape(str(estimate))}</strong></div>{error_bars([estimate])[0]}"


def table_html(all_rows: Sequence[Row]) -> str:
    """Return rows as HTML, with error bars on one scale for each statistic."""
    rows = all_rows[:MOST_ROWS]
    keys = list(rows[0].key) if rows else []
    head = "".join(f"<th>{escape(name)}</th>" for name in keys)
    columns = []
    for name in rows[0].values if rows else ():
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

    An estimate whose half-width is a number of ranks has none.
    """
    spans = [None if estimate.is_rank else _span(estimate) for estimate in estimates]
    ends = [end for span in spans if span is not None for end in span]
    if not ends:
        return [""] * len(estimates)
    lowest, highest = min(ends), max(ends)
    # Counts and sums are read from 0, unless 0 would leave no space for the differences.
    if 0 < lowest < (highest - lowest) * 4:
        lowest = 0
    scale = (_WIDTH - 2 * _MARGIN) / ((highest - lowest) or 1)
    return [_bar(estimate, span, lowest, scale) for estimate, span in zip(estimates, spans, strict=True)]


def _number(value: Any) -> float | None:
    if isinstance(value, pd.Timestamp):
        return value.timestamp()
    if isinstance(value, pd.Timedelta):
        return value.total_seconds()
    return float(value) if isinstance(value, int | float) else None


def _span(estimate: Estimate) -> tuple[float, float, float] | None:
    value = _number(estimate.value)
    if value is None:
        return None
    width = _number(estimate.half_width) or 0.0
    return value - width, value, value + width


def _bar(estimate: Estimate, span: tuple[float, float, float] | None, lowest: float, scale: float) -> str:
    if span is None:
        return ""
    low, value, high = (f"{_MARGIN + (end - lowest) * scale:.1f}" for end in span)
    middle = _HEIGHT / 2
    title = escape(f"{show_number(estimate.value)}: {estimate}")
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="{title}" style="color:#3b6ea5">'
        f'<line x1="{low}" x2="{high}" y1="{middle}" y2="{middle}" stroke="currentColor" stroke-width="2"/>'
        f'<line x1="{low}" x2="{low}" y1="4" y2="{_HEIGHT - 4}" stroke="currentColor" stroke-width="2"/>'
        f'<line x1="{high}" x2="{high}" y1="4" y2="{_HEIGHT - 4}" stroke="currentColor" stroke-width="2"/>'
        f'<circle cx="{value}" cy="{middle}" r="3.5" fill="currentColor"/></svg>'
    )

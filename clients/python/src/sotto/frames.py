"""Answers as data frames of pandas."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pandas as pd

from .estimates import Row
from .values import read_value

_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_MONTHS = [datetime.date(2024, month, 1).strftime("%B") for month in range(1, 13)]


def table_frame(rows: Sequence[Row], question: Mapping[str, Any]) -> pd.DataFrame:
    """Return a row for each group: keys, statistics and their half-widths."""
    if not rows:
        return pd.DataFrame()
    columns: dict[str, Any] = {}
    for name in rows[0].key:
        columns[name] = key_column([row.key[name] for row in rows], _grouping_of(question, name))
    for name, first in rows[0].values.items():
        suffix = "rank_half_width" if first.is_rank else "half_width"
        columns[name] = pd.Series([row.values[name].value for row in rows])
        columns[f"{name}_{suffix}"] = pd.Series([row.values[name].half_width for row in rows])
    return pd.DataFrame(columns)


def _grouping_of(question: Mapping[str, Any], name: str) -> Any:
    """Return how the question groups by this column: `{"column", "by"}`, `{"column", "edges"}` or a name."""
    groupings = question.get("keys") or question.get("columns") or [question.get("column")]
    for grouping in groupings:
        if isinstance(grouping, Mapping) and grouping["column"] == name:
            return grouping
    return name


def key_column(labels: Sequence[Any], grouping: Any, keep_order: bool = True) -> Any:
    """Return labels of groups as a column of the fitting type. None becomes `<NA>` (`NaT`, `None` for intervals)."""
    present = [label for label in labels if label is not None]
    if isinstance(grouping, Mapping) and "by" in grouping:
        return _period_column(labels, grouping["by"])
    if any(isinstance(label, Mapping) for label in present):
        return pd.Series([None if label is None else _interval(label) for label in labels], dtype="object")
    if present and all(isinstance(label, bool) for label in present):
        return pd.Series(pd.array(list(labels), dtype="boolean"))
    # In the order of the answer, which is that of the declaration.
    categories = list(dict.fromkeys(present)) if keep_order else sorted(set(present))
    return pd.Series(_categorical(labels, categories, ordered=False))


def _categorical(labels: Sequence[Any], categories: Sequence[str], ordered: bool) -> pd.Categorical:
    # Categories of the type `string` show missing labels as <NA>.
    dtype = pd.CategoricalDtype(pd.Index(pd.array(list(categories), dtype="string")), ordered=ordered)
    return pd.Categorical(list(labels), dtype=dtype)


def _interval(bin: Mapping[str, Any]) -> pd.Interval[Any]:
    closed: Literal["both", "left"] = "both" if bin.get("upperIncluded") else "left"
    return pd.Interval(read_value(bin["lower"]), read_value(bin["upper"]), closed)


def _period_column(labels: Sequence[str | None], by: str) -> Any:
    if by in ("dayOfWeek", "monthOfYear"):
        names = _DAYS if by == "dayOfWeek" else _MONTHS
        return pd.Series(_categorical(labels, names, ordered=True))
    starts = [None if label is None else period_start(label, by) for label in labels]
    return pd.Series(pd.to_datetime(pd.Series(starts, dtype="object"), utc=by == "hour"))


def period_start(label: str, by: str) -> pd.Timestamp:
    """Return the first instant of a period of the calendar."""
    match by:
        case "year":
            return pd.Timestamp(int(label), 1, 1)
        case "quarter":
            year, quarter = label.split("-Q")
            return pd.Timestamp(int(year), 3 * int(quarter) - 2, 1)
        case "week":
            year, week = label.split("-W")
            return pd.Timestamp(datetime.date.fromisocalendar(int(year), int(week), 1))
        case "hour":
            return pd.Timestamp(f"{label[:-1]}:00Z")
        case _:
            return pd.Timestamp(label if by == "day" else f"{label}-01")

"""Conditions on rows and divisions of columns, written as expressions over `col(name)`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Literal, TypeAlias

from .values import Json, wire

DatePart: TypeAlias = Literal["date", "year", "quarter", "month", "day", "weekday", "hour"]
"""Part of a date or timestamp."""
Period: TypeAlias = Literal["year", "quarter", "month", "week", "day", "hour", "dayOfWeek", "monthOfYear"]
"""Part of the calendar that divides a column of dates or timestamps."""


class Predicate:
    """Condition on rows. Combine conditions by `&` (and), `|` (or) and `~` (not)."""

    def __init__(self, tree: Mapping[str, Any]) -> None:
        """Wrap a predicate in the form of the service, such as `{"column": "Age", "op": ">=", "value": 65}`."""
        self._tree = wire(tree)

    def to_wire(self) -> Json:
        """Return the predicate as JSON of the service."""
        return self._tree

    def __and__(self, other: Predicate) -> Predicate:
        return _combined("and", self, other)

    def __or__(self, other: Predicate) -> Predicate:
        return _combined("or", self, other)

    def __invert__(self) -> Predicate:
        return Predicate({"op": "not", "predicate": self})

    def __bool__(self) -> bool:
        raise TypeError(
            "a condition on rows has no truth value here: combine conditions by & | ~ with parentheses around each, "
            "and write col(...).between(lower, upper) in place of lower <= col(...) <= upper"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Predicate) and self._tree == other._tree

    def __hash__(self) -> int:
        return hash(repr(self._tree))

    def __repr__(self) -> str:
        return f"Predicate({self._tree})"


def _combined(op: str, *parts: Predicate) -> Predicate:
    """Return one list of predicates for a chain of the same operator, because the service limits the nesting."""
    predicates: list[Json] = []
    for part in parts:
        tree = part.to_wire() if isinstance(part, Predicate) else None
        if not isinstance(tree, dict):
            raise TypeError(f"{part!r} is not a condition; put parentheses around each comparison beside & and |")
        inner = tree["predicates"] if tree["op"] == op else [tree]
        predicates.extend(inner if isinstance(inner, list) else [inner])
    return Predicate({"op": op, "predicates": predicates})


@dataclass(frozen=True)
class Cells:
    """A column divided into cells: `col(name).by("month")` or `col(name).bins([0, 18, 65])`."""

    column: str
    facts: Mapping[str, Json]

    def to_wire(self) -> Json:
        """Return the divided column as JSON of the service."""
        return {"column": self.column, **self.facts}


_PLAIN = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_WORDS = frozenset(
    ("and", "or", "not", "in", "between", "is", "null", "case", "when", "then", "else", "end", "true", "false")
)


def _operand(value: Any) -> str:
    """Return a column or a constant as it stands in an expression."""
    if isinstance(value, _Computed):
        return f"({value.name})"
    if isinstance(value, Column):
        plain = _PLAIN.fullmatch(value.name) and value.name.lower() not in _WORDS
        return value.name if plain else '"' + value.name.replace('"', '""') + '"'
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float | Decimal):
        # The service takes decimals with at most 9 fractional digits, and never rounds.
        text = format(Decimal(str(round(value, 9))), "f")
        return f"({text})" if text.startswith("-") else text
    if isinstance(value, date):
        return f"'{wire(value)}'"
    raise TypeError(f"{value!r} is neither a column nor a constant")


class Column:
    """A column of a dataset, from `col(name)`. Comparisons make conditions on rows, and arithmetic makes columns.

    A comparison, also `!=`, is false where the column is NULL. `~` also selects the rows without a value.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def to_wire(self) -> Json:
        """Return the name."""
        return self.name

    def __repr__(self) -> str:
        return f"col({self.name!r})"

    __hash__ = object.__hash__

    def _compared(self, op: str, value: Any) -> Predicate:
        if isinstance(value, Column | Predicate):
            raise TypeError("a column can be compared with a value only, not with another column")
        return Predicate({"column": self.name, "op": op, "value": value})

    def __eq__(self, value: Any) -> Predicate:  # type: ignore[override]
        return self._compared("=", value)

    def __ne__(self, value: Any) -> Predicate:  # type: ignore[override]
        return self._compared("!=", value)

    def __lt__(self, value: Any) -> Predicate:
        return self._compared("<", value)

    def __le__(self, value: Any) -> Predicate:
        return self._compared("<=", value)

    def __gt__(self, value: Any) -> Predicate:
        return self._compared(">", value)

    def __ge__(self, value: Any) -> Predicate:
        return self._compared(">=", value)

    def __add__(self, other: Any) -> Column:
        return _arithmetic(self, "+", other)

    def __radd__(self, other: Any) -> Column:
        return _arithmetic(other, "+", self)

    def __sub__(self, other: Any) -> Column:
        return _arithmetic(self, "-", other)

    def __rsub__(self, other: Any) -> Column:
        return _arithmetic(other, "-", self)

    def __mul__(self, other: Any) -> Column:
        return _arithmetic(self, "*", other)

    def __rmul__(self, other: Any) -> Column:
        return _arithmetic(other, "*", self)

    def __truediv__(self, other: Any) -> Column:
        return _arithmetic(self, "/", other)

    def __neg__(self) -> Column:
        return _arithmetic(0, "-", self)

    def round(self, step: Any = 1) -> Column:
        """Round to a multiple of a step, halves upwards."""
        return _called("round", self, step)

    def coalesce(self, value: Any) -> Column:
        """Return the column with a constant in place of NULL."""
        return _called("coalesce", self, value)

    def part(self, part: DatePart) -> Column:
        """Return a part of a date or timestamp, in UTC. Weekdays are 1 for Monday to 7."""
        return _called(part, self)

    def isin(self, values: Iterable[Any]) -> Predicate:
        """Return the condition that the column has one of the values."""
        if isinstance(values, str):
            raise TypeError("isin takes a list of values, not one text")
        return Predicate({"column": self.name, "op": "in", "values": list(values)})

    def between(self, lower: Any, upper: Any) -> Predicate:
        """Return the condition that `lower <= column <= upper`."""
        return Predicate({"column": self.name, "op": "between", "lower": lower, "upper": upper})

    def is_null(self) -> Predicate:
        """Return the condition that the column is NULL."""
        return Predicate({"column": self.name, "op": "isNull"})

    def bins(self, edges: Iterable[Any]) -> Cells:
        """Divide a column of numbers, dates or timestamps by increasing edges.

        A bin contains its lower edge but not its upper edge; the last bin contains both.
        """
        return Cells(self.name, {"edges": wire(list(edges))})

    def by(self, period: Period, from_: Any = None, to: Any = None, time_zone: str | None = None) -> Cells:
        """Divide a column of dates or timestamps by the calendar, in UTC or by the clock of a time zone.

        The cells span the declared bounds of the column, or run from the cell of `from_` through the cell of `to`.
        """
        ends = {"from": from_, "to": to, "timeZone": time_zone}
        return Cells(self.name, {"by": period, **{end: wire(at) for end, at in ends.items() if at is not None}})


class _Computed(Column):
    """A column that is computed from others. Its name is an expression of the service."""


def _arithmetic(left: Any, op: str, right: Any) -> Column:
    return _Computed(f"{_operand(left)} {op} {_operand(right)}")


def _called(function: str, *values: Any) -> Column:
    return _Computed(f"{function}({', '.join(_operand(value) for value in values)})")


def col(name: str) -> Column:
    """Return a column, for conditions such as `col("Age") >= 65` and cells such as `col("visited").by("month")`.

    The name may be an expression of the service, such as `case when Age < 18 then 'child' else 'adult' end`. Arithmetic
    makes others: `col("arr_delay") - col("dep_delay")`.
    """
    return Column(name)


ColumnName: TypeAlias = str | Column
"""A column, by its name or as `col(name)`."""
Grouping: TypeAlias = str | Column | Cells
"""A column whose values, bins or periods are groups."""
Where: TypeAlias = Predicate | Mapping[str, Any]
"""A condition on rows: an expression, or JSON of the service."""

"""Answers as values: what was released, how accurate it is, and what it cost."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from . import drawing, frames, notebook
from .amounts import Amount
from .estimates import Computable, Estimate, Row
from .values import read_half_width, read_value, show_confidence, show_label, show_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Answer:
    """Released answer. The subclasses hold its values."""

    def __init__(self, document: Mapping[str, Any], question: Mapping[str, Any], replayed: bool) -> None:
        self.document = dict(document)
        """The document of the service."""
        self.question: dict[str, Any] = document.get("question", dict(question))
        """The query that was asked, as JSON of the service."""
        self.replayed = replayed
        """True if a stored answer was sent, at no cost."""
        self.dummy: bool = document.get("dummy", False)
        """True if the answer was computed from made-up rows."""
        self.id: str | None = None if self.dummy else document.get("id")
        """Id of the release; None for an answer of a batch, and for one from made-up rows."""
        self.dataset: str = document["dataset"]
        self.dataset_version: str = document["datasetVersion"]
        self.kind: str = document["kind"]
        self.confidence: float = document["accuracy"]["confidence"]
        """Probability with which the half-widths hold."""
        self.coverage: str | None = document.get("coverage", {}).get("statement")
        """What the half-widths cover and what not, in words."""
        self.debited_at = _instant(document.get("debitedAt"))
        """Only over live tables: time of the debit, after which the rows were read."""
        self.replays_until = _instant(document.get("replaysUntil"))
        """Only over live tables: when a repeat becomes a new question; None if a repeat replays for ever."""
        self.price = Amount(**document.get("price", document["cost"]))
        """What the answer cost when it was first given; for made-up rows, what it would cost."""
        self.budget_left = Amount(**document["budget"]["remaining"])
        """Budget of the dataset just after the answer was first given; `dataset.budget()` returns that of now."""
        inference = document.get("inference", {})
        self.inference: str | None = inference.get("statement")
        """From which answers this one follows, in words; None for one with noise of its own."""
        self.inferred_from: list[str] = parent_ids(inference)
        """Ids of the releases that the answer follows from."""

    @property
    def half_width(self) -> Any:
        """Half-width that all values share; None if each has its own, or no bound is known."""
        accuracy = self.document["accuracy"]
        return read_half_width(accuracy["halfWidth"], accuracy.get("unit"))

    def _shown(self) -> str:
        raise NotImplementedError

    def to_frame(self) -> pd.DataFrame:
        """Return the answer as a data frame: a column for each value, and one for its half-width."""
        raise NotImplementedError

    def _rows(self) -> list[Row]:
        """Return the answer as rows, each with its label and its values."""
        raise NotImplementedError

    def _drawn_rows(self) -> list[Row]:
        """Return the rows that a chart with one axis can show."""
        return self._rows()

    def errorbar(self, ax: Axes | None = None, statistic: str | None = None) -> Axes:
        """Draw values with error bars by matplotlib, which the extra `plots` installs, and return the axes.

        Several statistics of groups are on one scale, unless one `statistic` is named.

        Raises:
            KeyError: if there is no statistic with this name.
            TypeError: for an answer without values.

        """
        rows = self._drawn_rows()
        if not rows or not rows[0].values:
            raise TypeError(f"this answer of kind {self.kind} has no values to draw")
        labels = [" / ".join(show_label(label) for label in row.key.values()) for row in rows]
        names = rows[0].values if statistic is None else [statistic]
        return drawing.errorbar(labels, {name: [row.values[name] for row in rows] for name in names}, ax)

    def cost_line(self) -> str:
        """Return a sentence about confidence, price and budget."""
        confidence = show_confidence(self.confidence)
        if self.dummy:
            return f"{confidence} · from made-up rows, free; over the data it costs {self.price}"
        if self.inference is not None and self.price.is_nothing:
            return f"{confidence} · inferred at no cost · left: {self.budget_left}"
        if self.replayed:
            return f"{confidence} · replayed at no cost, paid: {self.price} · left then: {self.budget_left}"
        return f"{confidence} · price: {self.price} · left: {self.budget_left}"

    def lines(self) -> list[str]:
        """Return what the half-widths do not cover, from which answers this one follows, and what it cost."""
        return [*(line for line in (self.coverage, self.inference) if line is not None), self.cost_line()]

    def __repr__(self) -> str:
        return "\n".join([self._shown(), *(f"({line})" for line in self.lines())])

    def _values_html(self) -> str:
        return notebook.table_html(self._rows())

    def _repr_html_(self) -> str:
        return notebook.answer_html(self._values_html(), self.lines())


class Value(Computable, Answer):
    """Answer that is one value. `Computable` says how to compute with it."""

    def __init__(self, document: Mapping[str, Any], question: Mapping[str, Any], replayed: bool) -> None:
        super().__init__(document, question, replayed)
        accuracy = document["accuracy"]
        value, unit = document["result"]["value"], accuracy.get("unit")
        self.estimate = Estimate.read(value, accuracy["halfWidth"], unit, accuracy.get("interval"), self.confidence)

    def _estimate(self) -> Estimate:
        return self.estimate

    @property
    def value(self) -> Any:
        """The noisy value: a number, or a Timestamp for a column of dates or times."""
        return self.estimate.value

    @property
    def interval(self) -> tuple[Any, Any] | None:
        """Where the true value lies, cut at what the declaration makes impossible; None for a quantile."""
        return self.estimate.interval

    def _shown(self) -> str:
        return str(self.estimate)

    def to_frame(self) -> pd.DataFrame:
        """Return one row with the columns `value` and `half_width`."""
        return pd.DataFrame({"value": [self.value], "half_width": [self.half_width]})

    def _rows(self) -> list[Row]:
        return [Row({}, {self.kind: self.estimate})]

    def _values_html(self) -> str:
        return notebook.value_html(self.estimate)


class Table(Answer):
    """Answer with a row for each group or cell."""

    def __init__(
        self,
        document: Mapping[str, Any],
        question: Mapping[str, Any],
        replayed: bool,
        names: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(document, question, replayed)
        self.names = names
        """Name of each statistic in the document, by its name here; None if the names are the same."""
        result = document["result"]
        self.clamps: Mapping[str, Any] | None = result.get("clamps")
        """Clamps for a next question, weighed by noise and bias; None unless the query is one for bounds."""
        self.contributions: Mapping[str, Any] | None = result.get("contributions")
        """Bounds on rows for a next question, weighed by noise and what is left out; None unless it is a profile."""
        if "cells" in result:
            width = document["accuracy"]["halfWidth"]
            # The half-width of the largest groups holds for all of them together.
            parts = (Estimate(None, width, confidence=self.confidence),) if self.kind == "topGroups" else ()
            counts = [_count(cell["value"], width, self.confidence, parts) for cell in result["cells"]]
            self.rows = [
                Row(cell["key"], {"count": count}) for cell, count in zip(result["cells"], counts, strict=True)
            ]
        else:
            self.rows = [
                Row(group["key"], _values_of(group["values"], names, self.confidence)) for group in result["groups"]
            ]

    @property
    def statistics(self) -> list[str]:
        """Names of the statistics."""
        return list(self.rows[0].values) if self.rows else []

    def __len__(self) -> int:
        return len(self.rows)

    def _shown(self) -> str:
        return repr(self.to_frame())

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each group: its keys, each statistic, and `<statistic>_half_width`.

        Categories become categoricals, booleans `boolean`, periods of the calendar `datetime64` (their first day or
        hour), and bins intervals. The group of the rows without a value is `<NA>`.
        """
        return frames.table_frame(self.rows, self.question)

    def _rows(self) -> list[Row]:
        return self.rows


class Cumulative(Table):
    """Counts up to each edge, period or value of a column, and quantiles and ranges of that curve."""

    def __init__(self, document: Mapping[str, Any], question: Mapping[str, Any], replayed: bool) -> None:
        super().__init__(document, question, replayed)
        self.quantiles = {
            part["p"]: Estimate(
                self._place(part["value"]),
                None,
                interval=(self._place(part["interval"]["lower"]), self._place(part["interval"]["upper"])),
                confidence=self.confidence,
            )
            for part in document["result"].get("percentiles", [])
        }
        """Estimates by percentage, each with the interval in which the true quantile lies."""
        self.ranges = {
            (part["range"]["lower"], part["range"]["upper"]): Estimate(
                part["value"],
                part["halfWidth"],
                interval=(part["interval"]["lower"], part["interval"]["upper"]),
                confidence=self.confidence,
            )
            for part in document["result"].get("ranges", [])
        }
        """Counts of ranges by their ends, as the query gives them."""

    def _place(self, label: Any) -> Any:
        """Return an edge, a value, or the first instant of a period."""
        column = self.question.get("column")
        by = column.get("by") if isinstance(column, Mapping) else None
        return read_value(label) if by is None else frames.period_start(label, by)

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each cell: `up_to`, its end, and the count from the start through there."""
        ends = [self._place(span["upper"]) for row in self.rows for span in row.key.values()]
        counts = [row.values["count"] for row in self.rows]
        return pd.DataFrame(
            {
                "up_to": ends,
                "count": [count.value for count in counts],
                "count_half_width": [count.half_width for count in counts],
            }
        )


def _count(value: float, half_width: float | None, confidence: float, parts: tuple[Estimate, ...]) -> Estimate:
    # A count is never negative.
    interval = None if half_width is None else (max(0, value - half_width), max(0, value + half_width))
    return Estimate(value, half_width, interval=interval, confidence=confidence, parts=parts)


def _values_of(values: Mapping[str, Any], names: Mapping[str, str] | None, confidence: float) -> dict[str, Estimate]:
    estimates = {
        name: Estimate.read(part["value"], part["halfWidth"], part.get("unit"), part.get("interval"), confidence)
        for name, part in values.items()
    }
    return estimates if names is None else {name: estimates[sent] for name, sent in names.items()}


class Regression(Answer):
    """Coefficients of a linear regression."""

    def __init__(self, document: Mapping[str, Any], question: Mapping[str, Any], replayed: bool) -> None:
        super().__init__(document, question, replayed)
        result = document["result"]
        # The half-widths of a regression hold for all coefficients together.
        self._joint = Estimate(None, None, confidence=self.confidence)
        self.intercept = self._term(result["intercept"])
        self.coefficients = {part["column"]: self._term(part) for part in result["coefficients"]}
        """Coefficients by predictor."""
        self.ridge: float = result["ridge"]

    def _term(self, part: Mapping[str, Any]) -> Estimate:
        return Estimate(part["value"], part["halfWidth"], confidence=self.confidence, parts=(self._joint,))

    def _rows(self) -> list[Row]:
        parts = {"intercept": self.intercept, **self.coefficients}
        return [Row({"term": name}, {"value": estimate}) for name, estimate in parts.items()]

    def _drawn_rows(self) -> list[Row]:
        # The intercept is in another unit.
        return self._rows()[1:]

    def _shown(self) -> str:
        parts = {"intercept": self.intercept, **self.coefficients}
        return "\n".join(f"{name}: {estimate}" for name, estimate in parts.items())

    def to_frame(self) -> pd.DataFrame:
        """Return a row for the intercept and for each coefficient."""
        parts = {"intercept": self.intercept, **self.coefficients}
        return pd.DataFrame(
            {
                "term": list(parts),
                "value": [estimate.value for estimate in parts.values()],
                "half_width": pd.array([estimate.half_width for estimate in parts.values()], dtype="Float64"),
            }
        )


class Selection(Answer):
    """Selected candidates, best first. Their counts are not released."""

    def __init__(self, document: Mapping[str, Any], question: Mapping[str, Any], replayed: bool) -> None:
        super().__init__(document, question, replayed)
        self.selected: list[Any] = [part["candidate"] for part in document["result"]["selected"]]
        """Names of the candidates; None is the group of the rows without a value."""
        self.gaps: list[float | None] = [part.get("gap") for part in document["result"]["selected"]]
        """Noisy numbers by which each exceeds the next one, if they were asked."""

    def _rows(self) -> list[Row]:
        width = self.document["accuracy"].get("gapHalfWidth")
        return [
            Row(
                {"place": place, "candidate": label},
                {} if gap is None else {"gap": Estimate(gap, width, confidence=self.confidence)},
            )
            for place, (label, gap) in enumerate(zip(self.selected, self.gaps, strict=True), 1)
        ]

    def _shown(self) -> str:
        return "\n".join(f"{place}. {label}" for place, label in enumerate(self.selected, 1))

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each selected candidate, best first."""
        candidates = self.question.get("candidates", {})
        frame = pd.DataFrame(
            {"candidate": frames.key_column(self.selected, candidates.get("column"), keep_order=False)}
        )
        if any(gap is not None for gap in self.gaps):
            frame["gap"] = self.gaps
            frame["gap_half_width"] = self.document["accuracy"].get("gapHalfWidth")
        return frame


class Percentiles(Answer):
    """Percentiles of a column."""

    def __init__(self, document: Mapping[str, Any], question: Mapping[str, Any], replayed: bool) -> None:
        super().__init__(document, question, replayed)
        accuracy, result = document["accuracy"], document["result"]
        # One percentile that is not in a list is answered as one value.
        found = result.get("percentiles") or [{"p": question.get("p"), "value": result.get("value")}]
        self.values = {
            part["p"]: Estimate.read(
                part["value"], accuracy["halfWidth"], accuracy.get("unit"), confidence=self.confidence
            )
            for part in found
        }
        """Estimates by percentage. Their half-widths are numbers of rows, or of people."""

    def _rows(self) -> list[Row]:
        return [Row({"percentile": f"{p}%"}, {"value": estimate}) for p, estimate in self.values.items()]

    def _shown(self) -> str:
        return "\n".join(f"{p}%: {estimate}" for p, estimate in self.values.items())

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each percentile; `rank_half_width` is a number of rows or people."""
        return pd.DataFrame(
            {
                "p": list(self.values),
                "value": [estimate.value for estimate in self.values.values()],
                "rank_half_width": [estimate.half_width for estimate in self.values.values()],
            }
        )


class Keys(Answer):
    """Frequent values of a text column."""

    def __init__(self, document: Mapping[str, Any], question: Mapping[str, Any], replayed: bool) -> None:
        super().__init__(document, question, replayed)
        self.keys: list[str] = [part["key"] for part in document["result"]["keys"]]
        self.counts: list[float | None] = [part.get("count") for part in document["result"]["keys"]]
        """Noisy counts, if they were asked."""
        self.truncated: bool = document["result"]["truncated"]
        """True if there were more keys than an answer may contain."""

    def _rows(self) -> list[Row]:
        return [
            Row({"key": key}, {} if count is None else {"count": _count(count, self.half_width, self.confidence, ())})
            for key, count in zip(self.keys, self.counts, strict=True)
        ]

    def _shown(self) -> str:
        return ", ".join(self.keys) or "no key"

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each key, with its noisy count if it was asked."""
        frame = pd.DataFrame({"key": pd.array(self.keys, dtype="string")})
        if any(count is not None for count in self.counts):
            frame["count"] = self.counts
            frame["count_half_width"] = self.half_width
        return frame


class Marginals(Answer, Mapping[tuple[str, ...], "pd.DataFrame"]):
    """Tables of some of the columns that agree with each other, by the names of their columns.

    `answer["Sex", "Married"]` is a data frame with a row for each cell. An answer with too many cells has no values:
    `client.tables(answer.id)` returns them.
    """

    def __init__(self, document: Mapping[str, Any], question: Mapping[str, Any], replayed: bool) -> None:
        super().__init__(document, question, replayed)
        result = document["result"]
        self._labels = {part["column"]: part["labels"] for part in result["columns"]}
        self._tables = {tuple(table["columns"]): table for table in result["tables"]}
        self.half_widths: dict[tuple[str, ...], float] = {
            columns: table["halfWidth"] for columns, table in self._tables.items()
        }
        """Half-width of each cell of a table, by its columns."""

    def __getitem__(self, columns: Any) -> pd.DataFrame:
        key = (columns,) if isinstance(columns, str) else tuple(columns)
        table = self._tables[key]
        if "values" not in table:
            raise ValueError("the answer has too many cells to contain its tables: use client.tables(answer.id)")
        keys = itertools.product(*(self._labels[name] for name in key))
        rows = [
            Row(dict(zip(key, labels, strict=True)), {"count": _count(value, table["halfWidth"], self.confidence, ())})
            for labels, value in zip(keys, table["values"], strict=True)
        ]
        return frames.table_frame(rows, self.question)

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def _shown(self) -> str:
        return repr(self.to_frame())

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each table: its columns, the number of its cells, and their half-width."""
        return pd.DataFrame(
            {
                "table": [" and ".join(columns) for columns in self._tables],
                "cells": [table["cells"] for table in self._tables.values()],
                "half_width": list(self.half_widths.values()),
            }
        )


_BY_RESULT: Mapping[str, type[Answer]] = {
    "value": Value,
    "cells": Table,
    "groups": Table,
    "intercept": Regression,
    "selected": Selection,
    "percentiles": Percentiles,
    "keys": Keys,
    "tables": Marginals,
}


def read_answer(
    document: Mapping[str, Any],
    question: Mapping[str, Any],
    replayed: bool = False,
    names: Mapping[str, str] | None = None,
) -> Answer:
    """Return an answer of the class that fits its result."""
    if names is not None:
        return Table(document, question, replayed, names)
    if question.get("kind") == "percentile":
        return Percentiles(document, question, replayed)
    if document.get("kind") == "cumulativeCounts":
        return Cumulative(document, question, replayed)
    kind = next(kind for field, kind in _BY_RESULT.items() if field in document["result"])
    return kind(document, question, replayed)


class Batch(Sequence[Any]):
    """Answers to the queries of a batch, in their order, charged together."""

    def __init__(self, document: Mapping[str, Any], questions: Sequence[Any], replayed: bool = False) -> None:
        self.document = dict(document)
        self.replayed = replayed
        self.id: str | None = document.get("id")
        self.dataset: str = document["dataset"]
        self.price = Amount(**document.get("price", document["cost"]))
        """What the batch cost when it was first answered."""
        self.plan: str | None = document.get("plan")
        """How the queries were planned: `together`, so that their answers agree, or `separate`."""
        self.budget_left = Amount(**document["budget"]["remaining"])
        self.dummy: bool = document.get("dummy", False)
        """True if the answers are over made-up rows, for practice."""
        shared = {name: document[name] for name in ("dataset", "datasetVersion", "budget", "dummy") if name in document}
        self.answers = [
            read_answer({**shared, **part, "cost": part["price"]}, question, replayed)
            for part, question in zip(document["answers"], questions, strict=True)
        ]

    def __getitem__(self, place: Any) -> Any:
        return self.answers[place]

    def __len__(self) -> int:
        return len(self.answers)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.answers)

    def __repr__(self) -> str:
        lines = [f"{answer.kind}: {answer._shown()}" for answer in self.answers]
        return "\n".join([*lines, *(f"({line})" for line in self.lines())])

    def lines(self) -> list[str]:
        """Return what is known about the batch besides its values."""
        left = "left then" if self.replayed else "left"
        return [f"price of all: {self.price} · {left}: {self.budget_left}"]

    def _repr_html_(self) -> str:
        return "".join(answer._repr_html_() for answer in self.answers)


def parent_ids(inference: Mapping[str, Any]) -> list[str]:
    """Return the ids of the releases that an answer follows from, without its own measurement."""
    return list(dict.fromkeys(part["id"] for part in inference.get("releases", []) if part["id"] != "this"))


class Offers:
    """The three ways to an answer, one of which `use` chooses."""

    def __init__(self, preview: Mapping[str, Any], names: Mapping[str, str] | None = None) -> None:
        offers = preview["offers"]
        free, top_up = offers["free"], offers.get("topUp")
        self.reason: str | None = free.get("reason")
        """Why nothing follows from what you have paid for; None if something does."""
        self.statement: str | None = free.get("statement")
        """From which answers the free one follows, in words."""
        self.releases: list[str] = free.get("releases", [])
        """Ids of the releases that the free answer follows from."""
        self.top_up = None if top_up is None or "reason" in top_up else Amount(**top_up["price"])
        """Price of the precision that they lack; None where nothing follows, or where it cannot be bought."""
        self.top_up_reason: str | None = None if top_up is None else top_up.get("reason")
        """Why the precision that they lack cannot be bought; None if it can."""
        self.fresh = Amount(**offers["fresh"]["price"])
        """Price of an answer with noise of its own."""
        self.free: Answer | None = None
        """What the paid answers say already; None where nothing follows."""
        if "result" in free:
            nothing = dict.fromkeys(preview["price"], 0)
            shared = {name: preview[name] for name in ("dataset", "datasetVersion", "kind", "budget")}
            document = {**shared, **free, "cost": nothing, "inference": {"statement": self.statement}}
            self.free = read_answer(document, {}, names=names)

    def __repr__(self) -> str:
        if self.free is None:
            return f"free: {self.reason}; fresh: {self.fresh}"
        values = self.free._shown() if isinstance(self.free, Value) else f"{len(self.free._rows())} values"
        count = f"{len(self.releases)} answer{'' if len(self.releases) == 1 else 's'}"
        lacking = self.top_up_reason or (
            "nothing lacks" if self.top_up is None or self.top_up.is_nothing else str(self.top_up)
        )
        return f"free: {values} from {count}; top up: {lacking}; fresh: {self.fresh}"


class Plans:
    """Price of a batch under each plan, one of which `plan` chooses."""

    def __init__(self, plans: Mapping[str, Any]) -> None:
        together = plans["together"]
        self.separate = Amount(**plans["separate"]["price"])
        """Price of answers that have noise of their own."""
        self.together = Amount(**together["price"]) if "price" in together else None
        """Price of answers that are estimated together and agree; None if they cannot be."""
        self.reason: str | None = together.get("reason")
        """Why the queries cannot be planned together; None if they can."""

    def __repr__(self) -> str:
        return f"together: {self.together or self.reason}; separate: {self.separate}"


class Preview:
    """Cost and accuracy of a query before it is asked. Nothing is charged."""

    def __init__(self, document: Mapping[str, Any], names: Mapping[str, str] | None = None) -> None:
        self.document = dict(document)
        accuracy = document.get("accuracy", {})
        estimates = accuracy.get("estimates", {})
        self.cost = Amount(**document["cost"])
        """What asking would cost now: nothing if you have paid for the question before, or it is inferred."""
        self.price = Amount(**document["price"])
        """What a fresh answer costs."""
        self.paid: bool = document["paid"]
        """True if you have paid for the question before, so that a repeat costs nothing."""
        self.replays_until = _instant(document.get("replaysUntil"))
        """Only over live tables: when a repeat becomes a new question; None if a repeat replays for ever."""
        self.affordable: bool = document["affordable"]
        """True if budget and allotment suffice now."""
        self.budget_left = Amount(**document["budget"]["remaining"])
        """Budget of the dataset now, before any charge."""
        self.half_width = read_half_width(accuracy.get("halfWidth"), accuracy.get("unit"))
        """Half-width of each value; None if it depends on the data, or differs between values."""
        self.root_mean_squared_error: float | None = accuracy.get("rootMeanSquaredError")
        """Over all counts, only for marginals and cumulative counts, whose `half_width` is the largest one."""
        if names is not None and estimates:
            estimates = {name: estimates[sent] for name, sent in names.items()}
        self._estimates = estimates
        self.half_widths: dict[str, Any] = {
            name: read_half_width(each["halfWidth"], each.get("unit")) for name, each in self._estimates.items()
        }
        """Half-width of each of several statistics, by its name; None if it is not known before."""
        self.reason: str | None = accuracy.get("reason")
        """Why there is no half-width, and what to do about it."""
        self.appearance: str | None = accuracy.get("statement")
        """What a key needs to appear, in words; only for a selection of keys."""
        self.coverage: str | None = document.get("coverage", {}).get("statement")
        """What the half-width covers and what not, in words; None for a batch, whose answers state it."""
        self.risk: str = document["disclosureRisk"]["statement"]
        """What an adversary can guess, in a sentence."""
        plans = document.get("plans")
        self.plan: str | None = document.get("plan")
        """How the queries of a batch would be planned: `together` or `separate`; None but for a batch."""
        self.plans = None if plans is None else Plans(plans)
        """Price of a batch under each plan; None but for a batch."""
        self.offers = Offers(document, names) if "offers" in document else None
        """Ways to an answer from what you have paid for; None for batches and sessions."""

    def __repr__(self) -> str:
        parts = self.document.get("answers", [self.document])
        named = ", ".join(f"{name} {_margin(each)}" for name, each in self._estimates.items())
        margins = named or "; ".join(_margins(part["accuracy"]) for part in parts)
        can = "already paid" if self.paid else "affordable" if self.affordable else "not affordable"
        if not self.paid and self.cost.is_nothing:
            can = "nothing to pay"
        offers = None if self.offers is None or self.offers.free is None else repr(self.offers)
        plans = None if self.plans is None else repr(self.plans)
        notes = "".join(f"\n({note})" for note in (self.appearance, self.coverage, offers, plans) if note is not None)
        return f"Preview({margins}; price: {self.price}, {can}; left: {self.budget_left}){notes}"


def _instant(text: str | None) -> pd.Timestamp | None:
    return None if text is None else pd.Timestamp(text)


def _margins(accuracy: Mapping[str, Any]) -> str:
    """Return the half-width of each statistic, or why it is not known."""
    named = accuracy.get("estimates", {}).items()
    return ", ".join(f"{name} {_margin(each)}" for name, each in named) or _margin(accuracy)


def _margin(error: Mapping[str, Any]) -> str:
    half_width = read_half_width(error["halfWidth"], error.get("unit"))
    return error.get("reason", "unknown") if half_width is None else f"± {show_number(half_width)}"


class SessionAnswer:
    """Answer to a question of a session. It is true in a condition if the count is above the threshold."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = dict(document)
        self.above: bool = document["above"]
        self.gap: float | None = document.get("gap")
        """Noisy number of rows or people above the threshold; None if below."""
        self.positives_left: int = document["positivesLeft"]

    def __bool__(self) -> bool:
        return self.above

    def __repr__(self) -> str:
        gap = "" if self.gap is None else f" by about {show_number(self.gap)}"
        return f"{'above' if self.above else 'below'} the threshold{gap} ({self.positives_left} positives left)"


class Picture:
    """Drawing as SVG, shown by notebooks."""

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def save(self, path: str) -> None:
        """Write the SVG to a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg)

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"Picture(SVG, {len(self.svg):,} characters)"

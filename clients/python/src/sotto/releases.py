"""Datasets, paid releases, answers in SQL, and made-up rows, as values and data frames."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from . import notebook
from .amounts import Amount
from .answers import Answer, Batch, read_answer
from .estimates import Estimate, Row


class DatasetFacts:
    """Public facts of a dataset."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = dict(document)
        self.id: str = document["id"]
        self.title: str = document["title"]
        self.columns: list[dict[str, Any]] = [*document["columns"], *document.get("derived", [])]
        """The declared columns, and those that the custodian derives from them, each with its `expression`."""
        self.privacy_unit: dict[str, Any] = document["privacyUnit"]
        """`{"kind": "row"}`, or `{"kind": "person", "column", "maxRows"}` if a person has several rows."""
        self.coverage: str | None = document.get("coverageStatement")
        """What `maxRows` leaves out of the present version; None where each row is a privacy unit."""

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each column: name, type, bounds, step, unit, categories, if it may be NULL, expression."""
        shown = [
            "name",
            "type",
            "lower",
            "upper",
            "step",
            "unit",
            "categories",
            "nullable",
            "expression",
            "description",
        ]
        frame = pd.DataFrame(self.columns)
        return frame[[name for name in shown if name in frame]]

    def __repr__(self) -> str:
        names = ", ".join(f"{column['name']} ({column['type']})" for column in self.columns)
        return "\n".join([f"{self.id}: {self.title}", names, *([] if self.coverage is None else [self.coverage])])

    def _repr_html_(self) -> str:
        from html import escape

        table = self.to_frame().to_html(index=False, border=0, na_rep="")
        left_out = "" if self.coverage is None else f"<div><small>{escape(self.coverage)}</small></div>"
        return f"<div><strong>{escape(self.id)}</strong>: {escape(self.title)}{table}{left_out}</div>"


class Release:
    """A paid answer with its question."""

    def __init__(self, entry: Mapping[str, Any]) -> None:
        self.document = dict(entry)
        self.id: str = entry["id"]
        self.dataset: str = entry["dataset"]
        self.dataset_version: str = entry["datasetVersion"]
        self.kind: str = entry["kind"]
        """Kind of the query, `batch` or `sparseVector`."""
        self.analyst: str = entry["analyst"]
        self.question: dict[str, Any] = entry["question"]
        self.answered_at = pd.Timestamp(entry["answeredAt"])
        self.software_version: str = entry["softwareVersion"]
        self.price = Amount(**entry["price"])
        self.inferred_from: list[str] = entry.get("inferredFrom", [])
        """Ids of the releases that the answer follows from; empty for one with noise of its own."""

    @staticmethod
    def answer_of(document: Mapping[str, Any], question: Mapping[str, Any]) -> Answer | Batch:
        """Return the answer in a stored document.

        Raises:
            ValueError: for a session, whose answers are its questions'.

        """
        question = document.get("question", question)
        if "answers" in document and "result" not in document:
            queries = question.get("queries") or [{} for _ in document["answers"]]
            return Batch(document, queries, replayed=True)
        if "result" not in document:
            raise ValueError("the release is a session; it has no answer of its own")
        return read_answer(document, question, replayed=True)

    @property
    def answer(self) -> Any:
        """The `Answer` of the class that fits its kind, or `Batch`; None for a session."""
        document = self.document["answer"]
        if "answers" not in document and "result" not in document:
            return None
        return self.answer_of(document, self.question)

    def __repr__(self) -> str:
        return f"Release({self.id[:8]}, {self.dataset}, {json.dumps(self.question)}, {self.price})"


class History(Sequence[Release]):
    """Paid releases, newest first."""

    def __init__(self, releases: Sequence[Release]) -> None:
        self.releases = list(releases)

    def __getitem__(self, place: Any) -> Any:
        return self.releases[place]

    def __len__(self) -> int:
        return len(self.releases)

    def __iter__(self) -> Iterator[Release]:
        return iter(self.releases)

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each release: when, what was asked, what it cost, and a single value if it has one."""
        rows = []
        for release in self.releases:
            answer = release.answer
            value, width = None, None
            if isinstance(answer, Answer) and "value" in answer.document["result"]:
                value = answer.to_frame().iloc[0, -2]
                width = answer.half_width
            rows.append(
                {
                    "answered_at": release.answered_at,
                    "dataset": release.dataset,
                    "version": release.dataset_version,
                    "kind": release.kind,
                    "question": json.dumps(release.question, ensure_ascii=False),
                    "value": value,
                    "half_width": width,
                    "epsilon": release.price.epsilon,
                    "delta": release.price.delta,
                    "rho": release.price.rho,
                    "analyst": release.analyst,
                    "id": release.id,
                }
            )
        frame = pd.DataFrame(rows)
        if rows:
            frame["answered_at"] = pd.to_datetime(frame["answered_at"], utc=True)
            unused = ["epsilon", "delta"] if frame["rho"].notna().all() else ["rho"]
            frame = frame.drop(columns=[name for name in unused if frame[name].isna().all()])
        return frame

    def __repr__(self) -> str:
        return f"History of {len(self.releases)} releases\n{self.to_frame()}"

    def _repr_html_(self) -> str:
        return str(self.to_frame().to_html(index=False, border=0, na_rep=""))


class SqlAnswer:
    """Rows that a SELECT statement asks for, and the answer that they are made from."""

    def __init__(self, document: Mapping[str, Any], replayed: bool) -> None:
        self.document = dict(document)
        self.query: dict[str, Any] = document["query"]
        """The same question as JSON of the service: a query, or a batch of several."""
        self.notes: list[str] = document["notes"]
        """Where the answer differs from what a database would compute."""
        answer = document["answer"]
        self.answer: Answer | Batch = (
            Batch(answer, self.query["queries"], replayed)
            if "answers" in answer
            else read_answer(answer, self.query, replayed)
        )
        """The answer in the form of the service."""
        self.price, self.budget_left = self.answer.price, self.answer.budget_left
        self.replayed = replayed

    def to_frame(self) -> pd.DataFrame:
        """Return the rows, with a column for the half-width of each statistic."""
        names = [column["name"] for column in self.document["columns"]]
        frame = pd.DataFrame(self.document["rows"], columns=names)
        for column in self.document["columns"]:
            name, kind, unit = column["name"], column["type"], column.get("unit")
            if kind in ("date", "timestamp"):
                frame[name] = pd.to_datetime(frame[name], utc=kind == "timestamp")
            elif unit in ("days", "seconds"):
                frame[name] = pd.to_timedelta(frame[name], unit="D" if unit == "days" else "s")
            else:
                frame[name] = frame[name].astype(_SQL_DTYPES[kind])
        return frame

    def __repr__(self) -> str:
        return "\n".join([str(self.to_frame()), *(f"({line})" for line in self.answer.lines())])

    def _rows(self) -> list[Row]:
        columns = {column["name"]: column for column in self.document["columns"]}
        widths = {name: column["halfWidthColumn"] for name, column in columns.items() if "halfWidthColumn" in column}
        keys = columns.keys() - widths.keys() - set(widths.values())
        rows = [dict(zip(columns, row, strict=True)) for row in self.document["rows"]]

        first = self.answer[0] if isinstance(self.answer, Batch) else self.answer

        def estimate(row: Mapping[str, Any], name: str) -> Estimate:
            width = widths[name]
            return Estimate.read(row[name], row[width], columns[width].get("unit"), confidence=first.confidence)

        return [
            Row(
                {name: row[name] for name in columns if name in keys},
                {name: estimate(row, name) for name in widths},
            )
            for row in rows
        ]

    def _repr_html_(self) -> str:
        return notebook.answer_html(notebook.table_html(self._rows()), [*self.notes, *self.answer.lines()])


def dummy_frame(rows: Sequence[Mapping[str, Any]], facts: DatasetFacts, seed: str | None) -> pd.DataFrame:
    """Return made-up rows, with the type of each declared column, marked as dummy in `attrs`."""
    columns: dict[str, Any] = {}
    for column in facts.document["columns"]:
        name, kind = column["name"], column["type"]
        values = pd.Series([row.get(name) for row in rows], dtype="object")
        if kind in ("date", "timestamp"):
            columns[name] = pd.to_datetime(values, utc=kind == "timestamp")
        elif kind == "category":
            categories = pd.Index(pd.array(list(column["categories"]), dtype="string"))
            columns[name] = pd.Series(pd.Categorical(values, dtype=pd.CategoricalDtype(categories)))
        else:
            columns[name] = pd.Series(pd.array(values.tolist(), dtype=_DTYPES.get(kind, "string")))
    frame = pd.DataFrame(columns)
    frame.attrs.update(dummy=True, dataset=facts.id, seed=seed)
    return frame


_SQL_DTYPES: dict[str, Any] = {"text": "string", "boolean": "boolean", "integer": "Int64", "number": "Float64"}
_DTYPES: dict[str, Any] = {"integer": "Int64", "number": "Float64", "boolean": "boolean"}

"""Files and data frames of a custodian, drafts of declarations, and registrations."""

from __future__ import annotations

import contextlib
import os
import pathlib
import pprint
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, TypeAlias, cast

import pandas as pd

from .values import show_number

Data: TypeAlias = str | os.PathLike[str] | pd.DataFrame
"""Rows: the path of a CSV or Parquet file, or a data frame."""

Tables: TypeAlias = Data | Mapping[str, Data]
"""Rows, or those of each table of a joined source by its name."""


def data_name(data: Data) -> str:
    """Return the name under which rows are uploaded."""
    return "frame.csv" if isinstance(data, pd.DataFrame) else pathlib.Path(data).name


@contextlib.contextmanager
def opened(data: Data) -> Iterator[BinaryIO]:
    """Open rows as a file. A data frame becomes a temporary CSV file, without its index."""
    if not isinstance(data, pd.DataFrame):
        with pathlib.Path(data).open("rb") as file:
            yield file
        return
    with tempfile.TemporaryFile() as file:
        data.to_csv(file, index=False, mode="wb", encoding="utf-8")
        yield cast("BinaryIO", file)


class Draft:
    """Proposed declaration of a file. What would have to be taken from the data is open, as `TODO`."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = dict(document)
        self.declaration: dict[str, Any] = dict(document["declaration"])
        """The declaration, to be completed from what you know about how the data come about."""
        # It was deleted after the draft. The registration uploads the file again.
        self.declaration["source"] = {
            name: value for name, value in self.declaration["source"].items() if name != "upload"
        }
        self.warning: str = document["warning"]
        """Why values of the data must not be declared."""
        self.questions: dict[str, str] = {part["field"]: part["text"] for part in document["questions"]}
        """What to decide, by the path of its field, such as `columns.2.lower`."""
        self.notes: list[tuple[str, str]] = [(part["field"], part["text"]) for part in document["notes"]]
        """Reasons for what is proposed: paths of fields and texts."""
        self.data_hints: list[tuple[str, str]] = [
            (part["field"], part["text"]) for part in document.get("dataHints", [])
        ]
        """Values of the data, if they were asked. They are not protected: do not publish or declare them."""

    def __repr__(self) -> str:
        remarks = [*self.questions.items(), *self.notes, *((field, f"DATA: {text}") for field, text in self.data_hints)]
        declaration = pprint.pformat(self.declaration, width=110, sort_dicts=False)
        return "\n".join([declaration, *(f"{field}: {text}" for field, text in remarks), f"({self.warning})"])


class Registration:
    """A registered dataset, a published version, or what a dry run found."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = dict(document)
        self.id: str = document["id"]
        self.dry_run: bool = document.get("dryRun", False)
        """True if nothing was published."""
        self.version: str | None = document.get("version")
        """Version of the dataset; None for a dry run."""
        self.counts: dict[str, Any] = document.get("ingestion", {})
        """What the ingestion counted: exact numbers, for custodians only. Do not publish them."""
        self.coverage: str | None = document.get("coverageStatement")
        """What `maxRows` leaves out, in words, if it was measured."""

    def __repr__(self) -> str:
        done = "everything fits; nothing was published" if self.dry_run else f"version {self.version}"
        counted = [
            *((label, self.counts[field]) for field, label in _COUNTS.items() if self.counts.get(field)),
            *((f"values of {part['column']} clamped", part["values"]) for part in self.counts.get("clampedValues", [])),
            *((f"values of {part['column']} unfit", part["values"]) for part in self.counts.get("invalidValues", [])),
        ]
        numbers = ", ".join(f"{show_number(number)} {label}" for label, number in counted if number)
        exact = [f"(exact, for custodians only: {numbers})"] if numbers else []
        return "\n".join([f"{self.id}: {done}", *exact, *([] if self.coverage is None else [self.coverage])])


_COUNTS = {
    "rowsRead": "rows read",
    "rowsWithoutIdentifier": "rows without identifier, left out",
    "rowsBeyondMaxRows": "rows beyond maxRows, left out",
    "rowsStored": "rows stored",
    "people": "people",
}

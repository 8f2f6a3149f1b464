"""Blocks of the pages of documentation."""

from __future__ import annotations

import json
import pathlib
import re
from dataclasses import dataclass
from typing import Any

ROOT = pathlib.Path(__file__).parents[3]


def blocks_of(page: str, language: str) -> list[str]:
    """Return the blocks of a page in a language such as `python` or `json visits`."""
    text = (ROOT / page).read_text()
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def snake(name: str) -> str:
    """Return a name of the service as the client spells it."""
    return re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name)


@dataclass(frozen=True)
class Example:
    """A query on a page of queries."""

    dataset: str
    query: dict[str, Any]

    def __str__(self) -> str:
        return json.dumps(self.query)


def examples() -> list[Example]:
    """Return the queries on the pages of queries, each with a dataset of the tests that has its columns."""
    found = [
        (name, json.loads(block))
        for page, language, name in (
            ("docs/queries.md", "json", "population"),
            ("docs/queries.md", "json visits", "clinic"),
            ("docs/budget.md", "json", "population"),
            ("docs/budget.md", "json visits", "clinic"),
            ("examples/clinic.md", "json visits", "clinic"),
            ("docs/reference/questions.md", "json", "population"),
        )
        for block in blocks_of(page, language)
    ]
    return [Example("mixed" if query["kind"] == "keySelection" else name, query) for name, query in found]

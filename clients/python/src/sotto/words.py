"""Words of the service in problem documents, as Python spells them."""

from __future__ import annotations

import re
from collections.abc import Mapping

_FIELDS: Mapping[str, str] = {
    r"\baccuracy\.(?=halfWidth|confidence)": "",
    r"\baccuracy\b|\bhalfWidth\b": "half_width",
    r"\bedges\b": "bins",
    r"\bfrom\b": "from_",
    r"\bnonNegative\b": "non_negative",
    r"\bperPerson\b": "per_person",
    r"\browsPerGroup\b": "rows_per_group",
    r"\bstandardDeviation\b": "standard_deviation",
}
"""Parts of the paths of fields."""

_RULES: Mapping[str, str] = {
    r'\{"column": ("[^"]*"), "edges": \[\.\.\.\]\}': r"col(\1).bins([...])",
    r'\{"column": ("[^"]*"), "by": ("[^"]*")\}': r"col(\1).by(\2)",
    r'\{"column", "edges"\}': "col(name).bins([...])",
    r'\{"column", "by"\}': 'col(name).by("month")',
    r'\{"kind": "count"\}': "count()",
    r'\{"kind": "proportion", "of"\}': "proportion(of)",
    r'\{"kind": "percentile", "column", "p"\}': "percentile(column, p)",
    r'\{"kind", "column"\} with kind one of (.*), standardDeviation, median, countDistinct': (
        r"\1, standard_deviation, median or count_distinct of a column"
    ),
    r'"supposed": (?=\{)': "supposed=",
    r"(?<![^ ])edges need": "bins need",
    r"\baccuracy is given": "half_width is given",
    r"\bin place of accuracy": "in place of half_width",
    r"\bset counts to true": "set counts=True",
    r"\buse histogram or noisyMax": "use histogram or noisy_max",
}
"""Phrases of rules. None is a single word, because names of columns stand in rules as well."""


def python_field(path: str) -> str:
    """Return the path of a field in the names of Python: `half_width` for `accuracy.halfWidth`."""
    return _spelled(path, _FIELDS)


def python_rule(rule: str) -> str:
    """Return a rule in the names and the syntax of Python."""
    return _spelled(rule, _RULES)


def python_detail(detail: str) -> str:
    """Return the detail of a problem, in which rules follow the paths of their fields, as Python spells them."""
    return python_rule(re.sub(r"(?:^|(?<=[;:] ))[A-Za-z][\w.]*(?=: )", lambda path: python_field(path[0]), detail))


def _spelled(text: str, words: Mapping[str, str]) -> str:
    for pattern, word in words.items():
        text = re.sub(pattern, word, text)
    return text

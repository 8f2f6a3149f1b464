"""Queries and their options, and the groups whose statistics are queries."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, Literal, ParamSpec, TypeAlias, TypedDict, TypeVar, get_type_hints

from .answers import Answer, Table
from .columns import Grouping, Where
from .values import Json, camel, wire

Mechanism: TypeAlias = Literal["geometric", "laplace", "gaussian"]
Subject: TypeAlias = Literal["rows", "people"]
Per: TypeAlias = Literal["sum", "count", "mean"]
Clamp: TypeAlias = tuple[Any, Any] | Mapping[str, Any]
"""Bounds to which values are clamped, within the declared ones, or a range between two edges: `(0, 80)`."""
Use: TypeAlias = Literal["free", "topUp", "fresh"]
"""How answers that you have paid for are used: alone and free, with the missing precision bought, or not at all."""
On: TypeAlias = Literal["data", "dummy"]
"""What answers a query: the data, or made-up rows to practise on, free of charge."""


class Contribution(TypedDict, total=False):
    """Bounds on what each person contributes."""

    rows: int
    groups: int
    rows_per_group: int
    per_person: tuple[float, float] | Mapping[str, float]


class Postprocess(TypedDict, total=False):
    """Post-processing of noisy values, which costs nothing."""

    round: bool
    non_negative: bool


class Supposed(TypedDict, total=False):
    """What you suppose about the data; it changes only the accuracy that is stated before the answer."""

    rows: int
    mean: float
    standard_deviation: float


class Options(TypedDict, total=False):
    """Options of every query."""

    where: Where | None
    epsilon: Any
    half_width: Any
    confidence: Any
    contribution: Contribution | None
    on: On | None
    idempotency_key: str | None


class NoisyOptions(Options, total=False):
    """Options of queries that add noise to sums and counts."""

    mechanism: Mechanism | None
    calibration: Literal["analytic", "classic"] | None
    delta: Any
    postprocess: Postprocess | None
    use: Use | None


class SupposableOptions(NoisyOptions, total=False):
    """Options of queries whose accuracy depends on the data."""

    supposed: Supposed | None


A = TypeVar("A", bound=Answer, covariant=True)
P = ParamSpec("P")
_Q = TypeVar("_Q")

_OF_ALL_GROUPS = frozenset(
    {
        *("where", "epsilon", "accuracy", "contribution", "mechanism", "calibration", "delta"),
        *("postprocess", "supposed", "use"),
    }
)
"""Fields that a query of groups states for all statistics."""


class Query(Generic[A]):
    """A query in the form of the service, and how to send it. Made by `sotto.count(...)` and the like."""

    def __init__(self, kind: str, fields: Mapping[str, Any], options: Mapping[str, Any] | None = None) -> None:
        given = {name: value for name, value in {**fields, **(options or {})}.items() if value is not None}
        self.on: On | None = given.pop("on", None)
        self.idempotency_key: str | None = given.pop("idempotency_key", None)
        self.body: dict[str, Json] = {"kind": kind, **_wire_options(given)}

    @property
    def terms(self) -> dict[str, Json]:
        """Fields without the kind, for requests whose path names it: SQL and sessions."""
        return {name: value for name, value in self.body.items() if name != "kind"}

    def to_wire(self) -> Json:
        """Return the query as JSON of the service."""
        return self.body

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Query) and vars(self) == vars(other)

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"Query({self.body})"


def _wire_options(options: Mapping[str, Any]) -> dict[str, Json]:
    """Return options in the names and the form of the service."""
    body: dict[str, Any] = {}
    accuracy = {}
    for name, value in options.items():
        if name in ("half_width", "confidence"):
            accuracy[camel(name)] = value
        elif name in ("contribution", "postprocess", "supposed"):
            body[name] = {camel(part): given for part, given in value.items()}
        elif name == "clamp":
            body[name] = _clamp(value)
        elif name == "ranges":
            body[name] = [_clamp(each) for each in value]
        else:
            body[camel(name)] = value
    bounds = body.get("contribution", {})
    if "perPerson" in bounds and not isinstance(bounds["perPerson"], Mapping):
        bounds["perPerson"] = _clamp(bounds["perPerson"])
    if accuracy:
        if "halfWidth" not in accuracy:
            raise ValueError("confidence belongs to a half_width; an epsilon gives the accuracy at 95%")
        body["accuracy"] = accuracy
    return {name: wire(value, name) for name, value in body.items()}


def _clamp(bounds: Any) -> dict[str, Any]:
    """Return bounds, or those of several columns by name, as objects."""
    if isinstance(bounds, Mapping):
        is_clamp = (tuple, list, Mapping)
        return {name: _clamp(part) if isinstance(part, is_clamp) else part for name, part in bounds.items()}
    lower, upper = bounds
    return {"lower": lower, "upper": upper}


def shown_signature(function: Callable[..., Any]) -> inspect.Signature:
    """Return a signature that lists the options by name, for help in notebooks."""
    signature = inspect.signature(function)
    parameters = []
    for parameter in signature.parameters.values():
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD:
            parameters.append(parameter)
            continue
        # `Unpack[Name of a TypedDict]`, a text because annotations are not evaluated.
        options = get_type_hints(globals()[str(parameter.annotation)[len("Unpack[") : -1]])
        parameters += [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=hint)
            for name, hint in options.items()
        ]
    return signature.replace(parameters=parameters)


def query_kind(build: Callable[P, _Q]) -> Callable[P, _Q]:
    """Check the names of options and show them in the signature."""
    shown = shown_signature(build)

    @functools.wraps(build)
    def checked(*args: P.args, **options: P.kwargs) -> _Q:
        shown.bind(*args, **options)
        return build(*args, **options)

    checked.__signature__ = shown  # type: ignore[attr-defined]
    return checked


Candidates: TypeAlias = Grouping | Mapping[str, Where]
"""Candidates of a selection: the cells of a column, or conditions by name."""


def candidates_of(candidates: Candidates) -> dict[str, Any]:
    """Return candidates in the form of the service."""
    if isinstance(candidates, Mapping):
        return {"predicates": [{"name": name, "where": where} for name, where in candidates.items()]}
    return {"column": candidates}


def grouping_list(keys: Grouping | Iterable[Grouping]) -> list[Json]:
    """Return one or several columns as a list."""
    if isinstance(keys, str) or hasattr(keys, "to_wire"):
        return [wire(keys)]
    return [wire(key) for key in keys]


class Groups:
    """Groups of rows and the statistics of each: `dataset.group_by("Sex").agg(n=count(), pay=mean("Earnings"))`."""

    def __init__(self, keys: Iterable[Grouping], statistics: Mapping[str, Mapping[str, Json]] | None = None) -> None:
        self.keys = grouping_list(list(keys))
        self.statistics = dict(statistics or {})

    def with_statistics(self, statistics: Mapping[str, Query[Any]]) -> Groups:
        """Return the groups with further statistics under their names.

        Raises:
            ValueError: if a query has options, which belong to the query of all groups.

        """
        added = {}
        for name, query in statistics.items():
            if not isinstance(query, Query):
                raise TypeError(f"{name}: {query!r} is not a statistic such as sotto.mean('Earnings')")
            others = sorted(set(query.body) & _OF_ALL_GROUPS)
            if others or query.on or query.idempotency_key:
                raise ValueError(f"{name}: {', '.join(others) or 'on, idempotency_key'} belongs in run(...)")
            added[name] = query.body
        groups = Groups([], {**self.statistics, **added})
        groups.keys = self.keys
        return groups

    def query(self, options: Mapping[str, Any]) -> tuple[Query[Table], dict[str, str]]:
        """Return the query, and the name of each statistic in the answer by its name here."""
        if not self.statistics:
            raise ValueError("no statistics: add some with .agg(n=sotto.count())")
        distinct: list[Mapping[str, Json]] = []
        for statistic in self.statistics.values():
            if statistic not in distinct:
                distinct.append(statistic)
        proportions = [statistic for statistic in distinct if statistic["kind"] == "proportion"]
        # The names on the wire do not depend on those here, so that renaming a column is still the same question.
        sent = [
            {**statistic, "name": f"proportion{proportions.index(statistic) + 1}"}
            if len(proportions) > 1 and statistic in proportions
            else statistic
            for statistic in distinct
        ]
        names = {name: _name_in_answer(sent[distinct.index(body)]) for name, body in self.statistics.items()}
        return Query("groupBy", {"keys": self.keys, "statistics": sent}, options), names


def _name_in_answer(statistic: Mapping[str, Any]) -> str:
    """Return the name that the service gives a statistic of groups."""
    kind, column = statistic["kind"], statistic.get("column")
    match kind:
        case "count":
            return "count_people" if statistic.get("of") == "people" else "count"
        case "proportion":
            return str(statistic.get("name", "proportion"))
        case "countDistinct" if isinstance(column, Mapping):
            return f"countDistinct_{column['column']}"
        case "percentile":
            return f"percentile_{statistic['p']}_{column}"
        case "mean" if "perPerson" in statistic:
            return f"mean_perPerson_{statistic['perPerson']}_{column}"
        case _:
            return f"{kind}_{column}"

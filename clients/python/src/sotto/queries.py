"""Queries as values: one function for each kind. A dataset answers, previews, groups and batches them."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, Literal, ParamSpec, TypeAlias, TypedDict, TypeVar, get_type_hints

from .answers import Answer, Keys, Percentiles, Regression, Selection, Table, Value
from .columns import ColumnName, Grouping, Where
from .values import Json, camel, wire

if sys.version_info >= (3, 11):
    from typing import Unpack
else:
    from typing_extensions import Unpack

Mechanism: TypeAlias = Literal["geometric", "laplace", "gaussian"]
Subject: TypeAlias = Literal["rows", "people"]
Per: TypeAlias = Literal["sum", "count", "mean"]
On: TypeAlias = Literal["data", "dummy"]
"""What answers a query: the data, or made-up rows to practise on, free of charge."""


class Contribution(TypedDict, total=False):
    """Bounds on what each person contributes."""

    rows: int
    groups: int
    rows_per_group: int
    per_person: tuple[float, float]


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


class SupposableOptions(NoisyOptions, total=False):
    """Options of queries whose accuracy depends on the data."""

    supposed: Supposed | None


A = TypeVar("A", bound=Answer, covariant=True)
P = ParamSpec("P")
_Q = TypeVar("_Q")

STATISTIC_FIELDS = frozenset({"kind", "of", "column", "perPerson", "p", "name"})


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
        else:
            body[camel(name)] = value
    if "perPerson" in (bounds := body.get("contribution", {})):
        lower, upper = bounds["perPerson"]
        bounds["perPerson"] = {"lower": lower, "upper": upper}
    if accuracy:
        if "halfWidth" not in accuracy:
            raise ValueError("confidence belongs to a half_width; an epsilon gives the accuracy at 95%")
        body["accuracy"] = accuracy
    return {name: wire(value, name) for name, value in body.items()}


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


def _query_kind(build: Callable[P, _Q]) -> Callable[P, _Q]:
    """Check the names of options and show them in the signature."""
    shown = shown_signature(build)

    @functools.wraps(build)
    def checked(*args: P.args, **options: P.kwargs) -> _Q:
        shown.bind(*args, **options)
        return build(*args, **options)

    checked.__signature__ = shown  # type: ignore[attr-defined]
    return checked


@_query_kind
def count(of: Subject | None = None, **options: Unpack[NoisyOptions]) -> Query[Value]:
    """Count rows, or people."""
    return Query("count", {"of": of}, options)


@_query_kind
def sum(column: ColumnName, **options: Unpack[NoisyOptions]) -> Query[Value]:
    """Sum a numeric column. NULL counts as 0."""
    return Query("sum", {"column": column}, options)


@_query_kind
def mean(column: ColumnName, per_person: Per | None = None, **options: Unpack[SupposableOptions]) -> Query[Value]:
    """Average a column of numbers, dates or timestamps, or one value per person. NULL is ignored."""
    return Query("mean", {"column": column, "per_person": per_person}, options)


@_query_kind
def variance(column: ColumnName, **options: Unpack[SupposableOptions]) -> Query[Value]:
    """Compute the population variance of a numeric column."""
    return Query("variance", {"column": column}, options)


@_query_kind
def standard_deviation(column: ColumnName, **options: Unpack[SupposableOptions]) -> Query[Value]:
    """Compute the population standard deviation of a numeric column."""
    return Query("standardDeviation", {"column": column}, options)


@_query_kind
def covariance(column: ColumnName, other: ColumnName, **options: Unpack[SupposableOptions]) -> Query[Value]:
    """Compute the population covariance of two columns."""
    return Query("covariance", {"columns": [column, other]}, options)


@_query_kind
def correlation(column: ColumnName, other: ColumnName, **options: Unpack[NoisyOptions]) -> Query[Value]:
    """Compute the Pearson correlation of two columns."""
    return Query("correlation", {"columns": [column, other]}, options)


@_query_kind
def linear_regression(
    outcome: ColumnName,
    predictors: Iterable[ColumnName],
    ridge: Any = None,
    **options: Unpack[NoisyOptions],
) -> Query[Regression]:
    """Explain a column by others, by least squares with an intercept."""
    return Query("linearRegression", {"outcome": outcome, "predictors": list(predictors), "ridge": ridge}, options)


@_query_kind
def proportion(of: Where, **options: Unpack[SupposableOptions]) -> Query[Value]:
    """Compute the share of rows that satisfy `of`, among those that satisfy `where`."""
    return Query("proportion", {"of": of}, options)


@_query_kind
def count_distinct(column: Grouping, **options: Unpack[NoisyOptions]) -> Query[Value]:
    """Count the declared categories, bins or periods that occur, or the values of a selectable text column."""
    return Query("countDistinct", {"column": column}, options)


@_query_kind
def histogram(column: Grouping, of: Subject | None = None, **options: Unpack[NoisyOptions]) -> Query[Table]:
    """Count rows or people in each category, bin or period of a column."""
    return Query("histogram", {"column": column, "of": of}, options)


@_query_kind
def contingency(
    columns: Iterable[Grouping], of: Subject | None = None, **options: Unpack[NoisyOptions]
) -> Query[Table]:
    """Count rows or people in each cell of two or more columns."""
    return Query("contingency", {"columns": list(columns), "of": of}, options)


@_query_kind
def top_groups(
    keys: Grouping | Iterable[Grouping],
    k: int | None = None,
    of: Subject | None = None,
    **options: Unpack[NoisyOptions],
) -> Query[Table]:
    """Find the groups with the largest noisy counts, with these counts."""
    return Query("topGroups", {"keys": grouping_list(keys), "k": k, "of": of}, options)


@_query_kind
def noisy_max(
    candidates: Grouping | Mapping[str, Where],
    k: int | None = None,
    of: Subject | None = None,
    gap: bool | None = None,
    noise: Literal["laplace", "exponential", "gumbel"] | None = None,
    **options: Unpack[Options],
) -> Query[Selection]:
    """Find the category, bin or period of a column, or the named condition, that has the most rows or people."""
    if isinstance(candidates, Mapping):
        among: dict[str, Any] = {"predicates": [{"name": name, "where": where} for name, where in candidates.items()]}
    else:
        among = {"column": candidates}
    return Query("noisyMax", {"candidates": among, "k": k, "of": of, "gap": gap, "noise": noise}, options)


@_query_kind
def median(column: ColumnName, per_person: Per | None = None, **options: Unpack[Options]) -> Query[Value]:
    """Find the median of a column, or of one value per person."""
    return Query("median", {"column": column, "per_person": per_person}, options)


@_query_kind
def percentile(
    column: ColumnName, p: Any, per_person: Per | None = None, **options: Unpack[Options]
) -> Query[Percentiles]:
    """Find one or more percentiles of a column, or of one value per person. `p` is in per cent."""
    return Query("percentile", {"column": column, "p": p, "per_person": per_person}, options)


@_query_kind
def minimum(column: ColumnName, per_person: Per | None = None, **options: Unpack[Options]) -> Query[Value]:
    """Find a low quantile of a column: the true minimum belongs to one person and cannot be released."""
    return Query("minimum", {"column": column, "per_person": per_person}, options)


@_query_kind
def maximum(column: ColumnName, per_person: Per | None = None, **options: Unpack[Options]) -> Query[Value]:
    """Find a high quantile of a column: the true maximum belongs to one person and cannot be released."""
    return Query("maximum", {"column": column, "per_person": per_person}, options)


@_query_kind
def key_selection(
    column: ColumnName, delta: Any, counts: bool | None = None, **options: Unpack[Options]
) -> Query[Keys]:
    """Find the frequent values of a selectable text column, and their noisy counts if asked."""
    return Query("keySelection", {"column": column, "counts": counts, "delta": delta}, options)


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
            others = sorted(set(query.body) - STATISTIC_FIELDS)
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

"""Queries as values: one function for each kind. A dataset answers, previews, groups and batches them."""

# Generated from schemas/answers/query.ts and src/core/planner/kinds by `npm run generate`. Do not edit.

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from .answers import Cumulative, Keys, Marginals, Percentiles, Regression, Selection, Table, Value
from .columns import ColumnName, Grouping, Where
from .query import (
    Candidates,
    Clamp,
    NoisyOptions,
    Options,
    Per,
    Query,
    Subject,
    SupposableOptions,
    candidates_of,
    grouping_list,
    query_kind,
)

if sys.version_info >= (3, 11):
    from typing import Unpack
else:
    from typing_extensions import Unpack

__all__ = [
    "bounds",
    "contingency",
    "contribution_profile",
    "correlation",
    "count",
    "count_distinct",
    "covariance",
    "cumulative_counts",
    "histogram",
    "key_selection",
    "linear_regression",
    "marginals",
    "maximum",
    "mean",
    "median",
    "minimum",
    "noisy_max",
    "percentile",
    "proportion",
    "standard_deviation",
    "sum",
    "top_groups",
    "variance",
]


@query_kind
def count(of: Subject | None = None, **options: Unpack[NoisyOptions]) -> Query[Value]:
    """Number of rows or of people."""
    return Query("count", {"of": of}, options)


@query_kind
def histogram(column: Grouping, of: Subject | None = None, **options: Unpack[NoisyOptions]) -> Query[Table]:
    """Number of rows or of people in each category, bin or period of a column."""
    return Query("histogram", {"column": column, "of": of}, options)


@query_kind
def bounds(column: ColumnName, next_epsilon: Any = None, **options: Unpack[NoisyOptions]) -> Query[Table]:
    """Finds a `clamp` for a next sum or mean.

    Number of rows in each band of a column between powers of two (of steps from the lower bound, for dates and
    timestamps), and clamps that follow from these counts: each with the noise that it leaves, what it cuts off, and the
    share of rows beyond it. NULL values are ignored.
    """
    return Query("bounds", {"column": column, "next_epsilon": next_epsilon}, options)


@query_kind
def contingency(
    columns: Iterable[Grouping], of: Subject | None = None, **options: Unpack[NoisyOptions]
) -> Query[Table]:
    """Number of rows or of people in each cell of the full cross product of two or more columns."""
    return Query("contingency", {"columns": grouping_list(columns), "of": of}, options)


@query_kind
def marginals(
    columns: Iterable[Grouping],
    ways: Any,
    weights: Any = None,
    rho: Any = None,
    delta: Any = None,
    objective: Literal["total", "largest"] | None = None,
    **options: Unpack[Options],
) -> Query[Marginals]:
    """Numbers of rows in all tables of some number of columns, such as every pair, at one price.

    The service measures the tables that say most, and estimates every table from all measurements: the tables agree
    with each other, and all cells of a table have one half-width. Where people have several rows, `contribution` with
    one row counts people.
    """
    return Query(
        "marginals",
        {
            "columns": grouping_list(columns),
            "ways": ways,
            "weights": weights,
            "rho": rho,
            "delta": delta,
            "objective": objective,
        },
        options,
    )


@query_kind
def cumulative_counts(
    column: Grouping,
    of: Subject | None = None,
    p: Any = None,
    ranges: Iterable[Clamp] | None = None,
    delta: Any = None,
    **options: Unpack[Options],
) -> Query[Cumulative]:
    """Number of rows or of people up to each edge, period or value of an ordered column.

    The difference of two counts is the count between them. All follow from measurements that halve the column again and
    again: for many cells their errors are far smaller than those of the cells of a histogram, added up. Rows without a
    value, or outside of the edges, are in no count. With a delta the noise is Gaussian, otherwise Laplace.
    """
    return Query("cumulativeCounts", {"column": column, "of": of, "p": p, "ranges": ranges, "delta": delta}, options)


@query_kind
def mean(
    column: ColumnName, per_person: Per | None = None, clamp: Clamp | None = None, **options: Unpack[SupposableOptions]
) -> Query[Value]:
    """Mean of a column of numbers, dates or timestamps, or of one value per person.

    NULL values are ignored.
    """
    return Query("mean", {"column": column, "per_person": per_person, "clamp": clamp}, options)


@query_kind
def sum(column: ColumnName, clamp: Clamp | None = None, **options: Unpack[NoisyOptions]) -> Query[Value]:
    """Sum of a numeric column.

    NULL counts as 0.
    """
    return Query("sum", {"column": column, "clamp": clamp}, options)


@query_kind
def median(
    column: ColumnName, per_person: Per | None = None, clamp: Clamp | None = None, **options: Unpack[Options]
) -> Query[Value]:
    """Median of a column of numbers, dates or timestamps, or of one value per person; a grid point.

    NULL values are ignored.
    """
    return Query("median", {"column": column, "per_person": per_person, "clamp": clamp}, options)


@query_kind
def percentile(
    column: ColumnName, p: Any, per_person: Per | None = None, clamp: Clamp | None = None, **options: Unpack[Options]
) -> Query[Percentiles]:
    """One or more percentiles of a column of numbers, dates or timestamps, or of one value per person; grid points.

    The epsilon is divided among them.
    """
    return Query("percentile", {"column": column, "p": p, "per_person": per_person, "clamp": clamp}, options)


@query_kind
def minimum(
    column: ColumnName, per_person: Per | None = None, clamp: Clamp | None = None, **options: Unpack[Options]
) -> Query[Value]:
    """Extreme quantile of a column of numbers, dates or timestamps, or of one value per person.

    The true minimum or maximum belongs to one row or person and cannot be released. The answer states the rank from the
    end that it targets.
    """
    return Query("minimum", {"column": column, "per_person": per_person, "clamp": clamp}, options)


@query_kind
def maximum(
    column: ColumnName, per_person: Per | None = None, clamp: Clamp | None = None, **options: Unpack[Options]
) -> Query[Value]:
    """Extreme quantile of a column of numbers, dates or timestamps, or of one value per person.

    The true minimum or maximum belongs to one row or person and cannot be released. The answer states the rank from the
    end that it targets.
    """
    return Query("maximum", {"column": column, "per_person": per_person, "clamp": clamp}, options)


@query_kind
def proportion(of: Where, **options: Unpack[SupposableOptions]) -> Query[Value]:
    """Share of rows that satisfy the predicate `of`."""
    return Query("proportion", {"of": of}, options)


@query_kind
def variance(column: ColumnName, clamp: Clamp | None = None, **options: Unpack[SupposableOptions]) -> Query[Value]:
    """Population variance of a numeric column.

    NULL values are ignored.
    """
    return Query("variance", {"column": column, "clamp": clamp}, options)


@query_kind
def standard_deviation(
    column: ColumnName, clamp: Clamp | None = None, **options: Unpack[SupposableOptions]
) -> Query[Value]:
    """Population standard deviation of a numeric column.

    NULL values are ignored.
    """
    return Query("standardDeviation", {"column": column, "clamp": clamp}, options)


@query_kind
def covariance(
    column: ColumnName,
    other: ColumnName,
    clamp: Mapping[str, Clamp] | None = None,
    **options: Unpack[SupposableOptions],
) -> Query[Value]:
    """Population covariance of two columns.

    Rows where one of them is NULL are ignored. `supposed` takes `rows` only.
    """
    return Query("covariance", {"columns": [column, other], "clamp": clamp}, options)


@query_kind
def correlation(
    column: ColumnName, other: ColumnName, clamp: Mapping[str, Clamp] | None = None, **options: Unpack[NoisyOptions]
) -> Query[Value]:
    """Pearson correlation of two columns, between -1 and 1.

    Rows where one of them is NULL are ignored. If a noisy variance is not positive, the value is 0 and its half-width
    1. Its accuracy depends on the data, so `accuracy` is not supported.
    """
    return Query("correlation", {"columns": [column, other], "clamp": clamp}, options)


@query_kind
def linear_regression(
    outcome: ColumnName,
    predictors: Iterable[ColumnName],
    ridge: Any = None,
    clamp: Mapping[str, Clamp] | None = None,
    **options: Unpack[NoisyOptions],
) -> Query[Regression]:
    """Linear regression by least squares, from noisy sums of products.

    Rows where the outcome or a predictor is NULL are ignored. The half-widths hold for all coefficients together, and
    include the bias of the ridge.
    """
    return Query(
        "linearRegression",
        {"outcome": outcome, "predictors": list(predictors), "ridge": ridge, "clamp": clamp},
        options,
    )


@query_kind
def top_groups(
    keys: Grouping | Iterable[Grouping],
    k: int | None = None,
    of: Subject | None = None,
    **options: Unpack[NoisyOptions],
) -> Query[Table]:
    """The groups with the largest noisy counts, largest first, with these counts.

    One noisy count of each declared group pays for both. The half-width holds for all groups together, selected or not.
    """
    return Query("topGroups", {"keys": grouping_list(keys), "k": k, "of": of}, options)


@query_kind
def noisy_max(
    candidates: Candidates,
    k: int | None = None,
    of: Subject | None = None,
    gap: bool | None = None,
    noise: Literal["laplace", "exponential", "gumbel"] | None = None,
    **options: Unpack[Options],
) -> Query[Selection]:
    """Candidate with the most rows or people, without its count (report noisy max)."""
    return Query(
        "noisyMax", {"candidates": candidates_of(candidates), "k": k, "of": of, "gap": gap, "noise": noise}, options
    )


@query_kind
def count_distinct(column: Grouping, **options: Unpack[NoisyOptions]) -> Query[Value]:
    """Number of declared categories, bins or periods of a column that occur, or of values of a free-text column that is
    declared as `selectable` (only under add-remove neighbours; each person contributes as many values as `contribution`
    allows).

    NULL is not counted.
    """
    return Query("countDistinct", {"column": column}, options)


@query_kind
def key_selection(
    column: ColumnName, delta: Any, counts: bool | None = None, **options: Unpack[Options]
) -> Query[Keys]:
    """Common values of a free-text column that is declared as `selectable` (private key selection).

    Values of few people do not appear. Where people have several rows, each person counts once for each value, and
    `contribution` bounds the number of values of one person.
    """
    return Query("keySelection", {"column": column, "delta": delta, "counts": counts}, options)


@query_kind
def contribution_profile(next_epsilon: Any = None, **options: Unpack[NoisyOptions]) -> Query[Table]:
    """Number of people by the number of their rows that satisfy `where`, also of those rows that `maxRows` leaves out
    of every other answer.

    Cells are `1`, `2`, `3`, `4 to 5`, `6 to 7` and so on, two for each power of two, divided after `maxRows`, up to
    `plausibleRows`. A person is in one cell. The answer recommends `rows` for the `contribution` of a next question.
    Only for datasets whose privacy unit is a person.
    """
    return Query("contributionProfile", {"next_epsilon": next_epsilon}, options)

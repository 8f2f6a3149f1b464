"""Methods of the datasets of both clients that ask a query of each kind."""

# Generated from schemas/answers/query.ts and src/core/planner/kinds by `npm run generate`. Do not edit.

from . import queries
from .methods import asks, asks_async


class Asking:
    """Asks a query of each kind and returns its answer."""

    count = asks(queries.count)
    histogram = asks(queries.histogram)
    bounds = asks(queries.bounds)
    contingency = asks(queries.contingency)
    marginals = asks(queries.marginals)
    cumulative_counts = asks(queries.cumulative_counts)
    mean = asks(queries.mean)
    sum = asks(queries.sum)
    median = asks(queries.median)
    percentile = asks(queries.percentile)
    minimum = asks(queries.minimum)
    maximum = asks(queries.maximum)
    proportion = asks(queries.proportion)
    variance = asks(queries.variance)
    standard_deviation = asks(queries.standard_deviation)
    covariance = asks(queries.covariance)
    correlation = asks(queries.correlation)
    linear_regression = asks(queries.linear_regression)
    top_groups = asks(queries.top_groups)
    noisy_max = asks(queries.noisy_max)
    count_distinct = asks(queries.count_distinct)
    key_selection = asks(queries.key_selection)
    contribution_profile = asks(queries.contribution_profile)


class AsyncAsking:
    """Asks a query of each kind and returns a coroutine of its answer."""

    count = asks_async(queries.count)
    histogram = asks_async(queries.histogram)
    bounds = asks_async(queries.bounds)
    contingency = asks_async(queries.contingency)
    marginals = asks_async(queries.marginals)
    cumulative_counts = asks_async(queries.cumulative_counts)
    mean = asks_async(queries.mean)
    sum = asks_async(queries.sum)
    median = asks_async(queries.median)
    percentile = asks_async(queries.percentile)
    minimum = asks_async(queries.minimum)
    maximum = asks_async(queries.maximum)
    proportion = asks_async(queries.proportion)
    variance = asks_async(queries.variance)
    standard_deviation = asks_async(queries.standard_deviation)
    covariance = asks_async(queries.covariance)
    correlation = asks_async(queries.correlation)
    linear_regression = asks_async(queries.linear_regression)
    top_groups = asks_async(queries.top_groups)
    noisy_max = asks_async(queries.noisy_max)
    count_distinct = asks_async(queries.count_distinct)
    key_selection = asks_async(queries.key_selection)
    contribution_profile = asks_async(queries.contribution_profile)

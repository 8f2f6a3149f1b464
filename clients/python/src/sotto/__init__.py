"""Queries datasets of a Sotto service with differential privacy.

>>> census = sotto.connect("http://127.0.0.1:8080", key=...).dataset("census")
>>> census.count(where=sotto.col("Age") >= 65, epsilon=0.1)
"""

from importlib import metadata

from .aio import AsyncClient, AsyncDataset, connect_async
from .amounts import Amount, Balance, Budget
from .answers import (
    Answer,
    Batch,
    Keys,
    Percentiles,
    Picture,
    Preview,
    Regression,
    Selection,
    SessionAnswer,
    Table,
    Value,
)
from .client import Client, Dataset, connect
from .columns import Cells, Column, Predicate, col
from .estimates import Estimate
from .problems import *  # noqa: F403
from .problems import __all__ as _problems
from .protocol import Retries
from .queries import (
    Query,
    contingency,
    correlation,
    count,
    count_distinct,
    covariance,
    histogram,
    key_selection,
    linear_regression,
    maximum,
    mean,
    median,
    minimum,
    noisy_max,
    percentile,
    proportion,
    standard_deviation,
    sum,
    top_groups,
    variance,
)
from .releases import DatasetFacts, History, Release, SqlAnswer

__version__ = metadata.version("sotto-client")

__all__ = [
    "Amount",
    "Answer",
    "AsyncClient",
    "AsyncDataset",
    "Balance",
    "Batch",
    "Budget",
    "Cells",
    "Client",
    "Column",
    "Dataset",
    "DatasetFacts",
    "Estimate",
    "History",
    "Keys",
    "Percentiles",
    "Picture",
    "Predicate",
    "Preview",
    "Query",
    "Regression",
    "Release",
    "Retries",
    "Selection",
    "SessionAnswer",
    "SqlAnswer",
    "Table",
    "Value",
    "col",
    "connect",
    "connect_async",
    "contingency",
    "correlation",
    "count",
    "count_distinct",
    "covariance",
    "histogram",
    "key_selection",
    "linear_regression",
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
    *_problems,
]

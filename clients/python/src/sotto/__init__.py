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
    Cumulative,
    Keys,
    Marginals,
    Offers,
    Percentiles,
    Picture,
    Plans,
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
from .problem_codes import *  # noqa: F403
from .problem_codes import __all__ as _problem_codes
from .problems import *  # noqa: F403
from .problems import __all__ as _problems
from .progress import Progress, show_progress
from .protocol import Retries
from .queries import *  # noqa: F403
from .queries import __all__ as _queries
from .query import Query
from .registering import Draft, Registration
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
    "Cumulative",
    "Dataset",
    "DatasetFacts",
    "Draft",
    "Estimate",
    "History",
    "Keys",
    "Marginals",
    "Offers",
    "Percentiles",
    "Picture",
    "Plans",
    "Predicate",
    "Preview",
    "Progress",
    "Query",
    "Registration",
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
    "show_progress",
    *_problem_codes,
    *_problems,
    *_queries,
]

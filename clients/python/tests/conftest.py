"""A service to test against, named by SOTTO_URL and the keys of an analyst and a custodian."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

import sotto

CLINIC = {
    "id": "clinic",
    "title": "Visits of 3,000 made-up patients",
    "neighbours": "add-remove",
    "source": {"kind": "visits", "people": 3_000, "rows": 20_000, "seed": "clinic"},
    "privacyUnit": {"kind": "person", "column": "patient_id", "maxRows": 50},
    "budget": {"epsilon": 1_000, "delta": 1e-6},
}
POPULATION = {
    "id": "population",
    "title": "10,000 made-up people",
    "neighbours": "add-remove",
    "source": {"kind": "population", "rows": 10_000, "seed": "python"},
    "privacyUnit": {"kind": "row"},
    "budget": {"epsilon": 1_000, "delta": 1e-3},
}
# Every type of column, each with rows without a value.
MIXED = {
    "id": "mixed",
    "title": "Columns of every type",
    "neighbours": "add-remove",
    "privacyUnit": {"kind": "row"},
    "budget": {"epsilon": 1_000_000, "delta": 1e-3},
    "columns": [
        {"name": "member", "type": "boolean", "nullable": True},
        {"name": "region", "type": "category", "categories": ["north", "south"], "nullable": True},
        {"name": "score", "type": "number", "lower": 0, "upper": 10, "step": 0.5, "nullable": True},
        {
            "name": "seen",
            "type": "timestamp",
            "lower": "2024-01-01T00:00:00Z",
            "upper": "2024-03-31T23:59:00Z",
            "step": 60,
            "nullable": True,
        },
        {"name": "Diagnosis", "type": "string", "nullable": True, "selectable": True},
    ],
}
MIXED_ROWS = (
    "member,region,score,seen,Diagnosis\n"
    + "true,north,2.5,2024-01-10T05:30:00Z,often\n" * 60
    + "false,south,7,2024-02-20T06:00:00Z,often\n" * 30
    + ",,,,\n" * 15
)


@pytest.fixture(scope="session")
def url() -> str:
    address = os.environ.get("SOTTO_URL")
    if address is None:
        pytest.skip("SOTTO_URL, SOTTO_KEY and SOTTO_CUSTODIAN_KEY name no service")
    return address


@pytest.fixture(scope="session")
def custodian(url: str) -> Iterator[httpx.Client]:
    """A client of the service with a custodian's key, with whose help the datasets are registered."""
    headers = {"authorization": f"Bearer {os.environ['SOTTO_CUSTODIAN_KEY']}"}
    with httpx.Client(base_url=url, headers=headers, timeout=120) as client:
        for dataset in (CLINIC, POPULATION):
            client.post("/v1/datasets", json=dataset).raise_for_status()
        if client.get("/v1/datasets/mixed").status_code == 404:
            upload = client.post("/v1/sources", files={"file": ("mixed.csv", MIXED_ROWS, "text/csv")})
            source = {"kind": "upload", "upload": upload.raise_for_status().json()["id"], "format": "csv"}
            client.post("/v1/datasets", json={**MIXED, "source": source}).raise_for_status()
        yield client


@pytest.fixture(scope="session")
def client(url: str, custodian: httpx.Client) -> Iterator[sotto.Client]:
    with sotto.connect(url) as connected:
        yield connected


@pytest.fixture(scope="session")
def population(client: sotto.Client) -> sotto.Dataset:
    return client.dataset("population")


@pytest.fixture(scope="session")
def clinic(client: sotto.Client) -> sotto.Dataset:
    return client.dataset("clinic")


@pytest.fixture(scope="session")
def mixed(client: sotto.Client) -> sotto.Dataset:
    return client.dataset("mixed")


def spent(dataset: sotto.Dataset) -> Any:
    """Return the epsilon that was spent of a dataset's budget."""
    return dataset.budget().spent.epsilon

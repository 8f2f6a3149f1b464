"""Prices and budgets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Amount:
    """Privacy loss: epsilon and delta, or rho where the dataset counts its budget in rho."""

    epsilon: float | None = None
    delta: float | None = None
    rho: float | None = None

    @property
    def is_nothing(self) -> bool:
        """True if no privacy is lost."""
        return not (self.epsilon or self.delta or self.rho)

    def __str__(self) -> str:
        if self.rho is not None:
            return f"rho {self.rho:.6g}"
        delta = f", delta {self.delta:.3g}" if self.delta else ""
        return f"epsilon {self.epsilon:.6g}{delta}"


@dataclass(frozen=True)
class Balance:
    """A budget or an allotment: exactly cap = spent + remaining."""

    cap: Amount
    spent: Amount
    remaining: Amount

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Balance:
        """Read a balance of the service."""
        return cls(*(Amount(**document[part]) for part in ("cap", "spent", "remaining")))

    def __str__(self) -> str:
        return f"{self.remaining} left of {self.cap}"


class Budget:
    """Budget of a dataset and, for an analyst who has one, the allotment."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = dict(document)
        balance = Balance.read(document)
        self.cap, self.spent, self.remaining = balance.cap, balance.spent, balance.remaining
        self.accounting: str = document["accounting"]
        """`basic` or `zcdp`."""
        self.allotment = Balance.read(document["allotment"]) if "allotment" in document else None
        population = document.get("population")
        self.population = None if population is None else Balance.read(population["budget"])
        """Of a dataset in a population: the balance that every cost is debited from, too."""

    def __repr__(self) -> str:
        own = "" if self.allotment is None else f"; your allotment: {self.allotment}"
        shared = "" if self.population is None else f"; its population: {self.population}"
        return f"Budget({self.remaining} left of {self.cap}{own}{shared})"

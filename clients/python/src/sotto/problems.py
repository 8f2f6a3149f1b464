"""Base classes of exceptions, and the exceptions of the connection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from .words import python_detail, python_field, python_rule


class SottoError(Exception):
    """Base class of all exceptions of this package."""


class ConnectionFailed(SottoError):
    """The service could not be reached, or did not answer, and repeats did not help.

    A request may have been charged. The same request sent again finds its stored answer and costs nothing more.
    """


class UnexpectedResponse(SottoError):
    """The address answered, but not as the service does: another server, a proxy, or a redirect."""


class InsecureConnection(UserWarning):
    """The key is sent without encryption to another machine. Use an address with https."""


class Problem(SottoError):
    """A problem document of the service (RFC 9457). Nothing was charged, unless the class says otherwise."""

    code: str = ""
    by_code: ClassVar[dict[str, type[Problem]]] = {}
    """Exceptions of `problem_codes`, by their code."""

    def __init_subclass__(cls, code: str | None = None) -> None:
        if code is not None:
            cls.code = code
            Problem.by_code[code] = cls

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = dict(document)
        """The whole problem document in the words of the service, with further facts such as `cap` and `remaining`."""
        self.code = str(document.get("code", type(self).code))
        self.status = int(document.get("status", 0))
        self.title = str(document.get("title", ""))
        self.detail = python_detail(str(document.get("detail", "")))
        self.errors: list[dict[str, str]] = [
            {**error, "field": python_field(error["field"]), "rule": python_rule(error["rule"])}
            for error in document.get("errors", [])
        ]
        """Fields that violate a rule, as `{"field", "rule"}`, in the words of Python."""
        self.request_id: str | None = document.get("requestId")
        address = str(document.get("type", ""))
        described = f" (see {address})" if address.startswith(("http:", "https:")) else ""
        super().__init__(f"{self.code}: {self.detail}{described}")

    @property
    def field(self) -> str | None:
        """First field at fault, as a dotted path such as `where.predicates.0.value`; None if no field is."""
        return self.errors[0]["field"] if self.errors else None

    @property
    def rule(self) -> str | None:
        """Rule that the first field at fault violates; None if no field is."""
        return self.errors[0]["rule"] if self.errors else None

    def __reduce__(self) -> tuple[type[Problem], tuple[dict[str, Any]]]:
        return type(self), (self.document,)


def problem_from(document: Mapping[str, Any]) -> Problem:
    """Return the exception for a problem document; a `Problem` for a code that this version does not know."""
    return Problem.by_code.get(str(document.get("code")), Problem)(document)


class NotFound(Problem):
    """The service has nothing with this name, or the key may not use it."""


class QueryRefused(Problem):
    """The query cannot be asked of this dataset."""


class BudgetProblem(Problem):
    """A budget or an allotment does not permit the request. `document` has the amounts."""


class TryLater(Problem):
    """The service cannot answer now. The client has repeated the request before it raises this."""


class ServiceFailed(Problem):
    """The service failed."""


class RiskProblem(Problem):
    """A disclosure risk cannot be computed."""


class CustodianProblem(Problem):
    """A registration or another change by a custodian was refused."""


class HttpProblem(Problem):
    """The request is not one that the service takes."""


__all__ = [
    "BudgetProblem",
    "ConnectionFailed",
    "CustodianProblem",
    "HttpProblem",
    "InsecureConnection",
    "NotFound",
    "Problem",
    "QueryRefused",
    "RiskProblem",
    "ServiceFailed",
    "SottoError",
    "TryLater",
    "UnexpectedResponse",
]

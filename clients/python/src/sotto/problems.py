"""Exceptions: one class for each problem code of the service, and those of the connection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar


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

    def __init_subclass__(cls, code: str | None = None) -> None:
        if code is not None:
            cls.code = code
            Problem.by_code[code] = cls

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = dict(document)
        """The whole problem document, with further facts such as `cap` and `remaining`."""
        self.code = str(document.get("code", type(self).code))
        self.status = int(document.get("status", 0))
        self.title = str(document.get("title", ""))
        self.detail = str(document.get("detail", ""))
        self.errors: list[dict[str, str]] = list(document.get("errors", []))
        """Fields that violate a rule, as `{"field", "rule"}`."""
        self.request_id: str | None = document.get("requestId")
        super().__init__(f"{self.code}: {self.detail}")

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


class InvalidRequest(Problem, code="invalid-request"):
    """A field is missing, unknown, of the wrong type or out of range."""


class MalformedJson(Problem, code="malformed-json"):
    """The body is not valid JSON."""


class Unauthenticated(Problem, code="unauthenticated"):
    """The request has no valid API key or access token."""


class Forbidden(Problem, code="forbidden"):
    """The key is valid, but does not permit this call."""


class NotFound(Problem):
    """The service has nothing with this name, or the key may not use it."""


class UnknownDataset(NotFound, code="unknown-dataset"):
    """No dataset has this id, or the key is limited to other datasets."""


class UnknownRelease(NotFound, code="unknown-release"):
    """The key's owner has no release with this id."""


class UnknownSession(NotFound, code="unknown-session"):
    """The key's owner has no session with this id."""


class UnknownSource(NotFound, code="unknown-source"):
    """There is no such upload, or it has expired."""


class UnknownIngestion(NotFound, code="unknown-ingestion"):
    """No ingestion with this id waits or runs."""


class UnknownAnalyst(NotFound, code="unknown-analyst"):
    """No analyst with this name has a valid key."""


class UnknownKey(NotFound, code="unknown-key"):
    """No API key has this id."""


class PathUnknown(NotFound, code="path-unknown"):
    """The service has no such path; it may be older than this package."""


class QueryRefused(Problem):
    """The query cannot be asked of this dataset."""


class QueryDoesNotFit(QueryRefused, code="query-does-not-fit"):
    """The query names a column, category or value that the dataset does not have, or exceeds its limits."""


class MechanismNotApplicable(QueryRefused, code="mechanism-not-applicable"):
    """The mechanism cannot be used for this query."""


class UnsupportedUnderZcdp(QueryRefused, code="unsupported-under-zcdp"):
    """The query has no price in rho, in which the dataset counts its budget."""


class SqlNotSupported(QueryRefused, code="sql-not-supported"):
    """The SQL statement uses a clause that cannot be asked; `rule` names it and says what to write instead."""


class NotSynthetic(QueryRefused, code="not-synthetic"):
    """The call is available only for datasets that are declared synthetic."""


class BudgetProblem(Problem):
    """A budget or an allotment does not permit the request. `document` has the amounts."""


class BudgetInsufficient(BudgetProblem, code="budget-insufficient"):
    """The dataset's budget is too small for this query."""


class AllotmentInsufficient(BudgetProblem, code="allotment-insufficient"):
    """The analyst's allotment is too small for this query."""


class AllotmentBelowSpent(BudgetProblem, code="allotment-below-spent"):
    """The analyst has already spent more than the requested allotment."""


class BudgetSpent(BudgetProblem, code="budget-spent"):
    """Something was spent from the budget, so that its cap cannot be replaced."""


class IdempotencyKeyReused(Problem, code="idempotency-key-reused"):
    """The idempotency key was used for another request."""


class SessionUsedUp(Problem, code="session-used-up"):
    """The session has found all its positives, or has answered all the questions it may."""


class SessionDatasetChanged(Problem, code="session-dataset-changed"):
    """The dataset was withdrawn or registered again after the session was opened."""


class DatasetSuspended(Problem, code="dataset-suspended"):
    """The dataset answers nothing new until its custodian resumes it."""


class TryLater(Problem):
    """The service cannot answer now. The client has repeated the request before it raises this."""


class QueryInFlight(TryLater, code="query-in-flight"):
    """The same query is being answered. Asking again later costs nothing."""


class Unavailable(TryLater, code="unavailable"):
    """The service is stopping, overloaded, or cannot use its ledger. A charge, if any, stays valid for a repeat."""


class RateLimited(TryLater, code="rate-limited"):
    """Too many requests were sent."""


class QuotaExceeded(TryLater, code="quota-exceeded"):
    """A quota of the key is reached."""


class ServiceFailed(Problem):
    """The service failed."""


class QueryFailed(ServiceFailed, code="query-failed"):
    """Charged: the query was charged but could not be completed. A repeat is answered under the same charge.

    The client does not repeat it by itself, because a dataset is suspended after a few such failures.
    """


class QuestionFailed(ServiceFailed, code="question-failed"):
    """A question of a session could not be answered. Nothing more was charged; it can be repeated."""


class InternalError(ServiceFailed, code="internal-error"):
    """The service failed. Its log contains the `request_id`. A repeat of a query uses its charge."""


class RiskProblem(Problem):
    """A disclosure risk cannot be computed."""


class TooManyWorlds(RiskProblem, code="too-many-worlds"):
    """The disclosure risk of this question takes longer to compute than the service allows."""


class RiskBelowPrior(RiskProblem, code="risk-below-prior"):
    """No epsilon achieves the accepted risk."""


class CustodianProblem(Problem):
    """A registration or another change by a custodian was refused."""


class DatasetExists(CustodianProblem, code="dataset-exists"):
    """The id is already registered with another source, declaration or budget."""


class BudgetAccountExists(CustodianProblem, code="budget-account-exists"):
    """The id was registered before, and its budget remains."""


class SourceRegistered(CustodianProblem, code="source-registered"):
    """The source is or was registered under another id."""


class UploadTooLarge(CustodianProblem, code="upload-too-large"):
    """The file is larger than the service accepts."""


class SourceRefused(CustodianProblem, code="source-refused"):
    """The source may not be read, or does not exist."""


class SourceUnreadable(CustodianProblem, code="source-unreadable"):
    """The source is not valid in its format, or could not be read to its end."""


class SourceDoesNotFit(CustodianProblem, code="source-does-not-fit"):
    """The source does not fit its declaration."""


class IngestionTooLong(CustodianProblem, code="ingestion-too-long"):
    """The ingestion reached its time limit."""


class IngestionStopped(CustodianProblem, code="ingestion-stopped"):
    """A custodian stopped the ingestion."""


class DatasetChanged(CustodianProblem, code="dataset-changed"):
    """Another request changed the dataset during the ingestion."""


class KeyNameTaken(CustodianProblem, code="key-name-taken"):
    """The name of the new key belongs to a principal that has or had a key."""


class LastCustodianKey(CustodianProblem, code="last-custodian-key"):
    """No other valid key of a custodian for all datasets exists."""


class HttpProblem(Problem):
    """The request is not one that the service takes."""


class MethodNotAllowed(HttpProblem, code="method-not-allowed"):
    """The path exists, but not with this method."""


class BodyTooLarge(HttpProblem, code="body-too-large"):
    """The body exceeds the limit of the service."""


class MediaTypeUnsupported(HttpProblem, code="media-type-unsupported"):
    """The body is not in a type that the service takes."""


class HttpError(HttpProblem, code="http-error"):
    """The request is not valid HTTP for this service."""


__all__ = [
    "AllotmentBelowSpent",
    "AllotmentInsufficient",
    "BodyTooLarge",
    "BudgetAccountExists",
    "BudgetInsufficient",
    "BudgetProblem",
    "BudgetSpent",
    "ConnectionFailed",
    "CustodianProblem",
    "DatasetChanged",
    "DatasetExists",
    "DatasetSuspended",
    "Forbidden",
    "HttpError",
    "HttpProblem",
    "IdempotencyKeyReused",
    "IngestionStopped",
    "IngestionTooLong",
    "InsecureConnection",
    "InternalError",
    "InvalidRequest",
    "KeyNameTaken",
    "LastCustodianKey",
    "MalformedJson",
    "MechanismNotApplicable",
    "MediaTypeUnsupported",
    "MethodNotAllowed",
    "NotFound",
    "NotSynthetic",
    "PathUnknown",
    "Problem",
    "QueryDoesNotFit",
    "QueryFailed",
    "QueryInFlight",
    "QueryRefused",
    "QuestionFailed",
    "QuotaExceeded",
    "RateLimited",
    "RiskBelowPrior",
    "RiskProblem",
    "ServiceFailed",
    "SessionDatasetChanged",
    "SessionUsedUp",
    "SottoError",
    "SourceDoesNotFit",
    "SourceRefused",
    "SourceRegistered",
    "SourceUnreadable",
    "SqlNotSupported",
    "TooManyWorlds",
    "TryLater",
    "Unauthenticated",
    "Unavailable",
    "UnexpectedResponse",
    "UnknownAnalyst",
    "UnknownDataset",
    "UnknownIngestion",
    "UnknownKey",
    "UnknownRelease",
    "UnknownSession",
    "UnknownSource",
    "UnsupportedUnderZcdp",
    "UploadTooLarge",
]

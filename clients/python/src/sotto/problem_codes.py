"""One exception for each problem code of the service."""

# Generated from src/privacy/problems.ts by `npm run generate`. Do not edit.

from .problems import (
    BudgetProblem,
    CustodianProblem,
    HttpProblem,
    NotFound,
    Problem,
    QueryRefused,
    RiskProblem,
    ServiceFailed,
    TryLater,
)

__all__ = [
    "AllotmentBelowSpent",
    "AllotmentInsufficient",
    "BodyTooLarge",
    "BudgetAccountExists",
    "BudgetInsufficient",
    "BudgetSpent",
    "DatasetChanged",
    "DatasetExists",
    "DatasetSuspended",
    "Forbidden",
    "HttpError",
    "IdempotencyKeyReused",
    "IngestionStopped",
    "IngestionTooLong",
    "InternalError",
    "InvalidRequest",
    "KeyNameTaken",
    "LastCustodianKey",
    "MalformedJson",
    "MechanismNotApplicable",
    "MediaTypeUnsupported",
    "MethodNotAllowed",
    "NotSynthetic",
    "NothingToPublish",
    "PathUnknown",
    "PopulationDoesNotFit",
    "PopulationExists",
    "QueryDoesNotFit",
    "QueryFailed",
    "QueryInFlight",
    "QuestionFailed",
    "QuotaExceeded",
    "RateLimited",
    "RiskBelowPrior",
    "SessionDatasetChanged",
    "SessionUsedUp",
    "SourceDoesNotFit",
    "SourceRefused",
    "SourceRegistered",
    "SourceUnreadable",
    "SqlNotSupported",
    "TooManyWorlds",
    "Unauthenticated",
    "Unavailable",
    "UnknownAnalyst",
    "UnknownDataset",
    "UnknownIngestion",
    "UnknownKey",
    "UnknownPopulation",
    "UnknownRelease",
    "UnknownSession",
    "UnknownSource",
    "UnsupportedUnderZcdp",
    "UploadTooLarge",
]


class InvalidRequest(Problem, code="invalid-request"):
    """A field is missing, unknown, of the wrong type or out of range."""


class MalformedJson(Problem, code="malformed-json"):
    """The body is not valid JSON."""


class Unauthenticated(Problem, code="unauthenticated"):
    """The request has no valid API key or access token."""


class Forbidden(Problem, code="forbidden"):
    """The key or token is valid, but does not permit this call."""


class UnknownDataset(NotFound, code="unknown-dataset"):
    """No dataset has this id, or your key is limited to other datasets."""


class UnknownRelease(NotFound, code="unknown-release"):
    """You have no release with this id."""


class UnknownSession(NotFound, code="unknown-session"):
    """You have no session with this id."""


class DatasetExists(CustodianProblem, code="dataset-exists"):
    """The id is already registered with another source, declaration or budget."""


class BudgetAccountExists(CustodianProblem, code="budget-account-exists"):
    """The id was registered before, and its budget remains."""


class BudgetSpent(BudgetProblem, code="budget-spent"):
    """Something was spent from the budget, so that its cap cannot be replaced."""


class SourceRegistered(CustodianProblem, code="source-registered"):
    """The source is or was registered under another id, or, as real data, under any id."""


class UnknownSource(NotFound, code="unknown-source"):
    """There is no such upload, it has expired, or another principal uploaded it."""


class UploadTooLarge(CustodianProblem, code="upload-too-large"):
    """The file is larger than the service accepts."""


class SourceRefused(CustodianProblem, code="source-refused"):
    """The source may not be read, or does not exist."""


class SourceUnreadable(CustodianProblem, code="source-unreadable"):
    """The source is not valid in its format, or could not be read to its end."""


class SourceDoesNotFit(CustodianProblem, code="source-does-not-fit"):
    """The source does not fit its declaration."""


class UnknownIngestion(NotFound, code="unknown-ingestion"):
    """No ingestion with this id waits or runs."""


class IngestionTooLong(CustodianProblem, code="ingestion-too-long"):
    """The source was not copied and converted within `SOTTO_INGEST_TIMEOUT_MS`."""


class IngestionStopped(CustodianProblem, code="ingestion-stopped"):
    """A custodian stopped the ingestion with `DELETE /v1/ingestions/{ingestion}`."""


class DatasetChanged(CustodianProblem, code="dataset-changed"):
    """Another request registered, changed or withdrew the dataset while its source was ingested."""


class NothingToPublish(CustodianProblem, code="nothing-to-publish"):
    """Queries read the live table itself, and its columns are those of the present version."""


class NotSynthetic(QueryRefused, code="not-synthetic"):
    """The call is available only for datasets that their custodian declared `synthetic`."""


class TooManyWorlds(RiskProblem, code="too-many-worlds"):
    """The disclosure risk of this question takes longer to compute than the service allows."""


class RiskBelowPrior(RiskProblem, code="risk-below-prior"):
    """No epsilon achieves the accepted risk."""


class QueryDoesNotFit(QueryRefused, code="query-does-not-fit"):
    """The query does not fit the columns or the limits of the dataset."""


class SqlNotSupported(QueryRefused, code="sql-not-supported"):
    """The SQL statement has a part that cannot be answered."""


class MechanismNotApplicable(QueryRefused, code="mechanism-not-applicable"):
    """The mechanism cannot be used for this query."""


class UnsupportedUnderZcdp(QueryRefused, code="unsupported-under-zcdp"):
    """The query has no price in rho, in which the dataset counts its budget."""


class BudgetInsufficient(BudgetProblem, code="budget-insufficient"):
    """The budget of the dataset, or of its population, is too small for this query."""


class AllotmentInsufficient(BudgetProblem, code="allotment-insufficient"):
    """The budget suffices, but your allotment does not."""


class AllotmentBelowSpent(BudgetProblem, code="allotment-below-spent"):
    """The analyst has already `spent` more than the requested allotment."""


class UnknownPopulation(NotFound, code="unknown-population"):
    """No population has this id, or you may use none of its datasets."""


class PopulationExists(CustodianProblem, code="population-exists"):
    """A population with this id has another privacy unit, accounting or budget."""


class PopulationDoesNotFit(CustodianProblem, code="population-does-not-fit"):
    """The dataset cannot join the population, or belongs to another one."""


class UnknownAnalyst(NotFound, code="unknown-analyst"):
    """No analyst with this name has a valid key."""


class UnknownKey(NotFound, code="unknown-key"):
    """No API key has this id, or it is not limited to datasets that your own key may use."""


class KeyNameTaken(CustodianProblem, code="key-name-taken"):
    """The name of the new key belongs to a principal that has or had a key."""


class LastCustodianKey(CustodianProblem, code="last-custodian-key"):
    """No other valid key of a custodian for all datasets exists."""


class IdempotencyKeyReused(Problem, code="idempotency-key-reused"):
    """You used this `Idempotency-Key` for another request."""


class QueryInFlight(TryLater, code="query-in-flight"):
    """The same query is being answered right now."""


class DatasetSuspended(Problem, code="dataset-suspended"):
    """The dataset answers nothing new until its custodian resumes it."""


class SessionUsedUp(Problem, code="session-used-up"):
    """The session has found all its positives or has answered 10,000 questions, so it answers no new question."""


class SessionDatasetChanged(Problem, code="session-dataset-changed"):
    """The dataset was withdrawn or registered again after the session was opened."""


class Unavailable(TryLater, code="unavailable"):
    """The service cannot answer now."""


class RateLimited(TryLater, code="rate-limited"):
    """You have sent too many requests with your keys, or your address has sent too many without a valid key."""


class QuotaExceeded(TryLater, code="quota-exceeded"):
    """A quota of the key is reached."""


class QueryFailed(ServiceFailed, code="query-failed"):
    """The query was charged but could not be completed."""


class QuestionFailed(ServiceFailed, code="question-failed"):
    """A question of a session could not be answered."""


class InternalError(ServiceFailed, code="internal-error"):
    """The service failed."""


class PathUnknown(NotFound, code="path-unknown"):
    """The service has no such path."""


class MethodNotAllowed(HttpProblem, code="method-not-allowed"):
    """The path exists, but not with this method."""


class BodyTooLarge(HttpProblem, code="body-too-large"):
    """The body exceeds the limit of the service."""


class MediaTypeUnsupported(HttpProblem, code="media-type-unsupported"):
    """The body is not in a media type that the call takes."""


class HttpError(HttpProblem, code="http-error"):
    """The request is not valid HTTP for this service."""

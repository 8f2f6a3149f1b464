/** A problem that the service reports, as clients and the documentation describe it. */
interface ProblemDescription {
  readonly status: number
  readonly title: string
  /** Group of problems that a client may treat alike. In the Python client it is a base class. */
  readonly family?: ProblemFamily
  /** One sentence, in Markdown. */
  readonly meaning: string
  /** Further facts and what to do, in Markdown: lines are paragraphs or items of a list. */
  readonly details?: string
  /** Page of `docs/`, or a section of one, that says more. */
  readonly see?: string
}

type ProblemFamily =
  | 'not-found'
  | 'query-refused'
  | 'budget-problem'
  | 'try-later'
  | 'service-failed'
  | 'risk-problem'
  | 'custodian-problem'
  | 'http-problem'

/**
 * All problems by their code, which is part of the public interface. `npm run generate` writes `docs/problems.md` and
 * the codes and exceptions of the clients from this table.
 */
export const PROBLEMS = {
  'invalid-request': {
    status: 400,
    title: 'Invalid request',
    meaning: 'A field is missing, unknown, of the wrong type or out of range.',
    details:
      'Or the `Authorization` header was sent twice. `errors` names each field and its rule, twenty at most; of a request ' +
      'with hundreds of parts, only the first error is looked for, and `detail` says so. Numbers must be exactly representable as doubles and have at most the stated number of digits. The service never ' +
      'rounds a number in a request.',
  },
  'malformed-json': {
    status: 400,
    title: 'Malformed JSON',
    meaning: 'The body is not valid JSON.',
    details:
      'It is empty or nested too deeply, repeats a key within an object, contains a forbidden key ' +
      'such as `__proto__`, or contains text that is not valid Unicode.',
  },
  unauthenticated: {
    status: 401,
    title: 'Valid API key or token required',
    meaning: 'The request has no valid API key or access token.',
    details: 'Send `Authorization: Bearer <key>`.',
    see: 'operations.md#keys',
  },
  forbidden: {
    status: 403,
    title: 'Not permitted',
    meaning: 'The key or token is valid, but does not permit this call.',
    details:
      'Its role may not make it, it is limited to some datasets, or a token does not give exactly one ' +
      'role. `detail` states which, or who may make the call.',
    see: 'operations.md#keys',
  },
  'unknown-dataset': {
    status: 404,
    title: 'Unknown dataset',
    family: 'not-found',
    meaning: 'No dataset has this id, or your key is limited to other datasets.',
  },
  'unknown-release': {
    status: 404,
    title: 'Unknown release',
    family: 'not-found',
    meaning: 'You have no release with this id.',
  },
  'unknown-session': {
    status: 404,
    title: 'Unknown session',
    family: 'not-found',
    meaning: 'You have no session with this id.',
  },
  'dataset-exists': {
    status: 409,
    title: 'Dataset already registered',
    family: 'custodian-problem',
    meaning: 'The id is already registered with another source, declaration or budget.',
    details: 'Withdraw the dataset first, or use another id.',
    see: 'reference/refusals.md#while-the-id-is-registered',
  },
  'budget-account-exists': {
    status: 409,
    title: 'A budget already exists for this id',
    family: 'custodian-problem',
    meaning: 'The id was registered before, and its budget remains.',
    details:
      'What was spent of it remains as well. Register with the amount that is granted by now, and with the ' +
      'same accounting, neighbours and privacy unit, for which earlier charges were computed, and with the ' +
      'same `synthetic`. To raise the cap, add a grant afterwards.',
    see: 'reference/refusals.md#after-a-withdrawal-with-the-budget-granted-by-then',
  },
  'budget-spent': {
    status: 409,
    title: 'The budget was spent from',
    family: 'budget-problem',
    meaning: 'Something was spent from the budget, so that its cap cannot be replaced.',
    details: 'A grant can raise it. `cap` and `spent` are part of the problem.',
  },
  'source-registered': {
    status: 409,
    title: 'The source is already registered',
    family: 'custodian-problem',
    meaning: 'The source is or was registered under another id, or, as real data, under any id.',
    details:
      'With `errors` on `synthetic`: real data can never be registered as synthetic. With `errors` on ' +
      '`separateBudget`: two budgets over one source, also through a [view or a partition](connecting.md#one-budget-for-what-a-table-shows), ' +
      'protect the same people with the sum of both. Use the first id, make both part of one population, or state in `separateBudget` why ' +
      'there must be a second budget. The ledger records the reason. A key that is limited to datasets may not do that.',
    see: 'reference/refusals.md#of-any-registration',
  },
  'unknown-source': {
    status: 404,
    title: 'Unknown source',
    family: 'not-found',
    meaning: 'There is no such upload, it has expired, or another principal uploaded it.',
    details: '`GET /v1/sources` lists your uploads.',
  },
  'upload-too-large': {
    status: 413,
    title: 'Upload too large',
    family: 'custodian-problem',
    meaning: 'The file is larger than the service accepts.',
    details:
      'The limit is `SOTTO_UPLOAD_MAX_BYTES`. Nothing was stored. Ask the operator to place the file below ' +
      'the data folder, or to raise the limit.',
    see: 'registering.md#upload-a-file',
  },
  'source-refused': {
    status: 422,
    title: 'Source refused',
    family: 'custodian-problem',
    meaning: 'The source may not be read, or does not exist.',
    details:
      '`source.path` leaves the data folder, passes through a symbolic link, contains characters that are ' +
      "not allowed, does not end in the format's extension, or names no file. Or `source.upload` is not " +
      'one of your uploads, or has expired. Or the connection of a table is not configured, the table does ' +
      'not exist or may not be read, or the role of the connection may change it. Nothing was read.',
    see: 'registering.md#provide-the-file',
  },
  'source-unreadable': {
    status: 422,
    title: 'Source cannot be read',
    family: 'custodian-problem',
    meaning: 'The source is not valid in its format, or could not be read to its end.',
    details:
      'The file is not valid CSV or Parquet, as its `format` says. Or the table could not be read to its ' +
      'end through the connection, or not within its time limit.',
    see: 'registering.md#csv-dialects',
  },
  'source-does-not-fit': {
    status: 422,
    title: 'Source does not fit the declaration',
    family: 'custodian-problem',
    meaning: 'The source does not fit its declaration.',
    details:
      'The file lacks a declared column, or contains a value that does not fit its column where the rule ' +
      'is `"refuse"` (`errors` states for every such column which rule is broken, how often, and in which ' +
      'lines first); or an identifier repeats although the privacy unit is `row`; or a column has more ' +
      'distinct values, or longer ones, than `rankable` or `selectable` allows; or the file has more rows, ' +
      'more bytes when decompressed, or a longer value than `SOTTO_INGEST_MAX_ROWS`, ' +
      '`SOTTO_INGEST_MAX_BYTES` and `SOTTO_INGEST_MAX_VALUE_BYTES` allow. `errors` names the column, never ' +
      'the value.',
    see: 'reference/refusals.md#of-any-registration',
  },
  'unknown-ingestion': {
    status: 404,
    title: 'Unknown ingestion',
    family: 'not-found',
    meaning: 'No ingestion with this id waits or runs.',
    details:
      'It may run in another process, belong to a dataset that the key may not use, or already be in ' +
      'publication. `GET /v1/ingestions` lists those that can be stopped.',
  },
  'ingestion-too-long': {
    status: 422,
    title: 'Ingestion took too long',
    family: 'custodian-problem',
    meaning: 'The source was not copied and converted within `SOTTO_INGEST_TIMEOUT_MS`.',
    details: 'The ingestion was stopped and nothing is left of it.',
  },
  'ingestion-stopped': {
    status: 409,
    title: 'Ingestion stopped',
    family: 'custodian-problem',
    meaning: 'A custodian stopped the ingestion with `DELETE /v1/ingestions/{ingestion}`.',
    details: 'Nothing is left of it.',
  },
  'dataset-changed': {
    status: 409,
    title: 'Dataset changed during the ingestion',
    family: 'custodian-problem',
    meaning: 'Another request registered, changed or withdrew the dataset while its source was ingested.',
    details: 'The ingestion was stopped and nothing is left of it.',
  },
  'nothing-to-publish': {
    status: 409,
    title: 'Nothing to publish',
    family: 'custodian-problem',
    meaning: 'Queries read the live table itself, and its columns are those of the present version.',
    details:
      'Changed rows need no version: the `freshness` of the source says when a repeated question reads them. Publish after the ' +
      'type of a column has changed, or with another declaration.',
    see: 'connecting.md#freshness',
  },
  'not-synthetic': {
    status: 403,
    title: 'Dataset is not synthetic',
    family: 'query-refused',
    meaning: 'The call is available only for datasets that their custodian declared `synthetic`.',
    details:
      'This holds for every role, because the call shows true values, or any number of fresh releases.',
    see: 'registering.md#made-up-people',
  },
  'too-many-worlds': {
    status: 422,
    title: 'Too many possible worlds',
    family: 'risk-problem',
    meaning: 'The disclosure risk of this question takes longer to compute than the service allows.',
    details:
      '`detail` states the limit and the size of the question. The computation did not start. A smaller ' +
      'universe, or a number of released people close to the size of the universe, has fewer possible ' +
      'worlds.',
  },
  'risk-below-prior': {
    status: 422,
    title: 'Risk below the prior',
    family: 'risk-problem',
    meaning: 'No epsilon achieves the accepted risk.',
    details:
      'Without any answer, an adversary is already right more often than that. State a risk above the ' +
      'largest prior: above 1 divided by the number of worlds if all are equally likely.',
  },
  'query-does-not-fit': {
    status: 422,
    title: 'Query does not fit the dataset',
    family: 'query-refused',
    meaning: 'The query does not fit the columns or the limits of the dataset.',
    details:
      'It names a column, category or value that the dataset does not have, uses an operator that the ' +
      "column's type does not support, has more cells than the service allows, or ranks or selects values " +
      'of a column that is not declared as `rankable` or `selectable`, or its epsilon or half-width is ' +
      "beyond the dataset's `queryLimits`. The rule states the limit.",
    see: 'queries.md',
  },
  'sql-not-supported': {
    status: 422,
    title: 'SQL not supported',
    family: 'query-refused',
    meaning: 'The SQL statement has a part that cannot be answered.',
    details:
      'This is a clause, a function or an expression, such as a join or a subquery. `errors` names it and ' +
      'states what to write instead; `line`, `column` and `text` are its place in the statement. ' +
      '[sql.md](sql.md) lists what is supported.',
  },
  'mechanism-not-applicable': {
    status: 422,
    title: 'Mechanism not applicable',
    family: 'query-refused',
    meaning: 'The mechanism cannot be used for this query.',
    details:
      'Such mechanisms are geometric noise on a column of real numbers, Gaussian noise without a delta, or ' +
      'the classic Gaussian calibration with an epsilon above 1, where it adds too little noise (use ' +
      '`analytic`).',
  },
  'unsupported-under-zcdp': {
    status: 422,
    title: 'Query not supported under zcdp accounting',
    family: 'query-refused',
    meaning: 'The query has no price in rho, in which the dataset counts its budget.',
    details:
      'Rho is the parameter of zero-concentrated differential privacy. `keySelection` has no price in it, ' +
      'because it needs a delta of its own.',
  },
  'budget-insufficient': {
    status: 403,
    title: 'Budget insufficient',
    family: 'budget-problem',
    meaning: 'The budget of the dataset, or of its population, is too small for this query.',
    details:
      '`level` states whose budget: `dataset` or `population`. `cap`, `spent`, `remaining` and `price` state the amounts. The ledger records the denial. After a ' +
      'grant you may send the same query again. A denied `Idempotency-Key` stays denied, so use a new key.',
    see: 'queries.md#accuracy-first',
  },
  'allotment-insufficient': {
    status: 403,
    title: 'Allotment insufficient',
    family: 'budget-problem',
    meaning: 'The budget suffices, but your allotment does not.',
    details:
      '`level` states where: on the `dataset` or on its `population`. `cap`, `spent`, `remaining` and `price` refer to your allotment. A custodian can raise it. An ' +
      'analyst without an allotment may spend up to the cap.',
  },
  'allotment-below-spent': {
    status: 409,
    title: 'Allotment below the amount spent',
    family: 'budget-problem',
    meaning: 'The analyst has already `spent` more than the requested allotment.',
    details:
      'Nothing was changed. An allotment with epsilon and delta 0 equals what was spent and permits no ' +
      'further spending.',
  },
  'unknown-population': {
    status: 404,
    title: 'Unknown population',
    family: 'not-found',
    meaning: 'No population has this id, or you may use none of its datasets.',
  },
  'population-exists': {
    status: 409,
    title: 'Population exists',
    family: 'custodian-problem',
    meaning: 'A population with this id has another privacy unit, accounting or budget.',
    details: 'A population is never removed or created again. A grant raises its cap.',
  },
  'population-does-not-fit': {
    status: 409,
    title: 'The dataset does not fit the population',
    family: 'custodian-problem',
    meaning: 'The dataset cannot join the population, or belongs to another one.',
    details:
      '`errors` names the declaration that differs. With `errors` on `population`: no population has this id, the dataset ' +
      'belongs to another one for ever, or what it or an analyst has spent does not fit into what the population has left.',
    see: 'registering.md#one-budget-for-the-same-people',
  },
  'unknown-analyst': {
    status: 404,
    title: 'Unknown analyst',
    family: 'not-found',
    meaning: 'No analyst with this name has a valid key.',
    details: 'Names that begin with `oidc:` are accepted if the service accepts tokens.',
  },
  'unknown-key': {
    status: 404,
    title: 'Unknown key',
    family: 'not-found',
    meaning: 'No API key has this id, or it is not limited to datasets that your own key may use.',
  },
  'key-name-taken': {
    status: 409,
    title: 'Name of a key already in use',
    family: 'custodian-problem',
    meaning: 'The name of the new key belongs to a principal that has or had a key.',
    details:
      'Choose another name. If the key is for the same principal, send `"samePrincipal": true`: the new ' +
      'key then has the same releases, spending and allotments. The role of a name never changes.',
  },
  'last-custodian-key': {
    status: 409,
    title: 'Last key of a custodian',
    family: 'custodian-problem',
    meaning: 'No other valid key of a custodian for all datasets exists.',
    details: 'Create one first, then delete this key.',
  },
  'idempotency-key-reused': {
    status: 422,
    title: 'Idempotency key already used',
    meaning: 'You used this `Idempotency-Key` for another request.',
    details: 'Use a new key.',
  },
  'query-in-flight': {
    status: 409,
    title: 'Same request in progress',
    family: 'try-later',
    meaning: 'The same query is being answered right now.',
    details: 'The response has `Retry-After`. Repeating it later costs nothing.',
  },
  'dataset-suspended': {
    status: 409,
    title: 'Dataset suspended',
    meaning: 'The dataset answers nothing new until its custodian resumes it.',
    details:
      'Failures after charges reached the limit of the dataset, or the columns of its live table have ' +
      'changed, so nothing new is charged, read or asked. Stored answers are still replayed, and a charge ' +
      'without an answer can be repeated afterwards at no further cost. The status is 409 and not 503, ' +
      'because a repeat cannot succeed until the custodian acts.',
    see: 'reference/alerts.md#sottodatasetsuspended',
  },
  'session-used-up': {
    status: 409,
    title: 'Session used up',
    meaning:
      'The session has found all its positives or has answered 10,000 questions, so it answers no new question.',
    details:
      'Repeated questions still return their stored answers, and `GET /v1/sparse-vector-sessions/{id}` ' +
      'lists them. Open another session to continue.',
    see: 'queries.md#sparse-vector-sessions',
  },
  'session-dataset-changed': {
    status: 409,
    title: 'Dataset changed since the session was opened',
    meaning: 'The dataset was withdrawn or registered again after the session was opened.',
    details:
      'A session applies to the registration that it was opened on, and continues on its later versions. ' +
      'Repeated questions still return their stored answers.',
  },
  unavailable: {
    status: 503,
    title: 'Service unavailable',
    family: 'try-later',
    meaning: 'The service cannot answer now.',
    details:
      'The service is stopping, the request took too long or waited too long for its turn, too many ' +
      'requests are waiting, or the ledger, the API keys, the identity provider or the database of a ' +
      'connection cannot be used. Send it again, after `Retry-After` if the response has ' +
      'one. If the request was charged, the repeat is answered under the same charge. A computation ' +
      '(disclosure risk, plot, evaluation, made-up rows) that took too long or too much memory will do so ' +
      'again: send a smaller request.',
    see: 'connecting.md#outages',
  },
  'rate-limited': {
    status: 429,
    title: 'Too many requests',
    family: 'try-later',
    meaning:
      'You have sent too many requests with your keys, or your address has sent too many without a valid key.',
    details:
      '`Retry-After` says when to try again. The headers `RateLimit-Policy` and `RateLimit` state the ' +
      'limit (`q` requests in `w` seconds), the requests that remain (`r`), and the seconds until all of ' +
      'them are available again (`t`). Nothing was charged.',
    see: 'operations.md#memory-queue-and-limits',
  },
  'quota-exceeded': {
    status: 429,
    title: 'Quota exceeded',
    family: 'try-later',
    meaning: 'A quota of the key is reached.',
    details:
      '`detail` states which. Nothing was charged.\n' +
      '- Too many of your requests are under way at the same time. Retry when one of them has been ' +
      'answered.\n' +
      '- The ledger stores as many bytes for you on this dataset as your quota allows. Stored answers are ' +
      'still replayed. Ask for a key with a larger `storedBytesPerDataset`, or for a larger ' +
      '`SOTTO_STORED_BYTES`.\n' +
      '- The budget or your allotment is too small, and 250 denials of yours are recorded on this dataset. ' +
      'No more are recorded, so the `Idempotency-Key` remains unused.',
    see: 'operations.md#memory-queue-and-limits',
  },
  'query-failed': {
    status: 500,
    title: 'Query failed',
    family: 'service-failed',
    meaning: 'The query was charged but could not be completed.',
    details:
      'The response does not say why, because the reason could reveal something about the data. Repeat it ' +
      'with the same `Idempotency-Key`, or the same body without one. The repeat is answered under the ' +
      'same charge. After `failureLimit` such failures the dataset is [suspended](#dataset-suspended).',
  },
  'question-failed': {
    status: 500,
    title: 'Question failed',
    family: 'service-failed',
    meaning: 'A question of a session could not be answered.',
    details:
      'The response does not say why, because the reason could reveal something about the data. Nothing ' +
      'more was charged. Repeat it with the same `Idempotency-Key`, or the same body without one. If an ' +
      'answer was stored, you get it. Otherwise the session is unchanged.',
  },
  'internal-error': {
    status: 500,
    title: 'Internal error',
    family: 'service-failed',
    meaning: 'The service failed.',
    details:
      'The log contains the `requestId`. If the request was a query, repeat it: an existing charge is used.',
  },
  'path-unknown': {
    status: 404,
    title: 'Unknown path',
    family: 'not-found',
    meaning: 'The service has no such path.',
    details: '`/docs` lists all calls.',
  },
  'method-not-allowed': {
    status: 405,
    title: 'Method not allowed',
    family: 'http-problem',
    meaning: 'The path exists, but not with this method.',
    details: 'The `Allow` header lists the methods it accepts.',
  },
  'body-too-large': {
    status: 413,
    title: 'Body too large',
    family: 'http-problem',
    meaning: 'The body exceeds the limit of the service.',
    details: 'The limit is 64 KiB, or 1 MiB for disclosure risk.',
  },
  'media-type-unsupported': {
    status: 415,
    title: 'Unsupported media type',
    family: 'http-problem',
    meaning: 'The body is not in a media type that the call takes.',
    details: 'Send `Content-Type: application/json`.',
  },
  'http-error': {
    status: 400,
    title: 'Invalid HTTP request',
    family: 'http-problem',
    meaning: 'The request is not valid HTTP for this service.',
  },
} as const satisfies Record<string, ProblemDescription>

/** Stable code of a problem. */
export type ProblemCode = keyof typeof PROBLEMS

/** Code of a refusal. The other codes are those of failures of the service and of HTTP errors. */
export type RefusalCode = Exclude<
  ProblemCode,
  | 'query-failed'
  | 'question-failed'
  | 'internal-error'
  | 'path-unknown'
  | 'method-not-allowed'
  | 'body-too-large'
  | 'media-type-unsupported'
  | 'http-error'
>

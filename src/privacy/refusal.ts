/**
 * Codes of all refusals. They are part of the public interface: each has a status and a title in
 * `src/http/problem.ts` and an entry in `docs/problems.md`.
 */
export type RefusalCode =
  | 'invalid-request'
  | 'malformed-json'
  | 'unauthenticated'
  | 'forbidden'
  | 'unknown-dataset'
  | 'unknown-release'
  | 'unknown-session'
  | 'dataset-exists'
  | 'budget-account-exists'
  | 'budget-spent'
  | 'source-registered'
  | 'unknown-source'
  | 'upload-too-large'
  | 'source-refused'
  | 'source-unreadable'
  | 'source-does-not-fit'
  | 'unknown-ingestion'
  | 'ingestion-too-long'
  | 'ingestion-stopped'
  | 'dataset-changed'
  | 'not-synthetic'
  | 'too-many-worlds'
  | 'risk-below-prior'
  | 'query-does-not-fit'
  | 'sql-not-supported'
  | 'mechanism-not-applicable'
  | 'unsupported-under-zcdp'
  | 'budget-insufficient'
  | 'allotment-insufficient'
  | 'allotment-below-spent'
  | 'unknown-analyst'
  | 'unknown-key'
  | 'key-name-taken'
  | 'last-custodian-key'
  | 'idempotency-key-reused'
  | 'query-in-flight'
  | 'dataset-suspended'
  | 'session-used-up'
  | 'session-dataset-changed'
  | 'unavailable'
  | 'rate-limited'
  | 'quota-exceeded'

/** A rule that a field of the request broke. `field` is a dotted path such as `where.predicates.0.value`. */
export interface FieldError {
  readonly field: string
  readonly rule: string
}

/** Public, machine-readable facts of a refusal, such as the cap and the spent amount. */
export type RefusalFacts = Readonly<Record<string, string | number | Readonly<Record<string, number>>>>

/**
 * Refuses a request for a reason that depends only on the request, on public facts and on the ledger, never on data.
 * A refusal costs nothing, and its text may be shown to the caller.
 */
export class Refusal extends Error {
  readonly code: RefusalCode
  readonly errors: readonly FieldError[]
  readonly facts: RefusalFacts

  constructor(
    code: RefusalCode,
    detail: string,
    errors: readonly FieldError[] = [],
    facts: RefusalFacts = {},
  ) {
    super(detail)
    this.name = 'Refusal'
    this.code = code
    this.errors = errors
    this.facts = facts
  }
}

/**
 * Creates the refusal for a dataset that does not exist, or that the caller may not use. The text is the same for both,
 * so that a caller cannot learn which datasets exist beyond their own.
 */
export function unknownDataset(id: string): Refusal {
  return new Refusal(
    'unknown-dataset',
    `There is no dataset ${id}. GET /v1/datasets lists the datasets that you may use.`,
  )
}

/** Creates a refusal caused by one field. The rule is both the detail and the field's error. */
export function refuseField(code: RefusalCode, field: string, rule: string): Refusal {
  return new Refusal(code, `${field}: ${rule}`, [{ field, rule }])
}

/**
 * Runs a task and prefixes the fields of its refusal.
 * @param prefix a dotted path, such as `queries.3`
 */
export function withinField<Result>(prefix: string, task: () => Result): Result {
  try {
    return task()
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const errors = error.errors.map(({ field, rule }) => ({ field: `${prefix}.${field}`, rule }))
    throw new Refusal(error.code, `${prefix}: ${error.message}`, errors, error.facts)
  }
}

import type { RefusalCode } from './problems.ts'

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

/** @throws Refusal `invalid-request` naming the rules that were broken, if there are any. */
export function requireNone(errors: readonly FieldError[]): void {
  if (errors.length === 0) return
  const detail = errors.map(({ field, rule }) => `${field}: ${rule}`).join('; ')
  throw new Refusal('invalid-request', detail, errors)
}

/** Creates the refusal of a query that does not fit its dataset, caused by one field. */
export function refuseQuery(field: string, rule: string): Refusal {
  return refuseField('query-does-not-fit', field, rule)
}

/**
 * Runs a task and prefixes the fields of its refusal.
 * @param prefix a dotted path, such as `queries.3`
 */
export function withinField<Result>(prefix: string, task: () => Result): Result {
  try {
    return task()
  } catch (error) {
    throw prefixed(prefix, error)
  }
}

/** Runs an asynchronous task as {@link withinField} does. */
export async function awaitedWithinField<Result>(
  prefix: string,
  task: () => Promise<Result>,
): Promise<Result> {
  try {
    return await task()
  } catch (error) {
    throw prefixed(prefix, error)
  }
}

function prefixed(prefix: string, error: unknown): unknown {
  return error instanceof Refusal ? refusalWithin(prefix, error) : error
}

/** The same refusal, of a part of a request: its fields are within the prefix. */
export function refusalWithin(prefix: string, error: Refusal): Refusal {
  const errors = error.errors.map(({ field, rule }) => ({ field: `${prefix}.${field}`, rule }))
  return new Refusal(error.code, `${prefix}: ${error.message}`, errors, error.facts)
}

import type { Grouping, Where } from './columns.ts'
import { type Decimal, type Json, wire } from './decimal.ts'
import type { components } from './schema.ts'

type Schemas = components['schemas']

/** Kind of a query, such as `count`. */
export type Kind = Schemas['Query']['kind']
/** Mechanism that adds noise to sums and counts. */
export type Mechanism = 'geometric' | 'laplace' | 'gaussian'

/** Options of a call that do not change its question. */
export interface CallOptions {
  /** Draws a fresh answer to a question that was asked before, for a further charge. Omit it otherwise. */
  readonly idempotencyKey?: string
  /** Ends the call and its repeats. A request that has arrived may still be charged. */
  readonly signal?: AbortSignal
}

/** Options of every query. Each states an `epsilon`, or a `halfWidth` to reach at the lowest cost. */
export interface Options extends CallOptions {
  readonly where?: Where
  readonly epsilon?: Decimal
  readonly halfWidth?: Decimal
  /** Probability with which the half-width must hold. Default: 0.95. */
  readonly confidence?: Decimal
  readonly contribution?: Schemas['Contribution']
}

/** Options of queries that add noise to sums and counts. */
export interface NoisyOptions extends Options {
  readonly mechanism?: Mechanism
  readonly calibration?: 'analytic' | 'classic'
  readonly delta?: Decimal
  readonly postprocess?: { readonly round?: boolean; readonly nonNegative?: boolean }
  /**
   * How answers that you have paid for are used: alone and free of charge (`free`), with the missing precision bought (`topUp`), or
   * not at all (`fresh`). Not in batches.
   */
  readonly use?: NonNullable<Schemas['CountQuery']['use']>
}

/** Options of queries whose accuracy depends on the data. */
export interface SupposableOptions extends NoisyOptions {
  readonly supposed?: Schemas['Suppositions']
}

/** What a query counts. */
export interface Counted {
  /** Default: `rows`. */
  readonly of?: 'rows' | 'people'
}

/** The value of each person, in datasets where people have several rows. */
export interface PerPerson {
  /** What is computed from the rows of a person. Default: every row counts on its own. */
  readonly perPerson?: 'sum' | 'count' | 'mean'
}

/** Bounds to which values are clamped, within the declared ones. */
export interface Clamp {
  readonly lower: number | bigint | string | Date
  readonly upper: number | bigint | string | Date
}

/** Candidates of a selection: the cells of a column, or conditions by name. */
export type Candidates =
  | { readonly column: Grouping }
  | { readonly predicates: Readonly<Record<string, Where>> }

/** A query as JSON of the service, and how to send it. Made by `count(...)` and the like. */
export interface Query<K extends Kind = Kind> extends CallOptions {
  readonly kind: K
  readonly body: { readonly [name: string]: Json }
}

/** Returns the options as fields of a request. */
export function fieldsOf(options: Options): { readonly [name: string]: Json } {
  const { signal: _, idempotencyKey: __, halfWidth, confidence, ...fields } = options
  if (halfWidth === undefined && confidence !== undefined)
    throw new TypeError('confidence belongs to a halfWidth; an epsilon gives the accuracy at 95%')
  return wire({
    ...fields,
    accuracy: halfWidth === undefined ? undefined : { halfWidth, confidence },
  }) as { readonly [name: string]: Json }
}

/** Returns candidates as the service takes them. */
export function candidatesOf(candidates: Candidates): object {
  if ('column' in candidates) return candidates
  return { predicates: Object.entries(candidates.predicates).map(([name, where]) => ({ name, where })) }
}

/** Returns a query of a kind. */
export function query<K extends Kind>(kind: K, fields: object, options: Options): Query<K> {
  const { signal, idempotencyKey } = options
  return {
    kind,
    body: { kind, ...(wire(fields) as object), ...fieldsOf(options) },
    ...(signal === undefined ? {} : { signal }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  }
}

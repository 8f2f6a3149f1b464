/*
 * The recomputation of answers that follow from paid releases. It shares no code with the inference that makes them.
 */

/** What the ledger has on record about an answer that follows from releases. */
export interface InferredCharge {
  /** The releases that its event names; `undefined` for a measurement that was combined with releases, whose event names none. */
  readonly parents: readonly string[] | undefined
  /** The measurements that its request names. */
  readonly inferredFrom: readonly string[]
}

/** The id that an answer states for its own measurement. */
const OWN = 'this'

/** The parts of a stored answer that a recomputation reads. */
interface Document {
  readonly measurement?: string
  readonly integers?: Integers
  readonly answers?: readonly { readonly integers?: Integers }[]
  /** In a batch that was planned together: what was measured, part by part. */
  readonly together?: readonly { readonly measured: readonly { readonly integers: Integers }[] }[]
  readonly inference: {
    readonly releases: readonly { readonly id: string; readonly measurement: string }[]
    readonly estimates: readonly (readonly Estimate[])[]
  }
}

type Integers = readonly (readonly string[])[]

interface Estimate {
  readonly value: number
  readonly denominator: string
  readonly terms: readonly {
    readonly release: number
    readonly statistic: number
    readonly cell: number
    readonly weight: string
  }[]
}

/** The releases that an answer states to follow from, other than itself; none if it cannot be read. */
export function releasesNamedBy(answer: string): readonly string[] {
  try {
    const { inference }: Document = JSON.parse(answer)
    return [...new Set(inference.releases.map(({ id }) => id).filter((id) => id !== OWN))]
  } catch {
    return []
  }
}

/**
 * The reason why an answer does not follow from the stored answers of its releases: it names other releases or measurements than
 * the ledger, or an estimate is not the stated combination of their integers. `undefined` if it follows.
 * @param answers the stored answers of {@link releasesNamedBy}, by id, of the same analyst and dataset
 */
export function reasonAgainstInferred(
  answer: string,
  charge: InferredCharge,
  answers: ReadonlyMap<string, string>,
): string | undefined {
  try {
    const document: Document = JSON.parse(answer)
    return reasonAgainstReleases(document, charge) ?? reasonAgainstEstimates(document, answers)
  } catch {
    return 'the inferred answer or one of its releases cannot be read'
  }
}

function reasonAgainstReleases(
  { inference: { releases } }: Document,
  { parents, inferredFrom }: InferredCharge,
): string | undefined {
  const others = releases.filter(({ id }) => id !== OWN)
  const ids = new Set(others.map(({ id }) => id))
  const named = parents === undefined || isSameSet(ids, new Set(parents))
  if (!named || (parents !== undefined && others.length < releases.length))
    return 'the inferred answer follows from other releases than its event names'
  // A new measurement may make some of the others superfluous.
  const measured = new Set(others.map(({ measurement }) => measurement))
  const asked = new Set(inferredFrom)
  const isAsked = parents === undefined ? isSubset(measured, asked) : isSameSet(measured, asked)
  return isAsked ? undefined : 'the inferred answer follows from other measurements than its request names'
}

function isSubset(some: ReadonlySet<string>, all: ReadonlySet<string>): boolean {
  return [...some].every((each) => all.has(each))
}

function isSameSet(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  return one.size === other.size && isSubset(one, other)
}

function reasonAgainstEstimates(
  document: Document,
  answers: ReadonlyMap<string, string>,
): string | undefined {
  const measured: (Integers | undefined)[] = []
  for (const { id, measurement } of document.inference.releases) {
    const text = id === OWN ? undefined : answers.get(id)
    if (text === undefined && id !== OWN)
      return 'the inferred answer follows from a release that its analyst does not have'
    const integers =
      text === undefined ? document.integers : integersOf(JSON.parse(text) as Document, measurement)
    if (integers === undefined)
      return 'the inferred answer names a measurement that its release does not show'
    measured.push(integers)
  }
  return document.inference.estimates.flat().every((estimate) => isCombination(estimate, measured))
    ? undefined
    : 'an estimate of the inferred answer is not the stated combination of measured integers'
}

/**
 * The integers of a measurement, which is named after the answer that shows it, and in a batch by the place of its answer, or of
 * its table among those of all parts, too.
 */
function integersOf(
  { measurement = '', integers, answers, together }: Document,
  named: string,
): Integers | undefined {
  if (answers === undefined) return named === measurement ? integers : undefined
  const measured: readonly { readonly integers?: Integers }[] =
    together?.flatMap((part) => part.measured) ?? answers
  return measured.find((_, place) => named === `${measurement}.${place}`)?.integers
}

/** Binary digits of a quotient after the point. */
const DIGITS = 80

function isCombination(
  { value, denominator, terms }: Estimate,
  measured: readonly (Integers | undefined)[],
): boolean {
  const sum = terms.reduce(
    // BigInt throws for an integer that is missing.
    (total, { release, statistic, cell, weight }) =>
      total + BigInt(weight) * BigInt(measured[release]?.[statistic]?.[cell] ?? Number.NaN),
    0n,
  )
  const exact = Number((sum << BigInt(DIGITS)) / BigInt(denominator)) / 2 ** DIGITS
  return Math.abs(value - exact) <= 1e-12 * Math.abs(exact) + 1e-18
}

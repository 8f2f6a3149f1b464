import { entry } from '../../privacy/must.ts'
import { greatestCommonDivisor } from '../../privacy/rational.ts'
import type { LinearForm } from './linear-forms.ts'

/*
 * Identities between linear forms, by elimination in integers. An identity holds on all data, whatever multiple of another
 * identity is added to it.
 */

/** Integer factors by places of forms; the sum of the forms times their factors is 0. */
export type Identity = ReadonlyMap<number, bigint>

/** A form that was reduced by others, with the factors that led to it. */
interface Reduced {
  readonly form: Map<number, bigint>
  readonly factors: Map<number, bigint>
}

/** All identities between forms, and those of further forms with them. */
export interface Identities {
  /** A basis of the identities between the forms themselves. */
  readonly between: readonly Identity[]
  /** An identity of another form, whose place is {@link TARGET}, with the forms; `undefined` if there is none. */
  readonly of: (form: LinearForm) => Identity | undefined
}

/** The place of the form that an identity is about. */
export const TARGET = -1

/** Variances that differ by fewer bits are of about the same precision. */
const SAME_PRECISION_BITS = 10

/** A number of steps of elimination that several computations share. A step changes one coefficient. */
export interface Steps {
  left: number
}

/**
 * Finds the identities between forms. Forms whose reduction would exceed the steps take no part, which loses identities and
 * makes none false. The work is bounded in steps and not in time, so that equal requests have equal results.
 *
 * The precise forms come first, so that the identities have little noise in common: each of them is about one form that is less
 * precise than the others in it. Otherwise least squares over the identities would be ill-conditioned. Among forms of about the
 * same precision, those of few unknowns come first: the reduction of nodes of a tree then takes few steps.
 * @param variances of the measured forms
 */
export function identitiesOf(
  forms: readonly LinearForm[],
  variances: readonly number[],
  steps: Steps,
): Identities {
  const pivots: (Reduced & { readonly unknown: number })[] = []
  const orders = new Map<number, number>()
  const between: Identity[] = []
  const reduce = (form: LinearForm, place: number): Reduced | undefined => {
    const reduced = { form: new Map(form), factors: new Map([[place, 1n]]) }
    const needed = new Uint8Array(pivots.length)
    const need = (unknown: number) => {
      const order = orders.get(unknown)
      if (order !== undefined) needed[order] = 1
    }
    for (const unknown of form.keys()) need(unknown)
    // Each pivot is free of those before it, so that one pass in their order is enough.
    for (let order = needed.indexOf(1); order !== -1; order = needed.indexOf(1, order + 1)) {
      if (steps.left < 0) return undefined
      const pivot = entry(pivots, order)
      eliminate(reduced, pivot, pivot.unknown, steps)
      for (const unknown of pivot.form.keys()) need(unknown)
    }
    return reduced
  }
  const magnitude = (place: number) => Math.round(Math.log2(entry(variances, place)) / SAME_PRECISION_BITS)
  const preciseFirst = [...forms.entries()].sort(
    ([a, one], [b, other]) =>
      magnitude(a) - magnitude(b) || one.size - other.size || entry(variances, a) - entry(variances, b),
  )
  for (const [place, form] of preciseFirst) {
    const reduced = form.size === 0 ? undefined : reduce(form, place)
    if (reduced === undefined) continue
    const unknown = pivotOf(reduced.form)
    if (unknown === undefined) between.push(reduced.factors)
    else {
      orders.set(unknown, pivots.length)
      pivots.push({ ...reduced, unknown })
    }
  }
  return {
    between,
    of(form) {
      const reduced = reduce(form, TARGET)
      return reduced?.form.size === 0 ? reduced.factors : undefined
    },
  }
}

/** Subtracts a multiple of a pivot, so that the unknown does not occur any more. */
function eliminate(reduced: Reduced, pivot: Reduced, unknown: number, steps: Steps): void {
  const here = reduced.form.get(unknown)
  const there = pivot.form.get(unknown)
  if (here === undefined || there === undefined) return
  const divisor = greatestCommonDivisor(here, there)
  const [keep, subtract] = [there / divisor, here / divisor]
  for (const part of ['form', 'factors'] as const) {
    const [target, source] = [reduced[part], pivot[part]]
    if (keep !== 1n) for (const [key, value] of target) target.set(key, value * keep)
    for (const [key, value] of source) {
      const before = target.get(key)
      const difference = (before === undefined ? 0n : before) - subtract * value
      if (difference === 0n) target.delete(key)
      else target.set(key, difference)
    }
    steps.left -= source.size + (keep === 1n ? 0 : target.size)
  }
  divideByCommon(reduced)
}

/** Keeps numbers small. */
function divideByCommon({ form, factors }: Reduced): void {
  let divisor = 0n
  for (const part of [factors, form])
    for (const value of part.values()) {
      divisor = greatestCommonDivisor(divisor, value)
      if (divisor === 1n) return
    }
  if (divisor > 1n)
    for (const part of [factors, form]) for (const [key, value] of part) part.set(key, value / divisor)
}

/** The unknown with the smallest coefficient. */
function pivotOf(form: LinearForm): number | undefined {
  let best: number | undefined
  let least: bigint | undefined
  for (const [unknown, coefficient] of form) {
    const size = coefficient < 0n ? -coefficient : coefficient
    if (least !== undefined && size >= least) continue
    best = unknown
    least = size
    if (size === 1n) break
  }
  return best
}

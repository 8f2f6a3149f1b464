import { isGrid, type QueryableColumn } from '../../dataset/dataset.ts'
import type { Comparison } from '../language/formula.ts'

/*
 * Sets of values of one column, NULL among them: the values for which a comparison holds, and exact operations on such
 * sets.
 */

/** Values that one column can have. */
export interface Values {
  /** True if NULL is among them. */
  readonly missing: boolean
  readonly present: Integers | Texts
}

/** Grid indexes, indexes into the list of categories, or 0 and 1 for false and true. */
export interface Integers {
  readonly kind: 'integers'
  /** Both ends included; increasing, with a gap between any two. */
  readonly intervals: readonly Interval[]
}
/** Consecutive integers, both ends included. */
export type Interval = readonly [lowest: bigint, highest: bigint]

/** The listed texts, or all others, of which there are always some. */
export interface Texts {
  readonly kind: 'texts'
  readonly allBut: boolean
  readonly listed: ReadonlySet<string>
}

const NO_INTEGERS: Integers = { kind: 'integers', intervals: [] }
const NO_TEXTS: Texts = { kind: 'texts', allBut: false, listed: new Set() }

/** Values for which a comparison holds; `undefined` if they are not known for certain. */
export function valuesOf(comparison: Comparison, column: QueryableColumn): Values | undefined {
  if (comparison.kind === 'is-null')
    return { missing: column.nullable, present: column.type === 'string' ? NO_TEXTS : NO_INTEGERS }
  const present = presentOf(comparison, column)
  return present === undefined ? undefined : { missing: false, present }
}

function presentOf(
  comparison: Exclude<Comparison, { kind: 'is-null' }>,
  column: QueryableColumn,
): Values['present'] | undefined {
  if (column.type === 'string') {
    if (comparison.kind !== 'string-in') return undefined
    // An engine receives a lone surrogate as U+FFFD, which makes different texts equal.
    if (!comparison.values.every((text) => text.isWellFormed())) return undefined
    return { kind: 'texts', allBut: false, listed: new Set(comparison.values) }
  }
  const [lowest, highest] = domainOf(column)
  const within = (intervals: readonly Interval[]): Integers => ({
    kind: 'integers',
    intervals: common(intervals, [[lowest, highest]]),
  })
  switch (comparison.kind) {
    case 'index-between': {
      const { lower = lowest, upper = highest } = comparison
      if (!isGrid(column)) return undefined
      return within(lower > upper ? [] : [[lower, upper]])
    }
    case 'index-in':
      return isGrid(column) ? within(points(comparison.indexes)) : undefined
    case 'category-in':
      return column.type === 'category' ? within(points(comparison.indexes.map(BigInt))) : undefined
    case 'boolean-is':
      return column.type === 'boolean' ? within(points([comparison.value ? 1n : 0n])) : undefined
    case 'string-in':
      return undefined
  }
}

/** Smallest and largest value that ingestion stores. */
export function domainOf(column: Exclude<QueryableColumn, { type: 'string' }>): Interval {
  switch (column.type) {
    case 'integer':
    case 'number':
    case 'date':
    case 'timestamp':
      return [column.lowerIndex, column.upperIndex]
    case 'category':
      return [0n, BigInt(column.categories.length) - 1n]
    case 'boolean':
      return [0n, 1n]
  }
}

function points(integers: readonly bigint[]): readonly Interval[] {
  return joined(integers.map((integer) => [integer, integer]))
}

/** All other values of the column. */
export function complement({ missing, present }: Values, column: QueryableColumn): Values {
  return { missing: column.nullable && !missing, present: others(present, column) }
}

function others(present: Values['present'], column: QueryableColumn): Values['present'] {
  if (present.kind === 'texts') return { ...present, allBut: !present.allBut }
  if (column.type === 'string') throw new RangeError('a column of texts holds no integers')
  const [lowest, highest] = domainOf(column)
  const gaps: Interval[] = []
  let next = lowest
  for (const [start, end] of present.intervals) {
    if (next < start) gaps.push([next, start - 1n])
    next = end + 1n
  }
  if (next <= highest) gaps.push([next, highest])
  return { kind: 'integers', intervals: gaps }
}

/** True for a set without any value, NULL included. */
export function isEmpty({ missing, present }: Values): boolean {
  if (missing) return false
  return present.kind === 'integers'
    ? present.intervals.length === 0
    : !present.allBut && present.listed.size === 0
}

/** True if a set contains all values of another one. The work grows with the other one, and hardly with the set. */
export function contains(set: Values, { missing, present }: Values): boolean {
  if (missing && !set.missing) return false
  if (present.kind === 'texts' || set.present.kind === 'texts') return containsTexts(set.present, present)
  const { intervals } = set.present
  return present.intervals.every(([start, end]) => {
    const last = lastAtMost(intervals, start)
    return last !== undefined && end <= last[1]
  })
}

function containsTexts(set: Values['present'], part: Values['present']): boolean {
  if (set.kind === 'integers' || part.kind === 'integers')
    throw new RangeError('a column holds integers or texts')
  if (part.allBut)
    return set.allBut && set.listed.size <= part.listed.size && set.listed.isSubsetOf(part.listed)
  return set.allBut ? part.listed.isDisjointFrom(set.listed) : part.listed.isSubsetOf(set.listed)
}

/** The last of increasing intervals that starts at most at an integer, by binary search. */
function lastAtMost(intervals: readonly Interval[], start: bigint): Interval | undefined {
  let [low, high] = [0, intervals.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((intervals[middle]?.[0] ?? start) <= start) low = middle + 1
    else high = middle
  }
  return intervals[low - 1]
}

/**
 * Values that are in both sets of one column.
 * @throws RangeError for sets of columns of different types.
 */
export function commonValues(a: Values, b: Values): Values {
  return { missing: a.missing && b.missing, present: presentInBoth(a.present, b.present) }
}

function presentInBoth(a: Values['present'], b: Values['present']): Values['present'] {
  if (a.kind === 'integers' && b.kind === 'integers')
    return { kind: 'integers', intervals: common(a.intervals, b.intervals) }
  if (a.kind === 'integers' || b.kind === 'integers') throw new RangeError('a column holds integers or texts')
  if (a.allBut && b.allBut) return { kind: 'texts', allBut: true, listed: a.listed.union(b.listed) }
  if (a.allBut) return { kind: 'texts', allBut: false, listed: b.listed.difference(a.listed) }
  if (b.allBut) return { kind: 'texts', allBut: false, listed: a.listed.difference(b.listed) }
  return { kind: 'texts', allBut: false, listed: a.listed.intersection(b.listed) }
}

/**
 * Values that are in any of several sets of one column, in time that is proportional to their size.
 * @throws RangeError for sets of columns of different types.
 */
export function valuesInAny(sets: readonly [Values, ...Values[]]): Values {
  const missing = sets.some((set) => set.missing)
  const present = sets.map((set) => set.present)
  const integers = present.filter((set) => set.kind === 'integers')
  if (integers.length === present.length)
    return {
      missing,
      present: { kind: 'integers', intervals: joined(integers.flatMap((set) => set.intervals)) },
    }
  if (integers.length > 0) throw new RangeError('a column holds integers or texts')
  const texts = present.filter((set) => set.kind === 'texts')
  const listed = new Set(texts.flatMap((set) => (set.allBut ? [] : [...set.listed])))
  const [excluded, ...others] = texts.filter((set) => set.allBut).map((set) => set.listed)
  if (excluded === undefined) return { missing, present: { kind: 'texts', allBut: false, listed } }
  const left = others.reduce((common, next) => common.intersection(next), excluded).difference(listed)
  return { missing, present: { kind: 'texts', allBut: true, listed: left } }
}

/** Intervals in increasing order, with overlapping and adjacent ones joined. */
function joined(intervals: readonly Interval[]): readonly Interval[] {
  const apart: Interval[] = []
  for (const [start, end] of intervals.toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))) {
    const last = apart.at(-1)
    if (last === undefined || start > last[1] + 1n) apart.push([start, end])
    else if (end > last[1]) apart[apart.length - 1] = [last[0], end]
  }
  return apart
}

/** Intersection of two lists of intervals. */
function common(a: readonly Interval[], b: readonly Interval[]): readonly Interval[] {
  const shared: Interval[] = []
  let [here, there] = [0, 0]
  for (;;) {
    const [one, other] = [a[here], b[there]]
    if (one === undefined || other === undefined) return shared
    const start = one[0] > other[0] ? one[0] : other[0]
    const end = one[1] < other[1] ? one[1] : other[1]
    if (start <= end) shared.push([start, end])
    if (one[1] < other[1]) here += 1
    else there += 1
  }
}

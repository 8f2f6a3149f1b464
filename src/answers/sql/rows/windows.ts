import { halfWidthBound } from '../../../core/mechanisms/noise/combined-noise.ts'
import type { WeightedNoise } from '../../../core/mechanisms/noise/weighted-noise.ts'
import { entry, must } from '../../../privacy/must.ts'
import type { Call, Expression, Frame } from '../parsing/statement.ts'
import { numberOf, type Scope } from '../scope.ts'
import { numeric, sameType } from './computed.ts'
import { memoized } from './memoized.ts'
import { comparableOf, type OrderKey, orderBy, orderOf } from './post-processing.ts'
import {
  type Cell,
  type CellType,
  type Computed,
  type Group,
  type Groups,
  isNoisy,
  type Range,
  type Slot,
  type Slots,
  valueIn,
} from './row-values.ts'

/*
 * Window functions over the groups that HAVING keeps. They read released values, so they are post-processing, and free.
 *
 * Where keys decide which groups a window has, and the errors of its values are sums of noises that no two groups share, the
 * half-width of its total is that of all these noises together. Otherwise each of the n values that the largest window has is taken
 * within its half-width at 1/n of the probability that the window may be wrong, and the window lies between what it is of the
 * least and of the greatest values. Where noise decides, by HAVING or ORDER BY, any group may be in the window: n is the number of
 * all groups.
 */

/** The places of the rows of a window in its sorted partition, from the first up to but without the last. */
interface Span {
  readonly from: number
  readonly to: number
}

/** A group in its sorted partition, with the groups that ORDER BY does not tell from it. */
interface Place {
  readonly place: number
  readonly firstPeer: number
  readonly lastPeer: number
  /** The number of groups before it that ORDER BY tells apart. */
  readonly earlier: number
  readonly last: number
}

/** How the values in a window are combined. Except for counts, the result never decreases when a value increases. */
type Combination = 'sum' | 'avg' | 'count' | 'min' | 'max' | 'first' | 'last'

interface WindowFunction {
  readonly combination: Combination
  /** Fewest and most arguments. */
  readonly takes: readonly [fewest: number, most: number]
  /** The window, if it is not the frame. */
  readonly span?: (place: Place, offset: number) => Span
}

const only = (place: number): Span => ({ from: place, to: place + 1 })
const upTo = (place: number): Span => ({ from: 0, to: place + 1 })

const FUNCTIONS: Readonly<Record<string, WindowFunction>> = {
  sum: { combination: 'sum', takes: [1, 1] },
  avg: { combination: 'avg', takes: [1, 1] },
  count: { combination: 'count', takes: [0, 1] },
  min: { combination: 'min', takes: [1, 1] },
  max: { combination: 'max', takes: [1, 1] },
  first_value: { combination: 'first', takes: [1, 1] },
  last_value: { combination: 'last', takes: [1, 1] },
  lag: { combination: 'first', takes: [1, 3], span: ({ place }, offset) => only(place - offset) },
  lead: { combination: 'first', takes: [1, 3], span: ({ place }, offset) => only(place + offset) },
  row_number: { combination: 'count', takes: [0, 0], span: ({ place }) => upTo(place) },
  rank: { combination: 'count', takes: [0, 0], span: ({ firstPeer }) => upTo(firstPeer) },
  dense_rank: { combination: 'count', takes: [0, 0], span: ({ earlier }) => upTo(earlier) },
}

const MOST_OFFSET = 10_000

/** How a window is compiled. */
export interface Windowing {
  readonly slots: Slots
  /** Compiles a value of a group. */
  readonly compile: (part: Expression) => Computed
  /** A text that is the same for equal windows. */
  readonly name: string
  /** True if noise decides which groups HAVING keeps. */
  readonly choosesByNoise: boolean
}

/**
 * Compiles a window function.
 * @throws Refusal `sql-not-supported` for other functions, `query-does-not-fit` for values of other types
 */
export function compileWindow(scope: Scope, call: Call, windowing: Windowing): Computed {
  const { slots, compile, name, choosesByNoise } = windowing
  const { over, arguments: parts, at } = call
  const found = Object.hasOwn(FUNCTIONS, call.name) ? FUNCTIONS[call.name] : undefined
  if (found === undefined || over === undefined) {
    const names = Object.keys(FUNCTIONS).join(', ').toUpperCase()
    throw scope.unsupported(at, `${call.name} is no window function that is supported: they are ${names}.`)
  }
  const [fewest, most] = found.takes
  if (parts.length < fewest || parts.length > most || (call.star && call.name !== 'count'))
    throw scope.unsupported(at, `${call.name} has other arguments.`)
  if (call.distinct || call.filter !== undefined || call.withinGroup !== undefined)
    throw scope.unsupported(at, 'DISTINCT and FILTER belong to an aggregate within the window function.')
  const [value, offset, default_] = parts
  const distance = offset === undefined ? 1 : numberOf(scope, offset, 'the offset')
  if (!Number.isInteger(distance) || Math.abs(distance) > MOST_OFFSET)
    throw scope.unsupported(offset?.at ?? at, `the offset must be a whole number, at most ${MOST_OFFSET}.`)
  const partitionBy = over.partitionBy.map(slots)
  const keys = over.orderBy.map((key) => ({ slot: slots(key.expression), key }))
  const of = value && { slot: slots(value), computed: compile(value) }
  if (value !== undefined && ADDED.includes(found.combination)) numeric(scope, value, compile)
  return windowed({
    combination: found.combination,
    name,
    of,
    instead: of && default_ && sameType(scope, default_, of.computed, compile),
    byNoise: choosesByNoise || [...partitionBy, ...keys.map(({ slot }) => slot)].some(isNoisy),
    partitions: (all) =>
      partitionsOf(all, partitionBy, keys, (place) => spanOf(found, over.frame, place, distance)),
  })
}

const ADDED: readonly Combination[] = ['sum', 'avg']

/** The windows of the groups of a partition. */
interface Partition {
  readonly groups: readonly Group[]
  readonly spans: readonly Span[]
}

interface Window {
  readonly combination: Combination
  readonly name: string
  readonly of: { readonly slot: Slot; readonly computed: Computed } | undefined
  /** The value where a window has no group; default: NULL. */
  readonly instead: Computed | undefined
  /** True if noise decides which groups a window has. */
  readonly byNoise: boolean
  readonly partitions: (all: Groups) => readonly Partition[]
}

/** Divides groups by PARTITION BY, in which NULL is a value like others, and sorts them. */
function partitionsOf(
  { kept }: Groups,
  partitionBy: readonly Slot[],
  keys: readonly OrderKey[],
  spanAt: (place: Place) => Span,
): readonly Partition[] {
  const compare = orderBy(keys)
  const keyOf = (group: Group) => JSON.stringify(partitionBy.map((slot) => valueIn(group, slot)))
  return Array.from(Map.groupBy(kept, keyOf).values(), (part) => {
    const groups = part.toSorted(compare)
    const spans: Span[] = []
    const last = groups.length - 1
    for (let earlier = 0; spans.length <= last; earlier += 1) {
      const firstPeer = spans.length
      let lastPeer = firstPeer
      while (lastPeer < last && compare(entry(groups, firstPeer), entry(groups, lastPeer + 1)) === 0)
        lastPeer += 1
      for (let place = firstPeer; place <= lastPeer; place += 1)
        spans.push(spanAt({ place, firstPeer, lastPeer, earlier, last }))
    }
    return { groups, spans }
  })
}

function spanOf({ span }: WindowFunction, { unit, start, end }: Frame, place: Place, offset: number): Span {
  const [first, final] = unit === 'range' ? [place.firstPeer, place.lastPeer] : [place.place, place.place]
  const { from, to } = span?.(place, offset) ?? {
    from: start === undefined ? 0 : first + start,
    to: (end === undefined ? place.last : final + end) + 1,
  }
  return { from: Math.max(0, from), to: Math.min(place.last + 1, to) }
}

const sizeOf = ({ from, to }: Span) => Math.max(0, to - from)

function windowed(window: Window): Computed {
  const { combination, of, instead, byNoise, name } = window
  const type =
    combination === 'count'
      ? 'integer'
      : ADDED.includes(combination)
        ? 'number'
        : must(of, 'the value of a window').computed.type
  const isExact = !byNoise && (of === undefined || of.computed.noisy.size === 0)
  const partitions = memoized(window.partitions)
  const values = memoized((all: Groups) =>
    perGroup(partitions(all), (groups, spans) => {
      const found = groups.map((group) => (of === undefined ? 1 : of.computed.valueFor(group)))
      return combined(combination, found, of?.computed.type ?? 'integer', spans)
    }),
  )
  const ranges = memoized((all: Groups) =>
    memoized((parts: number) => rangesOf(window, all, partitions(all), values(all), parts)),
  )
  return {
    type,
    noisy: new Set([...(isExact ? [] : [`window ${name}`]), ...(instead?.noisy ?? [])]),
    valueFor: (group) => {
      const value = values(group.all).get(group)
      return value === undefined ? (instead?.valueFor(group) ?? null) : value
    },
    rangeFor: (group, parts) => {
      const value = values(group.all).get(group)
      if (value === undefined) return instead?.rangeFor(group, parts)
      if (!isExact) return ranges(group.all)(parts).get(group)
      return typeof value === 'number' ? { lower: value, upper: value } : undefined
    },
  }
}

/** Computes a result for each group from its partition. */
function perGroup<Result>(
  partitions: readonly Partition[],
  compute: (groups: readonly Group[], spans: readonly Span[]) => readonly Result[],
): ReadonlyMap<Group, Result> {
  return new Map(
    partitions.flatMap(({ groups, spans }) => {
      const results = compute(groups, spans)
      return groups.map((group, place) => [group, results[place] as Result] as const)
    }),
  )
}

/**
 * Combines the values of each window, without NULL. The result is `undefined` for the first or last value of an empty window, and
 * if it depends on an unknown value.
 */
function combined<Value extends Cell | undefined>(
  combination: Combination,
  values: readonly Value[],
  type: CellType,
  spans: readonly Span[],
): readonly (Cell | undefined)[] {
  if (combination === 'min' || combination === 'max') return extremesOf(combination, values, type, spans)
  const results: (Cell | undefined)[] = []
  let [from, to, sum, count, unknown] = [0, 0, 0, 0, 0]
  const add = (place: number) => {
    const value = values[place]
    if (value === undefined) unknown += 1
    if (value === undefined || value === null) return
    count += 1
    sum += Number(value)
  }
  const result = (span: Span): Cell | undefined => {
    switch (combination) {
      case 'first':
        return sizeOf(span) === 0 ? undefined : values[span.from]
      case 'last':
        return sizeOf(span) === 0 ? undefined : values[span.to - 1]
      case 'count':
        return count
      default:
        if (unknown > 0) return undefined
        return count === 0 ? null : combination === 'sum' ? sum + 0 : sum / count + 0
    }
  }
  // Windows that grow are not added up anew: those of the first groups, or, towards the beginning, those of the last.
  const places = spans.keys().toArray()
  if (sizeOf(entry(spans, 0)) > sizeOf(entry(spans, spans.length - 1))) places.reverse()
  for (const place of places) {
    const span = entry(spans, place)
    if (span.from > from || span.to < to || from === to) {
      ;[from, to, sum, count, unknown] = [span.from, span.from, 0, 0, 0]
    }
    for (; from > span.from; from -= 1) add(from - 1)
    for (; to < span.to; to += 1) add(to)
    results[place] = result(span)
  }
  return results
}

/** The least or the greatest values of windows, as {@link combined} returns them. Neither end of them ever moves back. */
function extremesOf<Value extends Cell | undefined>(
  combination: 'min' | 'max',
  values: readonly Value[],
  type: CellType,
  spans: readonly Span[],
): readonly (Cell | undefined)[] {
  const ordered = values.map((value) => comparableOf(value ?? null, type))
  const isBeyond = (place: number, other: number | undefined) => {
    const [left, right] = [ordered[place] ?? null, ordered[other ?? -1] ?? null]
    if (left === null || right === null) return false
    return combination === 'min' ? orderOf(left, right) < 0 : orderOf(left, right) > 0
  }
  /** Places of the values in the window that no later one in it is beyond, from `head` on. */
  const queue: number[] = []
  let [from, to, head, unknown] = [0, 0, 0, 0]
  const enter = (place: number) => {
    if (values[place] === undefined) unknown += 1
    if ((ordered[place] ?? null) === null) return
    while (queue.length > head && isBeyond(place, queue.at(-1))) queue.pop()
    queue.push(place)
  }
  const leave = (place: number) => {
    if (values[place] === undefined) unknown -= 1
    if (queue[head] === place) head += 1
  }
  return spans.map((span) => {
    if (sizeOf(span) === 0) return null
    for (; to < span.to; to += 1) enter(to)
    for (; from < span.from; from += 1) leave(from)
    return unknown > 0 ? undefined : (values[queue[head] ?? -1] ?? null)
  })
}

/** Where the true values of windows lie, if all noisy values are within their half-widths. */
function rangesOf(
  window: Window,
  all: Groups,
  partitions: readonly Partition[],
  values: ReadonlyMap<Group, Cell | undefined>,
  parts: number,
): ReadonlyMap<Group, Range | undefined> {
  const { combination, of, byNoise } = window
  if (combination === 'count' || of === undefined || of.computed.noisy.size === 0) return new Map()
  const { slot, computed } = of
  const isAdded = !byNoise && ADDED.includes(combination)
  const error =
    isAdded && 'measure' in slot && slot.inUnitOfValue
      ? all.kept[0]?.measured[slot.measure]?.error
      : undefined
  const spans = partitions.flatMap((partition) => partition.spans)
  if (error !== undefined) {
    const halfWidths = halfWidthsOf(error, all.alpha / parts, spans)
    return perGroup(partitions, (groups, own) =>
      groups.map((group, place) => {
        const [value, rows] = [values.get(group), sizeOf(entry(own, place))]
        if (typeof value !== 'number') return undefined
        const halfWidth = halfWidths(rows) / (combination === 'avg' ? rows : 1)
        return { lower: value - halfWidth, upper: value + halfWidth }
      }),
    )
  }
  const most = byNoise ? all.declared : spans.reduce((size, span) => Math.max(size, sizeOf(span)), 0)
  return perGroup(partitions, (groups, own) => {
    const found = groups.map((group) => computed.rangeFor(group, parts * most * computed.noisy.size))
    const [lower, upper] = (['lower', 'upper'] as const).map((end) =>
      combined(
        combination,
        found.map((range) => range?.[end]),
        'number',
        own,
      ),
    )
    return groups.map((_, place) => {
      const [least, greatest] = [lower?.[place], upper?.[place]]
      return typeof least === 'number' && typeof greatest === 'number'
        ? { lower: least, upper: greatest }
        : undefined
    })
  })
}

/** Up to this many different sizes of windows, the half-width of each is computed. */
const FEW_SIZES = 16

/**
 * Returns the half-widths of totals by their number of groups. Of many sizes, only every eighth between powers of two is computed,
 * which takes a while: the total of more groups has no smaller half-width.
 */
function halfWidthsOf(
  error: readonly WeightedNoise[],
  alpha: number,
  spans: readonly Span[],
): (rows: number) => number {
  const sizes = new Set(spans.map(sizeOf))
  const halfWidthOf = halfWidthBound(alpha)
  const halfWidthAt = memoized((rows: number) =>
    halfWidthOf(Array.from({ length: rows }, () => error).flat()),
  )
  return (rows) => {
    const step = sizes.size <= FEW_SIZES ? 1 : 2 ** Math.max(0, Math.floor(Math.log2(rows)) - 3)
    return halfWidthAt(Math.ceil(rows / step) * step)
  }
}

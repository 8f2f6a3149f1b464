import { entry } from '../../privacy/must.ts'

/** Number of subsets of `size` of a set of `from` elements. */
export function binomial(from: number, size: number): bigint {
  if (size < 0 || size > from) return 0n
  let subsets = 1n
  for (let taken = 1; taken <= Math.min(size, from - size); taken += 1)
    subsets = (subsets * BigInt(from + 1 - taken)) / BigInt(taken)
  return subsets
}

/** C(first, size), C(first + 1, size), ... up to C(last, size), in doubles; each is at most 1e300. */
export function binomialsOf(size: number, first: number, last: number): Float64Array {
  const subsets = new Float64Array(Math.max(0, last - first + 1))
  let exact = binomial(first, size)
  for (let from = first; from <= last; from += 1) {
    subsets[from - first] = Number(exact)
    exact = from + 1 > size ? (exact * BigInt(from + 1)) / BigInt(from + 1 - size) : binomial(from + 1, size)
  }
  return subsets
}

/** Callbacks of an enumeration of subsets. */
export interface SubsetVisitor {
  readonly take: (item: number) => void
  readonly putBack: (item: number) => void
  /** Called with all items of one subset taken. */
  readonly visit: () => void
}

/** Visits every subset of a size, in lexicographic order of the positions of its items. */
export function forEachSubset(
  items: readonly number[],
  size: number,
  { take, putBack, visit }: SubsetVisitor,
): void {
  const walk = (first: number, left: number): void => {
    if (left === 0) {
      visit()
      return
    }
    for (let place = first; place <= items.length - left; place += 1) {
      const item = entry(items, place)
      take(item)
      walk(place + 1, left - 1)
      putBack(item)
    }
  }
  walk(0, size)
}

/** 0, 1, ..., length - 1. */
export function positionsUpTo(length: number): readonly number[] {
  return Array.from({ length }, (_, position) => position)
}

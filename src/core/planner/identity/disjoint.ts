import { entry } from '../../../privacy/must.ts'
import type { Dataset, QueryableColumn } from '../../dataset/dataset.ts'
import type { Predicate } from '../language/aggregate.ts'
import { columnNamed } from '../language/columns.ts'
import { commonValues, complement, isEmpty, type Values, valuesInAny, valuesOf } from './column-values.ts'

/**
 * Subject of a proof of disjointness. `rows`: no row satisfies both predicates. `units`: no privacy unit has a row that
 * satisfies one and a row that satisfies the other. Where each row is a unit, these are the same.
 */
export type Disjoint = 'rows' | 'units'

/**
 * Tests each pair of predicates, by their places: true if no row (or no privacy unit) that the dataset can hold
 * satisfies both; `undefined` is satisfied by every row. `true` is proved
 * (src/core/planner/identity/parallel-composition.md); `false` may only mean that no proof was found. The work is bounded
 * for all of them together, in steps and not in time, so that the same request always has the same price.
 */
export function disjointness(
  predicates: readonly (Predicate | undefined)[],
  dataset: Dataset,
  subject: Disjoint = 'units',
): (one: number, other: number) => boolean {
  const search: Search = { dataset, subject, stepsLeft: MOST_STEPS }
  const regions = predicates.map((predicate) =>
    predicate === undefined ? EVERYWHERE : regionOf(predicate, true, search),
  )
  const found = regions.map((region, place) =>
    regions.slice(0, place + 1).map((before) => sharesNothing(before, region, search)),
  )
  return (one, other) => found[Math.max(one, other)]?.[Math.min(one, other)] ?? false
}

/**
 * A superset of the rows for which a predicate holds (of units, those with such a row): a union of boxes. A box
 * restricts some columns to some of their values, at least one; every other column may have any value.
 */
type Region = readonly Box[]
type Box = ReadonlyMap<string, Values>

/** State of a search for proofs. */
interface Search {
  readonly dataset: Dataset
  readonly subject: Disjoint
  /** Steps that remain. A step examines a column, an interval or a text. */
  stepsLeft: number
}

/** Largest number of boxes of a region. A region with more is replaced by a superset with fewer. */
const MOST_BOXES = 64
/** Largest number of steps of one search: about a fifth of a second. */
const MOST_STEPS = 4_000_000

const EVERYWHERE: Region = [new Map()]

/** A superset of the rows for which a predicate holds, or for which it does not hold. */
function regionOf(predicate: Predicate, holds: boolean, search: Search): Region {
  switch (predicate.kind) {
    case 'and':
    case 'or': {
      const regions = predicate.predicates.map((operand) => regionOf(operand, holds, search))
      // Negation turns one into the other (De Morgan). Predicates are two-valued, so this holds for NULL as well.
      return (predicate.kind === 'and') === holds ? intersection(regions, search) : union(regions, search)
    }
    case 'not':
      return regionOf(predicate.predicate, !holds, search)
    default: {
      const column = columnNamed(search.dataset, predicate.column)
      if (column === undefined || !isEvidence(column, search)) return EVERYWHERE
      const values = valuesOf(predicate, column)
      if (values === undefined) return EVERYWHERE
      return boxOf(column.name, holds ? values : complement(values, column))
    }
  }
}

/**
 * True for a column whose values can separate predicates. Two rows of one person can differ in every column but those
 * that are constant per person, so a comparison on another column may hold for one row and its negation for another.
 */
function isEvidence(column: QueryableColumn, { dataset, subject }: Search): boolean {
  if (subject === 'rows' || dataset.privacyUnit.kind === 'row') return true
  return column.constantPerPerson === true
}

function boxOf(column: string, values: Values): Region {
  return isEmpty(values) ? [] : [new Map([[column, values]])]
}

/*
 * Every function below may return a superset of its exact result, never less.
 */

function intersection(regions: readonly Region[], search: Search): Region {
  // The fewest boxes first, because the boxes that they exclude are then not multiplied.
  const ordered = regions.toSorted((a, b) => a.length - b.length)
  return ordered.reduce((whole, next) => product(whole, next, search), EVERYWHERE)
}

function product(region: Region, next: Region, search: Search): Region {
  const boxes: Box[] = []
  for (const box of region) {
    for (const other of next) {
      if (search.stepsLeft <= 0) return region
      const both = commonBox(box, other, search)
      if (both !== undefined) boxes.push(both)
    }
  }
  return boxes.length > MOST_BOXES ? product(region, [hull(next, search)], search) : boxes
}

function union(regions: readonly Region[], search: Search): Region {
  const boxes: Box[] = []
  // Boxes that restrict the same single column become one box.
  const single = new Map<string, Values>()
  for (const box of regions.flat()) {
    const [only, ...others] = box
    if (only === undefined) return EVERYWHERE
    if (search.stepsLeft <= 0) return EVERYWHERE
    if (others.length > 0) boxes.push(box)
    else {
      const [column, values] = only
      const known = single.get(column)
      single.set(column, known === undefined ? values : either(known, values, search))
    }
  }
  const all = [...boxes, ...[...single].map((one) => new Map([one]))]
  return all.length > MOST_BOXES ? [hull(all, search)] : all
}

/** Smallest box around a region. */
function hull(region: Region, search: Search): Box {
  const around = new Map(entry(region, 0))
  for (const box of region.slice(1)) {
    for (const [column, values] of around) {
      const more = box.get(column)
      if (more === undefined || search.stepsLeft <= 0) around.delete(column)
      else around.set(column, either(values, more, search))
    }
  }
  return around
}

function sharesNothing(a: Region, b: Region, search: Search): boolean {
  for (const box of a) {
    for (const other of b) {
      if (search.stepsLeft <= 0 || commonBox(box, other, search) !== undefined) return false
    }
  }
  return true
}

function commonBox(a: Box, b: Box, search: Search): Box | undefined {
  search.stepsLeft -= 1 + a.size + b.size
  const shared = new Map(a)
  for (const [column, values] of b) {
    const others = a.get(column)
    const both = others === undefined ? values : overlap(others, values, search)
    if (isEmpty(both)) return undefined
    shared.set(column, both)
  }
  return shared
}

/** Values in both. */
function overlap(a: Values, b: Values, search: Search): Values {
  takeSteps(a, b, search)
  return commonValues(a, b)
}

/** Values in either. */
function either(a: Values, b: Values, search: Search): Values {
  takeSteps(a, b, search)
  return valuesInAny([a, b])
}

function takeSteps(a: Values, b: Values, search: Search): void {
  for (const { present } of [a, b])
    search.stepsLeft -= 1 + (present.kind === 'integers' ? present.intervals.length : present.listed.size)
}

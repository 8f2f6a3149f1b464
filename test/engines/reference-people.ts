import type { Bounding, Clamp, PersonValue } from '../../src/core/planner/language/aggregate.ts'
import type { StoredRow } from './reference-engine.ts'

/*
 * The reference engine's operations on people, by their definitions: bounding of each person's rows, and one value for
 * each person.
 */

/** Column of a stored row that holds the person, and the one that holds the row's place among that person's rows. */
export const PERSON = 'sotto_person'
export const RANK = 'sotto_rank'

/** A row that is in a cell. For counts of values, each value is a cell. */
export interface PlacedRow<Cell> {
  readonly row: StoredRow
  readonly cell: Cell
}

/** The rows that bounding leaves. The choice among a person's rows uses their ranks and cells only. */
export function boundedRows<Cell>(
  bounding: Bounding,
  placed: readonly PlacedRow<Cell>[],
): readonly PlacedRow<Cell>[] {
  if (bounding.kind === 'one-row-each') return placed
  return byPerson(placed, ({ row }) => row).flatMap((own) => {
    const ranked = own.toSorted((a, b) => rankOf(a.row) - rankOf(b.row))
    if (bounding.kind === 'rows') return ranked.slice(0, bounding.rows)
    // A map keeps the order of insertion: the cell with the lowest rank is first.
    const cells = new Map<Cell, PlacedRow<Cell>[]>()
    for (const each of ranked) cells.set(each.cell, [...(cells.get(each.cell) ?? []), each])
    return [...cells.values()]
      .slice(0, bounding.groups)
      .flatMap((inCell) => inCell.slice(0, bounding.rowsPerGroup))
  })
}

/** Groups items by person. */
export function byPerson<Thing>(things: readonly Thing[], rowOf: (thing: Thing) => StoredRow): Thing[][] {
  const people = new Map<number, Thing[]>()
  for (const thing of things) {
    const person = Number(rowOf(thing)[PERSON])
    people.set(person, [...(people.get(person) ?? []), thing])
  }
  return [...people.values()]
}

/** An index clamped to bounds, if there are any. */
export function clampedIndex(index: bigint, clamp: Clamp | undefined): bigint {
  if (clamp === undefined) return index
  return index < clamp.lower ? clamp.lower : index > clamp.upper ? clamp.upper : index
}

/** The value of one person, from that person's bounded rows in one cell; `undefined` for a person without one. */
export function personValueOf(value: PersonValue, rows: readonly StoredRow[]): bigint | undefined {
  const { column, lower, upper } = value
  const counted = column === undefined ? rows : rows.filter((row) => row[column] !== null)
  if (counted.length === 0) return undefined
  const number = BigInt(counted.length)
  const clamped = (index: bigint) => clampedIndex(index, { lower, upper })
  if (value.kind === 'count') return clamped(number)
  const sum = counted.reduce(
    (total, row) => total + clampedIndex(BigInt(Number(row[value.column])), value.clamp),
    0n,
  )
  return clamped(value.kind === 'sum' ? sum : roundedDown(2n * sum + number, 2n * number))
}

/** The values of a text column that are counted: of each person those whose lowest rank is lowest. */
export function countedTexts(
  column: string,
  valuesEach: number,
  rows: readonly StoredRow[],
): ReadonlySet<string> {
  const texts = byPerson(rows, (row) => row).flatMap((own) => {
    const ranked = own.toSorted((a, b) => rankOf(a) - rankOf(b)).map((row) => row[column])
    return [...new Set(ranked.filter((text) => typeof text === 'string'))].slice(0, valuesEach)
  })
  return new Set(texts)
}

function rankOf(row: StoredRow): number {
  return Number(row[RANK])
}

function roundedDown(numerator: bigint, denominator: bigint): bigint {
  const quotient = numerator / denominator
  return numerator % denominator < 0n ? quotient - 1n : quotient
}

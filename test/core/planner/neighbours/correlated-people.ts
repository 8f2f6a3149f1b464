import seedrandom from 'seedrandom'
import type { StoredRow } from '../../../engines/reference-engine.ts'

const random = seedrandom('correlated people')

/** A person whose balance, income and membership depend on the age, more closely for a larger share. */
function person(share: number): StoredRow {
  const place = random()
  const near = () => share * place + (1 - share) * random()
  return {
    Age: BigInt(Math.round(120 * place)),
    Balance: BigInt(Math.round(600 - 1600 * near())),
    Income: random() < 0.1 ? null : BigInt(Math.round(20 + 980 * near())),
    Sex: 0,
    Region: null,
    Member: random() < 0.1 ? null : near() > 0.4,
    Note: '',
  }
}

/** Rows of `people` whose columns are independent, related, and nearly the same. */
export const DATA = [0, 0.5, 0.9].map((share) => Array.from({ length: 4000 }, () => person(share)))

const STEPS: Readonly<Record<string, number>> = { Age: 1, Balance: 0.05, Income: 0.5, Member: 1 }

/** Values of several columns in the rows where all are present, in the unit that people read. */
export function valuesOf(
  rows: readonly StoredRow[],
  columns: readonly string[],
): readonly (readonly number[])[] {
  return rows
    .filter((row) => columns.every((column) => row[column] !== null))
    .map((row) => columns.map((column) => Number(row[column]) * (STEPS[column] ?? Number.NaN)))
}

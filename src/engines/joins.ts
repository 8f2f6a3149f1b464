import type { IngestionCounts } from '../core/dataset/entry.ts'
import type { Facts, Join, JoinedColumn } from '../core/dataset/joins.ts'
import { defined } from '../privacy/defined.ts'
import { entry } from '../privacy/must.ts'

/* Two facts of each person, as SQL of every engine. Proof of the rules: docs/joins.md. */

/** The joined rows of one fact, as SQL. */
export interface FactRows {
  /** A relation, which can follow `FROM`. */
  readonly rows: string
  /** The person of a row as an exact text, NULL where the row has none. */
  readonly person: string
  /** The select list of the columns that combined rows have. */
  readonly columns: readonly string[]
  /** Prints expressions that order the rows of a person, and depend on nothing but the values of these columns and a key. */
  readonly order: () => readonly string[]
}

type BothFacts = readonly [FactRows, FactRows]

/** Prints the combined rows of two facts, each cut for each person before they meet. The text can follow `FROM`. */
export function printFacts({ sides: [one, other] }: Facts, [ones, others]: BothFacts): string {
  const [first, second] = [
    printCut(ones, one.maxRows, 'sotto_one'),
    printCut(others, other.maxRows, 'sotto_other'),
  ]
  return `${first} JOIN ${second} ON sotto_one.sotto_owner = sotto_other.sotto_owner`
}

function printCut({ rows, person, columns, order }: FactRows, maxRows: number, name: string): string {
  const place = `row_number() OVER (PARTITION BY ${person} ORDER BY ${order().join(', ')}) AS sotto_place`
  const select = [...columns, `${person} AS sotto_owner`, place].join(', ')
  const placed = `SELECT ${select} FROM ${rows} WHERE ${person} IS NOT NULL`
  return `(SELECT * FROM (${placed}) AS sotto_placed WHERE sotto_place <= ${maxRows}) AS ${name}`
}

/** Exact numbers about a join, for the custodian only. */
export interface JoinCounts {
  /** Rows without a reference; of two facts, rows of either one that have no person. */
  readonly missing: number
  /** Rows whose reference leads nowhere; of two facts, rows of either one whose person has no row of the other. */
  readonly dangling: number
  /** Rows of each of two facts beyond those that its people keep, by the names of the tables. */
  readonly beyondMaxRows?: Readonly<Record<string, number>>
}

/** Number of the numbers of two facts. */
export const FACT_COUNTS = 5

/** Prints a statement for the numbers of two facts, which {@link readFactCounts} reads. It needs no order of a person's rows. */
export function printFactCounts({ sides }: Facts, facts: BothFacts): string {
  const [one, other] = facts.map(
    ({ rows, person }, i) =>
      `(SELECT ${person} AS sotto_owner, count(*) AS sotto_rows FROM ${rows} GROUP BY ${person}) AS sotto_side${i}`,
  )
  const [here, there] = ['sotto_side0.sotto_owner IS NOT NULL', 'sotto_side1.sotto_owner IS NOT NULL']
  const rows = [0, 1].map((i) => `coalesce(sotto_side${i}.sotto_rows, 0)`)
  const kept = sides.map(({ maxRows }, i) => `least(${rows[i]}, ${maxRows})`)
  const sumWhere = (condition: string, number: string) =>
    `CAST(coalesce(sum(CASE WHEN ${condition} THEN ${number} ELSE 0 END), 0) AS VARCHAR)`
  const both = rows.join(' + ')
  const sums = [
    sumWhere(`NOT (${here}) AND NOT (${there})`, both),
    sumWhere(`(${here}) <> (${there})`, both),
    sumWhere(here, `${rows[0]} - ${kept[0]}`),
    sumWhere(there, `${rows[1]} - ${kept[1]}`),
    sumWhere('TRUE', kept.join(' * ')),
  ]
  return `SELECT ${sums.join(', ')} FROM ${one} FULL JOIN ${other} ON sotto_side0.sotto_owner = sotto_side1.sotto_owner`
}

/**
 * Reads the row of {@link printFactCounts}.
 * @param counts the integers of the row
 */
export function readFactCounts(
  { sides: [one, other] }: Facts,
  counts: readonly number[],
): JoinCounts & { readonly combined: number } {
  const at = (place: number) => entry(counts, place)
  return {
    missing: at(0),
    dangling: at(1),
    beyondMaxRows: { [one.root]: at(2), [other.root]: at(3) },
    combined: at(4),
  }
}

/** Describes a join with its numbers for the custodian. */
export function describeJoin(
  { from, to }: Join,
  { missing, dangling, beyondMaxRows }: JoinCounts,
): Required<IngestionCounts>['joins'][number] {
  const nameOf = ({ table, column }: JoinedColumn) => `${table}.${column}`
  return defined({ from: nameOf(from), to: nameOf(to), missing, dangling, beyondMaxRows })
}

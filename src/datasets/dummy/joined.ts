import { type Column, isGrid } from '../../core/dataset/dataset.ts'
import {
  type Facts,
  type Join,
  type JoinedColumn,
  parseJoinedColumn,
  tablesBelow,
} from '../../core/dataset/joins.ts'
import { must } from '../../privacy/must.ts'
import { cumulativeShares, placeOf, type Uniform } from '../sampling.ts'
import type { DummyDeclaration, DummyValue } from './declaration.ts'

/* Made-up rows of joined tables: rows that refer to one row of a table have the same values of its columns. */

/** Largest number of rows of a public table, and that of a person in a table on the way to them. */
const MOST_ROWS = { lookup: 20, owner: 4 } as const

/** Share of references that lead nowhere, where that gives NULL. */
const NOWHERE_SHARE = 0.05

/** Gives the columns of a row that are not of the first table the values of the rows to which it refers. */
type Joiner = (values: readonly DummyValue[], row: number, owner: number) => readonly DummyValue[]

/** A join with what is known of the rows that it leads to. */
interface Reference {
  readonly join: Join
  /** Positions of the columns of the table to which it leads. */
  readonly positions: readonly number[]
  /** Positions of the columns that refer and of the keys, as far as they are declared. */
  readonly ends: readonly number[]
  /** Number of rows that can be referred to. */
  readonly rows: number
  readonly canLeadNowhere: boolean
  /** The row referred to, by the row that refers. */
  readonly found: Map<number, number | undefined>
  /** The values of each row, which are those that were drawn where it was first referred to. */
  readonly values: Map<number, readonly DummyValue[]>
}

/** Returns the function that joins the rows of a declaration. */
export function createJoiner(
  { columns, joins: tree, privacyUnit }: DummyDeclaration & Required<Pick<DummyDeclaration, 'joins'>>,
  uniform: Uniform,
): Joiner {
  const references = tree.joins.map((join) => referenceOf(join, columns, tree.joins))
  const shares = cumulativeShares(MOST_ROWS.lookup, (place) => 1 / place)
  const draw = ({ join, rows, canLeadNowhere }: Reference, owner: number): number | undefined => {
    if (join.to.table === tree.people) return owner
    if (join.kind === 'owner') return owner * MOST_ROWS.owner + Math.floor(uniform() * MOST_ROWS.owner)
    if (canLeadNowhere && uniform() < NOWHERE_SHARE) return undefined
    return placeOf(shares, uniform()) % rows
  }
  const pairOf = createPairing(tree.facts, privacyUnit)
  const rootPositions = positionsIn(tree.root, columns)
  const ofRoot = new Map<number, readonly DummyValue[]>()
  return (drawn, row, owner) => {
    const values = [...drawn]
    const [first, second] = pairOf(row, owner)
    if (tree.facts !== undefined) {
      const shared = ofRoot.get(first) ?? drawn
      ofRoot.set(first, shared)
      for (const position of rootPositions) values[position] = must(shared[position], 'a drawn value')
    }
    const rowOf = new Map<string, number | undefined>([[tree.root, first]])
    for (const reference of references) {
      const { join, positions, ends, found } = reference
      const isFact = join.kind === 'facts'
      const from = rowOf.get(join.from.table)
      if (from !== undefined && !isFact && !found.has(from)) found.set(from, draw(reference, owner))
      const to = isFact ? second : from === undefined ? undefined : found.get(from)
      rowOf.set(join.to.table, to)
      if (to !== undefined && !reference.values.has(to)) reference.values.set(to, drawn)
      const known = to === undefined ? undefined : reference.values.get(to)
      for (const position of positions)
        values[position] = known === undefined ? null : must(known[position], 'a drawn value')
      const key = isFact ? owner : to
      for (const position of ends)
        values[position] = key === undefined ? null : keyOf(must(columns[position], 'a declared column'), key)
    }
    return values
  }
}

/**
 * Returns the function that numbers the rows of the tables whose rows a row combines. Those of a person are pairs of few rows of
 * either fact, of which none occurs twice.
 */
function createPairing(facts: Facts | undefined, unit: DummyDeclaration['privacyUnit']) {
  if (facts === undefined || unit.kind === 'row') return (row: number) => [row, row] as const
  const [{ maxRows: ones }, { maxRows: others }] = facts.sides
  const several = Math.max(Math.min(others, MOST_ROWS.owner), Math.ceil(unit.maxRows / ones))
  const rows = new Map<number, number>()
  return (_: number, owner: number) => {
    const place = rows.get(owner) ?? 0
    rows.set(owner, place + 1)
    return [owner * ones + Math.floor(place / several), owner * others + (place % several)] as const
  }
}

function positionsIn(table: string, columns: readonly Column[]): readonly number[] {
  return columns.flatMap(({ name }, position) =>
    must(parseJoinedColumn(name), 'the table of a column').table === table ? [position] : [],
  )
}

function referenceOf(join: Join, columns: readonly Column[], joins: readonly Join[]): Reference {
  const positionsOf = (is: (column: JoinedColumn) => boolean) =>
    columns.flatMap(({ name }, position) =>
      is(must(parseJoinedColumn(name), 'the table of a column')) ? [position] : [],
    )
  const { from, to, kind, dangling } = join
  const ends = positionsOf((each) => isSame(each, from) || isSame(each, to))
  // Their columns are NULL with its own.
  const below = tablesBelow(to.table, joins)
  return {
    join,
    positions: positionsIn(to.table, columns),
    ends: kind === 'lookup' ? ends : ends.filter((position) => columns[position]?.type === 'identifier'),
    rows: Math.min(MOST_ROWS.lookup, ...ends.map((position) => keysOf(must(columns[position], 'a column')))),
    canLeadNowhere:
      dangling === 'null' &&
      positionsOf((each) => below.has(each.table) || isSame(each, from)).every(
        (position) => columns[position]?.nullable === true,
      ),
    found: new Map(),
    values: new Map(),
  }
}

function isSame(one: JoinedColumn, other: JoinedColumn): boolean {
  return one.table === other.table && one.column === other.column
}

/** Number of keys that a column can have. */
function keysOf(column: Column): number {
  if (column.type === 'identifier') return MOST_ROWS.lookup
  if (isGrid(column)) {
    const points = Number(column.upperIndex - column.lowerIndex) + 1
    return Math.min(points, column.rankable?.maxValues ?? points)
  }
  switch (column.type) {
    case 'boolean':
      return 2
    case 'category':
      return column.categories.length
    case 'string':
      return column.selectable?.maxValues ?? MOST_ROWS.lookup
  }
}

/** The value of a key and of the references to it, by the number of its row. */
function keyOf(column: Column, row: number): DummyValue {
  if (column.type === 'identifier') return dummyIdentifier(row)
  if (isGrid(column)) return column.lowerIndex + BigInt(row)
  switch (column.type) {
    case 'boolean':
      return row === 1
    case 'category':
      return row
    case 'string':
      return String.fromCharCode('a'.charCodeAt(0) + row)
  }
}

/** Returns an identifier that cannot be taken for a real one. */
export function dummyIdentifier(number: number): string {
  return `dummy-${String(number + 1).padStart(6, '0')}`
}

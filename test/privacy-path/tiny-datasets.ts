import type { Dataset } from '../../src/core/dataset/dataset.ts'
import { type DatasetDeclaration, declareDataset } from '../../src/core/dataset/declaration.ts'
import type { PersonValue } from '../../src/core/planner/language/aggregate.ts'
import type { Neighbours } from '../../src/privacy/neighbours.ts'
import type { StoredRow } from '../engines/reference-engine.ts'
import { PERSON, personValueOf, RANK } from '../engines/reference-people.ts'

/**
 * 10^15 points: the exponential mechanism spends its epsilon only if most points are equally good.
 */
const FAR = 1e15

/**
 * A dataset with a column of each type and few values in each. The largest magnitude of a range, its length, and its
 * length with 0 included differ pairwise in some numeric column, so that confusing them is detected.
 *
 * @param rows the public number of rows under `change-one`.
 */
export function tinyDataset(neighbours: Neighbours, rows: number): Dataset {
  const declaration: DatasetDeclaration = {
    id: 'tiny',
    title: 'Tiny',
    // Its number of rows is a public limit, so that quantiles may rank the values of a wide grid.
    source: { kind: 'population', rows: 1_000, seed: 'tiny' },
    columns: [
      { name: 'Age', type: 'integer', lower: 1, upper: 4, step: 1, nullable: false },
      { name: 'Balance', type: 'number', lower: -1, upper: 1.5, step: 0.5, nullable: false },
      { name: 'Income', type: 'number', lower: 2, upper: 3.5, step: 0.5, nullable: true },
      { name: 'Wealth', type: 'integer', lower: 0, upper: FAR, step: 1, nullable: false },
      { name: 'Sex', type: 'category', categories: ['M', 'F'], nullable: false },
      { name: 'Region', type: 'category', categories: ['N', 'E', 'S'], nullable: true },
      { name: 'Member', type: 'boolean', nullable: true },
      { name: 'Note', type: 'string', selectable: true, nullable: true },
    ],
    privacyUnit: { kind: 'row' },
    neighbours,
    synthetic: true,
    accounting: 'basic',
    sharing: false,
    timing: 'off',
    failureLimit: 3,
    queryLimits: {},
  }
  return declareDataset(declaration, 'v1', rows)
}

/**
 * The same dataset of people with up to `maxRows` rows each. `Sex` is constant per person.
 *
 * @param people the public number of people under `change-one`.
 */
export function tinyPeople(neighbours: Neighbours, people: number, maxRows: number): Dataset {
  const { rows: _, ...dataset } = tinyDataset(neighbours, 0)
  const columns = dataset.columns.map((column) =>
    column.name === 'Sex' ? { ...column, constantPerPerson: true } : column,
  )
  return {
    ...dataset,
    columns: [
      { name: 'Id', type: 'identifier', nullable: false, invalidValue: { kind: 'refuse' } },
      ...columns,
    ],
    privacyUnit: { kind: 'person', column: 'Id', maxRows },
    ...(neighbours === 'add-remove' ? {} : { people }),
  }
}

type Values = readonly [
  age: bigint,
  balance: bigint,
  income: bigint | null,
  wealth: bigint,
  sex: number,
  region: number | null,
  member: boolean | null,
  note: string | null,
]

function row([Age, Balance, Income, Wealth, Sex, Region, Member, Note]: Values): StoredRow {
  return { Age, Balance, Income, Wealth, Sex, Region, Member, Note }
}

/** Every extreme and every kind of NULL, and the largest values in more than one cell of each table. */
const WIDE = (
  [
    [1n, -2n, 4n, 5n, 0, 0, true, 'a'],
    [4n, 3n, 7n, 100n, 1, 1, false, 'b'],
    [4n, 3n, 7n, BigInt(FAR), 0, 0, true, 'a'],
    [4n, -2n, 7n, 5n, 1, 2, null, null],
    [1n, 3n, null, 5n, 1, null, false, 'b'],
    [2n, 0n, null, 0n, 0, null, true, ''],
    [3n, 1n, 4n, 100n, 0, 2, null, 'a'],
  ] as const satisfies readonly Values[]
).map(row)

/** Few kinds of rows, for datasets with many of each. */
const TALL = (
  [
    [1n, -2n, 4n, 5n, 0, 0, true, 'a'],
    [4n, 3n, 7n, 100n, 1, 1, false, 'b'],
    [2n, 0n, null, BigInt(FAR), 1, null, null, null],
  ] as const satisfies readonly Values[]
).map(row)

/** Every grid index that a numeric column has in some row. */
export function indexesOf(column: string): readonly bigint[] {
  const values = [...WIDE, ...TALL].map((each) => each[column])
  const indexes = values.filter((value) => typeof value === 'bigint')
  return [...new Set(indexes)].sort((a, b) => (a < b ? -1 : 1))
}

/** Two neighbouring datasets, in either order. */
export interface Pair {
  readonly one: readonly StoredRow[]
  readonly other: readonly StoredRow[]
}

/** Pairs of neighbours; `units` is the number of rows or people of the larger one. */
export interface Pairs {
  readonly units: number
  readonly pairs: readonly Pair[]
}

/** Every pair of neighbours among all datasets of these units in which the larger dataset has one of these sizes. */
function allPairs<Unit>(
  kind: Neighbours,
  distinct: readonly Unit[],
  sizes: readonly number[],
  rowsOf: (units: readonly Unit[]) => readonly StoredRow[],
): readonly Pairs[] {
  // The number of times that each unit occurs determines a dataset.
  const datasets = new Map<string, readonly StoredRow[]>()
  const datasetOf = (multiplicities: readonly number[]): readonly StoredRow[] => {
    const name = multiplicities.join()
    const known = datasets.get(name)
    const rows =
      known ??
      rowsOf(distinct.flatMap((each, index) => new Array<Unit>(multiplicities[index] ?? 0).fill(each)))
    datasets.set(name, rows)
    return rows
  }
  const changed = (multiplicities: readonly number[], index: number, by: number) =>
    multiplicities.map((count, place) => (place === index ? count + by : count))
  return sizes.map((units) => {
    const pairs: Pair[] = []
    for (const larger of multisets(distinct.length, units)) {
      for (const [leaving, count] of larger.entries()) {
        if (count === 0) continue
        const fewer = changed(larger, leaving, -1)
        if (kind === 'add-remove') pairs.push({ one: datasetOf(larger), other: datasetOf(fewer) })
        else
          for (let coming = leaving + 1; coming < distinct.length; coming += 1)
            pairs.push({ one: datasetOf(larger), other: datasetOf(changed(fewer, coming, 1)) })
      }
    }
    return { units, pairs }
  })
}

/** The ways to choose `size` of `kinds` things with repetition, as the number of each. */
function multisets(kinds: number, size: number): number[][] {
  if (kinds === 1) return [[size]]
  return Array.from({ length: size + 1 }, (_, first) =>
    multisets(kinds - 1, size - first).map((rest) => [first, ...rest]),
  ).flat()
}

function ofBothKinds<Unit>(
  distinct: readonly Unit[],
  sizes: readonly number[],
  rowsOf: (units: readonly Unit[]) => readonly StoredRow[],
): Record<Neighbours, readonly Pairs[]> {
  return {
    'add-remove': allPairs('add-remove', distinct, sizes, rowsOf),
    'change-one': allPairs('change-one', distinct, sizes, rowsOf),
  }
}

const asTheyAre = (rows: readonly StoredRow[]) => rows

/** All neighbours among the datasets of up to three rows of any kind. */
export const widePairs = ofBothKinds(WIDE, [1, 2, 3], asTheyAre)

/** All neighbours among the datasets of up to ten rows of few kinds, for distributions that depend on ranks. */
export const tallPairs = ofBothKinds(TALL, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], asTheyAre)

/** Neighbours among datasets of few or many rows of two kinds, for keys that many rows have. */
export const towerPairs = ofBothKinds(TALL.slice(0, 2), [1, 2, 3, 4, 5, 6, 8, 12, 18, 27, 60], asTheyAre)

/** The rows of one person, in the order of their ranks. */
export type Person = readonly StoredRow[]

/** The rows of people, numbered in the order in which they are given. */
export function rowsOfPeople(people: readonly Person[]): readonly StoredRow[] {
  return people.flatMap((rows, person) =>
    rows.map((row, place) => ({ ...row, [PERSON]: person, [RANK]: place + 1 })),
  )
}

/** Rows of these places among {@link WIDE}. */
const wide = (...places: readonly number[]): Person => places.flatMap((place) => WIDE.slice(place, place + 1))

/** Repeats rows. */
const many = (number: number, rows: Person): Person => new Array<Person>(number).fill(rows).flat()

/** A row that differs in `Region`, `Member` and `Note` from every other row of its `Sex`. */
const EASTERN = row([4n, 3n, null, 0n, 0, 1, false, 'b'])

/**
 * People with one to three rows: the largest or the smallest values three times in one cell, in three cells, beside
 * rows that predicates exclude, or excluded altogether, and with every kind of NULL. `Sex` is constant per person.
 */
const PEOPLE: readonly Person[] = [
  wide(0),
  wide(0, 0, 0),
  wide(2, 2, 2),
  wide(1, 1, 1),
  wide(4, 4, 4),
  wide(3, 1, 4),
  wide(5, 2, 6),
  wide(4, 3, 3),
  [...wide(6), EASTERN, ...wide(0)],
]

/** People with one row or fifty, in one cell or spread over many. */
const SKEWED: readonly Person[] = [
  wide(0),
  many(50, wide(0)),
  many(50, wide(1)),
  [...many(16, wide(3, 1, 4)), ...wide(1, 3)],
  many(50, wide(4)),
]

/** Few kinds of people with three rows or one, for datasets with many of each. */
const TALL_PEOPLE: readonly Person[] = [...TALL.map((each) => many(3, [each])), TALL.slice(0, 1)]

/** Every value per person that some of the rows of a person with up to three rows can have. */
export function personValuesOf(value: PersonValue): readonly bigint[] {
  const values = [...PEOPLE, ...TALL_PEOPLE].flatMap((rows) =>
    subsets(rows).flatMap((some) => personValueOf(value, some) ?? []),
  )
  return [...new Set(values)].sort((a, b) => (a < b ? -1 : 1))
}

function subsets(rows: Person): readonly Person[] {
  return rows.reduce<readonly Person[]>((some, row) => some.flatMap((each) => [each, [...each, row]]), [[]])
}

/**
 * Largest number of rows of a person of {@link peoplePairs} and {@link tallPeoplePairs}, and of {@link skewedPairs}.
 */
export const MOST_ROWS = 3
export const MOST_ROWS_SKEWED = 50

/** All neighbours among the datasets of up to three people with up to three rows. */
export const peoplePairs = ofBothKinds(PEOPLE, [1, 2, 3], rowsOfPeople)

/** All neighbours among the datasets of up to eight people of few kinds, for distributions that depend on ranks. */
export const tallPeoplePairs = ofBothKinds(TALL_PEOPLE, [1, 2, 4, 6, 8], rowsOfPeople)

/** Neighbours among datasets of few or many people with three keys, one key or none. */
export const peopleTowerPairs = ofBothKinds(
  [[...wide(0, 5), EASTERN], [EASTERN], wide(3)],
  [1, 2, 4, 9],
  rowsOfPeople,
)

/** All neighbours among the datasets of up to four people with up to fifty rows. */
export const skewedPairs = ofBothKinds(SKEWED, [1, 2, 4], rowsOfPeople)

import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Dataset } from '../../../../src/core/dataset/dataset.ts'
import { declareDataset } from '../../../../src/core/dataset/declaration.ts'
import {
  type Aggregate,
  type Bounding,
  cellCount,
  type PersonValue,
  type Statistic,
} from '../../../../src/core/planner/language/aggregate.ts'
import { stabilityOf } from '../../../../src/core/planner/price/stability.ts'
import type { Neighbours } from '../../../../src/privacy/neighbours.ts'
import type { Sensitivity } from '../../../../src/privacy/sensitivity.ts'
import { ALL, cases, describeOnce } from '../../../cases.ts'
import { aggregateRows, type StoredRow, type StoredValue } from '../../../engines/reference-engine.ts'
import { PERSON, RANK } from '../../../engines/reference-people.ts'

/*
 * Stability by brute force: every unit that a tiny dataset can hold is added, removed or replaced by every other.
 */

/** A dataset of units with up to `maxRows` rows, or with one row each. */
interface Setting {
  readonly neighbours: Neighbours
  readonly maxRows: number | 'row'
  readonly lower: number
  readonly upper: number
  readonly nullable: boolean
  readonly cells: number
  /** True if all rows of a person are in one cell. */
  readonly constant: boolean
}

/** A column that is summed, one that decides which rows count, one of cells, and one whose values are counted. */
function small({ neighbours, maxRows, lower, upper, nullable, cells, constant }: Setting): Dataset {
  const categories = ['a', 'b', 'c', 'd'].slice(0, cells)
  return declareDataset(
    {
      id: 'small',
      title: 'Small',
      source: { kind: 'file', path: 'small.csv', format: 'csv' },
      columns: [
        { name: 'Id', type: 'identifier', nullable: false },
        { name: 'Value', type: 'integer', lower, upper, step: 1, nullable },
        { name: 'Counts', type: 'boolean', nullable: false },
        { name: 'Cell', type: 'category', categories, nullable: false, constantPerPerson: constant },
        { name: 'Kind', type: 'boolean', nullable: false },
      ],
      privacyUnit: maxRows === 'row' ? { kind: 'row' } : { kind: 'person', column: 'Id', maxRows },
      neighbours,
      synthetic: true,
      accounting: 'basic',
      sharing: false,
      timing: 'off',
      failureLimit: 3,
      queryLimits: {},
    },
    '1',
    1,
  )
}

/** The rows of every unit: any rows in any order of rank, and as many as a unit may have. */
function unitsOf(kinds: readonly StoredRow[], { maxRows, constant }: Setting): readonly StoredRow[][] {
  const units: StoredRow[][] = []
  const extend = (rows: readonly StoredRow[]) => {
    if (rows.length > 0) units.push([...rows])
    if (rows.length === (maxRows === 'row' ? 1 : maxRows)) return
    for (const row of kinds) {
      const cell = rows[0]?.Cell ?? row.Cell
      if (constant && row.Cell !== cell) continue
      extend([...rows, { ...row, [PERSON]: 0, [RANK]: rows.length + 1 }])
    }
  }
  extend([])
  return units
}

const magnitude = (value: bigint) => (value < 0n ? -value : value)
const larger = (a: bigint, b: bigint) => (a > b ? a : b)

const STILL: Sensitivity = { l0: 0n, l1: 0n, l2Squared: 0n, lInfinity: 0n }

/** The largest distances, in every norm, that any unit reaches as the only one of its dataset. */
function reachedBy(
  units: readonly (readonly StoredRow[])[],
  aggregate: Aggregate,
  neighbours: Neighbours,
): Sensitivity {
  const vectors = new Map<string, readonly bigint[]>()
  for (const rows of units) {
    const vector = aggregateRows(aggregate, rows)[0] ?? []
    vectors.set(vector.join(), vector)
  }
  const none = aggregateRows(aggregate, [])[0] ?? []
  const sum = (terms: readonly bigint[]) => terms.reduce((total, term) => total + term, 0n)
  let reached = STILL
  for (const here of vectors.values()) {
    for (const there of neighbours === 'add-remove' ? [none] : vectors.values()) {
      const moved = here.map((value, cell) => magnitude(value - (there[cell] ?? 0n)))
      reached = {
        l0: larger(reached.l0, BigInt(moved.filter((value) => value > 0n).length)),
        l1: larger(reached.l1, sum(moved)),
        l2Squared: larger(reached.l2Squared, sum(moved.map((value) => value ** 2n))),
        lInfinity: moved.reduce(larger, reached.lInfinity),
      }
    }
  }
  return reached
}

const sums = fc.record({
  kind: fc.constantFrom('affine-sum' as const, 'affine-square-sum' as const),
  factor: fc.bigInt(-3n, 3n),
  offset: fc.bigInt(-20n, 20n),
})
const statistics: fc.Arbitrary<Statistic> = fc.oneof(
  { weight: 2, arbitrary: sums.map((sum) => ({ ...sum, column: 'Value' })) },
  fc.constantFrom<Statistic>(
    { kind: 'count' },
    { kind: 'count', column: 'Value' },
    { kind: 'count', where: { kind: 'boolean-is', column: 'Kind', value: true } },
  ),
  fc.constant<Statistic>({
    kind: 'count-distinct',
    of: { kind: 'boolean', column: 'Kind', nullCell: false },
  }),
)

/** Counts of people, and sums of values per person whose clamp is the column's range or any other. */
const statisticsOfPeople = ({ lower, upper }: Setting): fc.Arbitrary<Statistic> =>
  fc.oneof(
    fc.constantFrom<Statistic>({ kind: 'count-people' }, { kind: 'count-people', column: 'Value' }),
    fc
      .tuple(
        sums,
        fc.constantFrom('sum' as const, 'mean' as const, 'count' as const),
        fc.oneof(
          fc.constant([BigInt(lower), BigInt(upper)] as const),
          fc.tuple(fc.bigInt(-9n, 0n), fc.bigInt(0n, 9n)),
        ),
      )
      .map(([sum, kind, clamp]) => ({
        ...sum,
        perPerson: { kind, column: 'Value', lower: clamp[0], upper: clamp[1] },
      })),
  )
const boundings: fc.Arbitrary<Bounding> = fc.oneof(
  fc.record({ kind: fc.constant('rows' as const), rows: fc.integer({ min: 1, max: 4 }) }),
  fc.record({
    kind: fc.constant('groups' as const),
    groups: fc.integer({ min: 1, max: 4 }),
    rowsPerGroup: fc.integer({ min: 1, max: 4 }),
  }),
)
const settings = fc
  .record({
    neighbours: fc.constantFrom('add-remove' as const, 'change-one' as const),
    maxRows: fc.integer({ min: 1, max: 3 }),
    lower: fc.integer({ min: -6, max: 6 }),
    span: fc.integer({ min: 1, max: 6 }),
    nullable: fc.boolean(),
    cells: fc.integer({ min: 1, max: 4 }),
    constant: fc.boolean(),
  })
  .map(({ lower, span, ...setting }) => ({ ...setting, lower, upper: lower + span }))
const parts = fc.record({ filtered: fc.boolean(), grouped: fc.boolean() })

/** Rows of a setting: all values, or for people those at which a term is largest and smallest. */
function kindsOfRows(statistic: Statistic, setting: Setting, { filtered, grouped }: Parts) {
  const { lower, upper, nullable, cells, maxRows } = setting
  const all = Array.from({ length: upper - lower + 1 }, (_, step) => BigInt(lower + step))
  const sums = statistic.kind === 'affine-sum' || statistic.kind === 'affine-square-sum'
  const zero = sums && statistic.factor !== 0n ? -statistic.offset / statistic.factor : 0n
  const values = maxRows === 'row' ? all : all.filter((value) => isEnd(value, setting, zero))
  const present: StoredValue[] = sums ? [...values] : values.slice(0, 1)
  const distinct = statistic.kind === 'count-distinct' || statistic.kind === 'count' ? [true, false] : [true]
  const counted = [...present, ...(nullable ? [null] : [])].flatMap((Value) =>
    Array.from({ length: grouped ? cells : 1 }, (_, Cell) => Cell).flatMap((Cell) =>
      distinct.map((Kind) => ({ Value, Counts: true, Cell, Kind })),
    ),
  )
  const [first] = counted
  return filtered && first !== undefined ? [...counted, { ...first, Counts: false }] : counted
}

/** True for the bounds, and for the values around a square's zero. */
function isEnd(value: bigint, { lower, upper }: Setting, zero: bigint): boolean {
  return value === BigInt(lower) || value === BigInt(upper) || magnitude(value - zero) <= 1n
}

interface Parts {
  readonly filtered: boolean
  readonly grouped: boolean
}

function aggregateOf(
  statistic: Statistic,
  bounding: Bounding,
  { cells }: Setting,
  { filtered, grouped }: Parts,
): Aggregate {
  return {
    ...(filtered ? { where: { kind: 'boolean-is', column: 'Counts', value: true } } : {}),
    groupBy: grouped ? [{ kind: 'category', column: 'Cell', size: cells, nullCell: false }] : [],
    statistics: [statistic],
    bounding,
  }
}

test('the stability of a sum is reached by the worst pair of neighbours, for any sum of rows', () => {
  fc.assert(
    fc.property(sums, settings, parts, (sum, some, parts) => {
      const setting: Setting = { ...some, maxRows: 'row', constant: false }
      const statistic = { ...sum, column: 'Value' }
      const aggregate = aggregateOf(statistic, { kind: 'one-row-each' }, setting, parts)
      const units = unitsOf(kindsOfRows(statistic, setting, parts), setting)
      const reached = reachedBy(units, aggregate, setting.neighbours)
      const claimed = stabilityOf(statistic, aggregate, small(setting))
      // Every row is in a table's only cell, which the stability of a table does not take into account.
      if (parts.grouped && setting.cells === 1 && !parts.filtered) expect(covers(claimed, reached)).toBe(true)
      else expect(claimed).toEqual(reached)
    }),
    { numRuns: cases(1_000) },
  )
})

test('no person moves a statistic by more than its stability, and the worst pair of people reaches it where it is exact', () => {
  const exact = new Set<string>()
  fc.assert(
    fc.property(
      settings.chain((setting) =>
        fc.tuple(
          fc.constant(setting),
          fc.oneof(statistics, { weight: 2, arbitrary: statisticsOfPeople(setting) }),
        ),
      ),
      boundings,
      parts,
      ([setting, statistic], bounding, parts) => {
        const aggregate = aggregateOf(statistic, bounding, setting, parts)
        const units = unitsOf(kindsOfRows(statistic, setting, parts), setting)
        const reached = reachedBy(units, aggregate, setting.neighbours)
        const claimed = stabilityOf(statistic, aggregate, small(setting))
        expect(covers(claimed, reached), `${describe(claimed)} for ${describe(reached)}`).toBe(true)
        for (const norm of exactNorms(statistic, aggregate, setting)) {
          expect(claimed[norm], norm).toBe(reached[norm])
          const source = 'perPerson' in statistic && statistic.perPerson !== undefined ? 'per person' : ''
          exact.add([setting.neighbours, bounding.kind, statistic.kind, source, norm].join(' '))
        }
      },
    ),
    { numRuns: cases(3_000) },
  )
  // Every kind of neighbours, bounding and statistic, in every norm, has cases in which the stability is exact.
  if (ALL) expect(exact.size).toBe(2 * 2 * 7 * 4)
}, 60_000)

function covers(claimed: Sensitivity, reached: Sensitivity): boolean {
  return NORMS.every((norm) => claimed[norm] >= reached[norm])
}

const NORMS = ['l0', 'l1', 'l2Squared', 'lInfinity'] as const

function describe(sensitivity: Sensitivity): string {
  return NORMS.map((norm) => `${norm} ${sensitivity[norm]}`).join(', ')
}

/**
 * Norms in which the stability is exact. It is only an upper bound
 * - for values per person with a clamp that no row reaches,
 * - under `change-one`, if every person counts in a single cell although the form of the aggregate does not show it,
 * - under `change-one`, if two people cannot be in different cells,
 * - in L2 under `change-one`, if terms of both signs fill cells unequally.
 */
function exactNorms(
  statistic: Statistic,
  aggregate: Aggregate,
  setting: Setting,
): readonly (keyof Sensitivity)[] {
  const { bounding } = aggregate
  const perPerson = 'perPerson' in statistic ? statistic.perPerson : undefined
  if (perPerson !== undefined && !isReached(perPerson, setting)) return []
  if (setting.neighbours === 'add-remove') return NORMS
  const { maxRows } = setting
  if (bounding.kind === 'one-row-each' || maxRows === 'row') throw new Error('people')
  const all = cellCount(aggregate)
  if (all === 1) {
    const sum = statistic.kind.startsWith('affine')
    const ofColumn = 'column' in statistic || perPerson !== undefined
    const mayBeNothing = aggregate.where !== undefined || (ofColumn && setting.nullable)
    return mayBeNothing || (sum && aggregate.groupBy.length === 0) ? NORMS : []
  }
  const [groups, each] =
    bounding.kind === 'rows' ? [maxRows, bounding.rows] : [bounding.groups, bounding.rowsPerGroup]
  const rows = Math.min(bounding.kind === 'rows' ? bounding.rows : groups * each, maxRows)
  const cells = setting.constant ? 1 : Math.min(groups, rows, all)
  if (2 * cells > all) return ['lInfinity']
  const perCell = perPerson === undefined ? Math.min(each, rows) : 1
  const terms = Math.min(rows, cells * perCell)
  const bothSigns = statistic.kind === 'affine-sum'
  return terms % perCell !== 0 && bothSigns ? ['l0', 'l1', 'lInfinity'] : NORMS
}

/** True if one row reaches both ends of the clamp. */
function isReached({ kind, lower, upper }: PersonValue, setting: Setting): boolean {
  return kind !== 'count' && lower >= BigInt(setting.lower) && upper <= BigInt(setting.upper)
}

/**
 * Sensitivities that Tumult Analytics (commit 6973f94), OpenDP (0.16.0) and Google's Go library state for a person
 * added or removed. The scale of their noise at epsilon 1 is the L1 sensitivity, and its variance at rho 1/2 is L2^2.
 */
const PUBLISHED: readonly {
  readonly source: string
  readonly bounding: Bounding
  /** Bounds of the summed column; absent for a count. */
  readonly bounds?: readonly [lower: number, upper: number]
  readonly grouped: boolean
  readonly expected: Partial<Sensitivity>
}[] = [
  // Tumult Analytics, test/system/session/ids/test_l0_linf_truncation.py: scales [1], [2] and variances [0.5], [1] at
  // rho 1.
  published('Tumult', groups(1, 1), { l1: 1n, l2Squared: 1n }),
  published('Tumult', groups(2, 1), { l1: 2n, l2Squared: 2n }),
  // The same: a mean of [0, 10] is a sum of [-5, 5] and a count, [60, 12] at half of epsilon and [450, 18] at half of
  // rho.
  published('Tumult', groups(2, 3), { l1: 6n, l2Squared: 18n }),
  published('Tumult', groups(2, 3), { l1: 30n, l2Squared: 450n }, [-5, 5]),
  // OpenDP: truncate_per_group(3, by) and truncate_num_groups(2, by), scales of dp.len() and dp.sum((-2, 5)).
  published('OpenDP', groups(2, 3), { l1: 6n, l2Squared: 18n }),
  published('OpenDP', groups(2, 3), { l1: 30n, l2Squared: 450n }, [-2, 5]),
  published('OpenDP', groups(4, 1), { l1: 4n, l2Squared: 4n }),
  // OpenDP: truncate_per_group(3) of rows with an identifier.
  published('OpenDP', { kind: 'rows', rows: 3 }, { l1: 3n, l2Squared: 9n }),
  { ...published('OpenDP', { kind: 'rows', rows: 3 }, { l1: 3n, l2Squared: 9n }), grouped: false },
  {
    ...published('OpenDP', { kind: 'rows', rows: 3 }, { l1: 15n, l2Squared: 225n }, [-2, 5]),
    grouped: false,
  },
  // Google's Go library, dpagg/sum_test.go: TestNewBoundedSumInt64, TestGetLInfInt.
  published('Google', groups(1, 2), { l0: 1n, lInfinity: 10n }, [-1, 5]),
  published('Google', groups(1, 1), { l0: 1n, lInfinity: 5n }, [-1, 5]),
  published('Google', groups(1, 1), { lInfinity: 5n }, [3, 5]),
  published('Google', groups(1, 1), { lInfinity: 7n }, [-7, 5]),
  published('Google', groups(1, 1), { lInfinity: 7n }, [-7, -5]),
]

function groups(most: number, rowsPerGroup: number): Bounding {
  return { kind: 'groups', groups: most, rowsPerGroup }
}

function published(
  source: string,
  bounding: Bounding,
  expected: Partial<Sensitivity>,
  bounds?: readonly [number, number],
) {
  return { source, bounding, expected, grouped: true, ...(bounds === undefined ? {} : { bounds }) }
}

describeOnce('published sensitivities', () => {
  test.each(PUBLISHED)(
    '$source: the published sensitivity of a bounded contribution',
    ({ bounding, bounds, grouped, expected }) => {
      const [lower, upper] = bounds ?? [0, 1]
      const setting: Setting = {
        ...{ neighbours: 'add-remove', maxRows: 100, nullable: false, cells: 4, constant: false },
        lower,
        upper,
      }
      const statistic: Statistic =
        bounds === undefined
          ? { kind: 'count' }
          : { kind: 'affine-sum', column: 'Value', factor: 1n, offset: 0n }
      const aggregate = aggregateOf(statistic, bounding, setting, { filtered: false, grouped })
      expect(stabilityOf(statistic, aggregate, small(setting))).toMatchObject(expected)
    },
  )
})

import { describe, expect, test } from 'vitest'
import { accuracyReport, reporter } from '../../../../src/core/planner/report.ts'
import type { StoredRow } from '../../../engines/reference-engine.ts'
import { estimatesOf, refusalOf } from '../planned.ts'
import { releasesOf } from '../releases.ts'

const DRAWS = 2000
/** A probability of failure of 0.05 leads to more failures than this less than once in 1e8 runs. */
const MOST_FAILURES = 156

const TOP = { kind: 'topGroups', keys: ['Region', 'Member'], k: 3, epsilon: 1 }

const TABLE = { kind: 'contingency', columns: TOP.keys, epsilon: 1 }

const row = (Region: number | null, Member: boolean | null): StoredRow => ({
  Age: 0n,
  Balance: 0n,
  Income: null,
  Sex: 0,
  Region,
  Member,
  Note: null,
})
/** Groups of 40, 39, ..., 29 rows: many are within the noise of each other. */
const GROUPS = [0, 1, 2, null].flatMap((region) => [false, true, null].map((member) => row(region, member)))
const ROWS = GROUPS.flatMap((each, place) => new Array<StoredRow>(40 - place).fill(each))
const truthOf = (key: Readonly<Record<string, unknown>>) => {
  const region = ['N', 'E', 'S', null].indexOf(key.Region as string | null)
  return 40 - (3 * region + [false, true, null].indexOf(key.Member as boolean | null))
}

function cellsOf({ result }: ReturnType<ReturnType<typeof reporter>>) {
  if (!('cells' in result)) throw new Error('groups are asked for')
  return result.cells
}

test('the groups with the largest noisy counts come first, and equal counts in the declared order', () => {
  const planned = estimatesOf({ ...TOP, mechanism: 'geometric', postprocess: { nonNegative: true } })
  const noisy = [[3n, -2n, 9n, 7n, 9n, -5n, 0n, 1n, 2n, 3n, 4n, 5n]]
  expect(cellsOf(reporter(planned)({ kind: 'additive', noisy }))).toEqual([
    { key: { Region: 'N', Member: null }, value: 9 },
    { key: { Region: 'E', Member: true }, value: 9 },
    { key: { Region: 'E', Member: false }, value: 7 },
  ])
  expect(
    cellsOf(reporter(planned)({ kind: 'additive', noisy: [noisy[0]?.map((count) => -count) ?? []] })),
  ).toEqual([
    { key: { Region: 'E', Member: null }, value: 5 },
    { key: { Region: 'N', Member: true }, value: 2 },
    { key: { Region: 'S', Member: false }, value: 0 },
  ])
})

test('it has as many groups as there are, if k is larger', () => {
  const planned = estimatesOf({ ...TOP, keys: ['Sex'], k: 50 })
  const [released] = releasesOf(planned, ROWS, 1, 'few')
  expect(released && cellsOf(released)).toHaveLength(2)
})

describe.each(['add-remove', 'change-one'] as const)('under %s', (neighbours) => {
  test.each([{ mechanism: 'geometric' }, { mechanism: 'gaussian', delta: 1e-6 }])(
    'all counts lie within the half-width as often as stated, although they are selected, with %j',
    (mechanism) => {
      const planned = estimatesOf({ ...TOP, ...mechanism }, neighbours)
      const { halfWidth } = accuracyReport(planned)
      const failures = { stated: 0, single: 0 }
      const single = accuracyReport(estimatesOf({ ...TABLE, ...mechanism }, neighbours)).halfWidth
      for (const released of releasesOf(planned, ROWS, DRAWS, 'top')) {
        expect(released.accuracy.halfWidth).toBe(halfWidth)
        const error = Math.max(...cellsOf(released).map(({ key, value }) => Math.abs(value - truthOf(key))))
        if (error > (halfWidth ?? 0)) failures.stated += 1
        if (error > (single ?? 0)) failures.single += 1
      }
      expect(failures.stated).toBeLessThanOrEqual(MOST_FAILURES)
      // The half-width of a single count fails for the largest of several.
      expect(failures.single).toBeGreaterThan(MOST_FAILURES)
    },
  )
})

test('the price is that of the table of all groups', () => {
  const [top, table] = [estimatesOf(TOP), estimatesOf(TABLE)]
  expect(top.loss).toEqual(table.loss)
  expect(top.measurements).toEqual(table.measurements)
})

test('keys without declared values, repeated keys and too many groups are refused', () => {
  expect(refusalOf({ ...TOP, keys: ['Note'] }).errors[0]?.field).toBe('keys.0')
  expect(refusalOf({ ...TOP, keys: ['Sex', 'Sex'] }).errors[0]?.field).toBe('keys.1')
  const many = Array.from({ length: 120 }, (_, edge) => edge)
  const keys = ['Region', 'Member', { column: 'Age', edges: many }]
  expect(refusalOf({ ...TOP, keys }).errors).toEqual([
    { field: 'keys', rule: 'span 1428 cells; at most 1000 are supported' },
  ])
})

import { spawnSync } from 'node:child_process'
import path from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { infer, type PaidRelease, varianceOf } from '../../../src/core/inference/infer.ts'
import type { AdditivePlan } from '../../../src/core/planner/additive/shape.ts'
import { entry } from '../../../src/privacy/must.ts'
import { aggregateRows, type StoredRow } from '../../engines/reference-engine.ts'
import { findPython, installPythonPackage } from '../../python.ts'
import { people } from '../planner/neighbours/people.ts'
import { isInferred, planned } from './inferred.ts'

/*
 * Inferred estimates beside numpy's least squares over a dense matrix, which is made without elementary cells: its columns are kinds
 * of rows, and the reference engine says what a row of each kind adds to every measured number.
 */

const SYSTEMS = 2_000
const dataset = people('add-remove')

/** Three ages in each stretch between two cuts, so that numbers and sums of rows say different things. */
const AGES = [3, 11, 19, 31, 44, 59, 66, 78, 95]
const KINDS: readonly StoredRow[] = AGES.flatMap((age) =>
  [0, 1].flatMap((Sex) =>
    [true, false, null].map((Member) => ({
      Age: BigInt(age),
      Balance: 0n,
      Income: null,
      Sex,
      Region: null,
      Member,
      Note: null,
    })),
  ),
)

const male = { column: 'Sex', op: '=', value: 'M' }
const member = { column: 'Member', op: '=', value: true }
const adult = { column: 'Age', op: '>=', value: 25 }
const not = (predicate: object) => ({ op: 'not', predicate })
const where = fc.constantFrom<object[]>(
  male,
  not(male),
  member,
  not(member),
  adult,
  not(adult),
  { op: 'or', predicates: [male, adult] },
  { op: 'and', predicates: [member, not(male)] },
)
const price = fc.constantFrom<object[]>(
  { epsilon: 0.1 },
  { epsilon: 0.5 },
  { epsilon: 3 },
  { epsilon: 0.5, mechanism: 'gaussian', delta: 1e-6 },
)
const shape = fc.oneof(
  fc.constant({ kind: 'count' }),
  fc.constantFrom({ kind: 'sum', column: 'Age' }, { kind: 'mean', column: 'Age' }),
  fc.record({
    kind: fc.constant('groupBy'),
    keys: fc.constantFrom<unknown[][]>(
      ['Sex'],
      ['Member'],
      ['Sex', 'Member'],
      [{ column: 'Age', edges: [0, 25, 65, 120] }],
      ['Sex', { column: 'Age', edges: [0, 25, 120] }],
    ),
    statistics: fc.constantFrom(
      [{ kind: 'count' }],
      [{ kind: 'sum', column: 'Age' }],
      [{ kind: 'mean', column: 'Age' }],
    ),
  }),
)
const question = fc
  .record({ shape, price, where: fc.option(where, { nil: undefined }) })
  .map(({ shape, price, where }) => ({ ...shape, ...price, ...(where === undefined ? {} : { where }) }))
const systems = fc.record({
  target: question,
  paid: fc.array(fc.record({ wire: question, noise: fc.nat() }), {
    minLength: 1,
    maxLength: 5,
  }),
})

/** What a row of each kind adds to each number of an aggregate, number by number. */
function coefficientsOf({
  aggregate,
}: Pick<AdditivePlan, 'aggregate'>): readonly (readonly (readonly number[])[])[] {
  const kinds = KINDS.map((row) => aggregateRows(aggregate, [row]))
  return entry(kinds, 0).map((cells, statistic) =>
    cells.map((_, cell) => kinds.map((integers) => Number(entry(entry(integers, statistic), cell)))),
  )
}

/** A system as the oracle reads it. */
function denseSystem(target: AdditivePlan, paid: readonly PaidRelease[]) {
  const measured = paid.flatMap(({ plan, integers }) =>
    coefficientsOf(plan).flatMap((cells, statistic) => {
      const measurement = entry(plan.measurements, statistic)
      return cells.map((coefficients, cell) => ({
        coefficients,
        deviation: Math.sqrt(varianceOf(measurement)),
        value: Number(entry(entry(integers, statistic), cell)) / 2 ** measurement.fractionBits,
      }))
    }),
  )
  return {
    measured: measured.map(({ coefficients }) => coefficients),
    deviations: measured.map(({ deviation }) => deviation),
    values: measured.map(({ value }) => value),
    targets: coefficientsOf(target).flat(),
  }
}

/** The program of a Python with numpy; `undefined` where it cannot be installed. */
async function pythonWithNumpy(): Promise<string | undefined> {
  const python = findPython()
  if (python === undefined) return undefined
  return installPythonPackage(python, 'numpy==2.2.6').then(
    (programs) => path.join(programs, 'python'),
    () => undefined,
  )
}

const python = await pythonWithNumpy()
const title = `estimates are those of least squares by numpy${python === undefined ? ' (skipped: no Python with numpy)' : ''}`

test.skipIf(python === undefined)(title, () => {
  const asked = fc.sample(systems, { numRuns: SYSTEMS, seed: 30 }).map(({ target, paid }) => ({
    target: planned(target, dataset),
    paid: paid.map(({ wire, noise }, place): PaidRelease => {
      const plan = planned(wire, dataset)
      const integers = aggregateRows(plan.aggregate, KINDS).map((cells, statistic) =>
        cells.map((value, cell) => {
          const measurement = entry(plan.measurements, statistic)
          const { fractionBits } = measurement
          const drawn = 3 * Math.sin(noise + cell) * Math.sqrt(varianceOf(measurement))
          return (value << BigInt(fractionBits)) + BigInt(Math.round(drawn * 2 ** fractionBits))
        }),
      )
      return { id: String(place), plan, integers }
    }),
  }))
  const { stdout, stderr, status } = spawnSync(
    python ?? '',
    [path.resolve('test/oracles/least_squares.py')],
    {
      input: JSON.stringify(asked.map(({ target, paid }) => denseSystem(target, paid))),
      encoding: 'utf8',
      maxBuffer: 2 ** 28,
    },
  )
  expect(status, stderr).toBe(0)
  const answers: readonly (readonly (readonly [number, number] | null)[])[] = JSON.parse(stdout)
  let followed = 0
  for (const [place, { target, paid }] of asked.entries()) {
    const expected = entry(answers, place)
    const found = infer(target, paid)
    const what = JSON.stringify([target.query, paid.map(({ plan }) => plan.query)], (_, value) =>
      typeof value === 'bigint' ? String(value) : value,
    )
    expect(isInferred(found), what).toBe(expected.every((each) => each !== null))
    if (!isInferred(found)) continue
    followed += 1
    for (const [number, { value, variance }] of found.statistics.flat().entries()) {
      const [best = Number.NaN, least = Number.NaN] = entry(expected, number) ?? []
      expect(Math.abs(variance - least), what).toBeLessThanOrEqual(1e-6 * least)
      expect(Math.abs(value - best), what).toBeLessThanOrEqual(1e-3 * Math.sqrt(least))
    }
  }
  expect(followed).toBeGreaterThan(SYSTEMS / 10)
})

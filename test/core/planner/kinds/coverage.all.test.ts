import { describe, expect, test } from 'vitest'
import { query as querySchema } from '../../../../schemas/answers/query.ts'
import { coverageStatement } from '../../../../src/answers/documents/coverage.ts'
import type { Interval } from '../../../../src/core/dataset/dataset.ts'
import { addNoise } from '../../../../src/core/mechanisms/measurement.ts'
import { systemEntropy } from '../../../../src/core/mechanisms/samplers/entropy.ts'
import { bandsOf, nameOfBand } from '../../../../src/core/planner/kinds/contribution-profile/bands.ts'
import { coverageOf } from '../../../../src/core/planner/kinds/contribution-profile/coverage.ts'
import { plan } from '../../../../src/core/planner/plan.ts'
import { entry, must } from '../../../../src/privacy/must.ts'
import { patients } from '../neighbours/people.ts'
import { LIMITS } from '../planned.ts'

const UNIT = { kind: 'person', column: 'Patient', maxRows: 100, plausibleRows: 1_000 } as const
const DATASET = { ...patients('add-remove'), privacyUnit: UNIT }

/** The noisy coverage of people with these numbers of rows, and the true one, up to `plausibleRows` rows of a person. */
function coverage(rows: readonly number[], epsilon: number) {
  const planned = plan(querySchema.parse({ kind: 'contributionProfile', epsilon }), DATASET, LIMITS)
  if (planned.kind !== 'additive') throw new Error('a profile is a table of counts')
  const bands = bandsOf(UNIT)
  const counts = bands.map(({ lower, upper = Number.POSITIVE_INFINITY }) =>
    BigInt(rows.filter((each) => lower <= each && each <= upper).length),
  )
  const noisy = addNoise(entry(planned.measurements, 0), counts, systemEntropy()).map(Number)
  const plausible = rows.map((each) => Math.min(each, UNIT.plausibleRows))
  const all = plausible.reduce((sum, each) => sum + each, 0)
  const read = plausible.reduce((sum, each) => sum + Math.min(each, UNIT.maxRows), 0)
  return {
    measured: coverageOf(planned, noisy, UNIT),
    truth: {
      shareRead: read / all,
      rowsLeftOut: all - read,
      people: rows.length,
      peopleBeyond: rows.filter((each) => each > UNIT.maxRows).length,
      implausiblePeople: rows.filter((each) => each > UNIT.plausibleRows).length,
    },
  }
}

/** Planes with 1 to 2,500 flights. */
const PLANES = Array.from({ length: 4_000 }, (_, plane) => Math.max(1, Math.round(2_500 / (1 + plane / 60))))

const contains = ({ lower, upper }: Interval, truth: number) => lower <= truth && truth <= upper

describe('bands', () => {
  test('begin at powers of two and half-way between, divided after maxRows, up to plausibleRows and more', () => {
    expect(bandsOf({ ...UNIT, maxRows: 4, plausibleRows: 20 }).map(nameOfBand)).toEqual([
      '1',
      '2',
      '3',
      '4',
      '5',
      '6 to 7',
      '8 to 11',
      '12 to 15',
      '16 to 20',
      'more than 20',
    ])
    expect(bandsOf({ ...UNIT, maxRows: 1, plausibleRows: 1 }).map(nameOfBand)).toEqual(['1', 'more than 1'])
  })
})

describe('coverage', () => {
  test.each([
    [
      { value: 0.69, lower: 0.61, upper: 0.76 },
      'About 31% of the rows (24% to 39%) are beyond 100 per person',
    ],
    // An estimate that may be 0 is mostly noise: among few people it said 63% where nothing was left out.
    [{ value: 0.37, lower: 0.17, upper: 1 }, 'At most 83% of the rows are beyond 100 per person'],
    [
      { value: 0, lower: 0, upper: 1 },
      'How many rows are beyond 100 per person and are not counted is not known: the estimate is too uncertain to say.',
    ],
  ])('of %j is stated as what is known', (shareRead, sentence) => {
    const { measured } = coverage(PLANES, 0.1)
    const implausiblePeople = { value: 0, lower: 0, upper: 0 }
    const statement = coverageStatement({
      ...DATASET,
      coverage: { ...measured, release: 'r', shareRead, implausiblePeople },
    })
    expect(statement).toContain(sentence)
  })

  test('contains the truth as often as it states, in each number', () => {
    const runs = 100
    const missed = { shareRead: 0, rowsLeftOut: 0, people: 0, peopleBeyond: 0, implausiblePeople: 0 }
    for (let run = 0; run < runs; run += 1) {
      const { measured, truth } = coverage(PLANES, 0.1)
      for (const name of ['shareRead', 'rowsLeftOut', 'people', 'peopleBeyond', 'implausiblePeople'] as const)
        if (!contains(measured[name], truth[name])) missed[name] += 1
    }
    // 5 % of 100 and four standard deviations.
    for (const number of Object.values(missed)) expect(number).toBeLessThan(14)
  })

  test('states no wider interval of a count of people than its noise needs', () => {
    const many = Array.from({ length: 50_000 }, () => 5_000)
    const { lower, upper } = coverage(many, 0.1).measured.implausiblePeople
    // Twice the 95 % quantile of Laplace noise of scale 10.
    expect(upper - lower).toBeGreaterThan(0.95 * 20 * Math.log(20))
    expect(upper - lower).toBeLessThan(1.05 * 20 * Math.log(20))
  })

  test('is precise enough to warn', () => {
    const { measured, truth } = coverage(PLANES, 0.5)
    expect(truth.shareRead).toBeLessThan(0.75)
    expect(measured.shareRead.upper).toBeLessThan(0.9)
    expect(measured.shareRead.lower).toBeGreaterThan(0.4)
    expect(measured.people.upper - measured.people.lower).toBeLessThan(100)
  })

  test('of a dataset that keeps every row is close to the whole', () => {
    const rows = Array.from({ length: 20_000 }, (_, person) => 1 + (person % 60))
    const { measured } = coverage(rows, 1)
    expect(measured.shareRead.upper).toBe(1)
    expect(measured.shareRead.lower).toBeGreaterThan(0.97)
    expect(measured.rowsLeftOut.lower).toBe(0)
  })

  test('of nobody is anything between nothing and all', () => {
    for (let run = 0; run < 20; run += 1) {
      const { shareRead } = coverage([], 0.1).measured
      expect(shareRead.lower).toBeGreaterThanOrEqual(0)
      expect(shareRead.lower).toBeLessThanOrEqual(shareRead.value)
      expect(shareRead.value).toBeLessThanOrEqual(shareRead.upper)
    }
  })

  test('has every person in one band', () => {
    const bands = bandsOf(UNIT)
    for (const rows of [1, 2, 3, 99, 100, 101, 127, 128, 1_000])
      expect(
        bands.filter(
          ({ lower, upper }) => lower <= rows && rows <= must(upper ?? Number.MAX_VALUE, 'an end'),
        ),
      ).toHaveLength(1)
  })
})

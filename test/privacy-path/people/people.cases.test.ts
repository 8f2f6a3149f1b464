import { describe, expect, test } from 'vitest'
import { QUERY_KINDS } from '../../../schemas/answers/query.ts'
import { calibrateKeyPresence } from '../../../src/core/mechanisms/selection/key-selection.ts'
import type { Bounding } from '../../../src/core/planner/language/aggregate.ts'
import { plan } from '../../../src/core/planner/plan.ts'
import type { Plan, PlanOf } from '../../../src/core/planner/plans/plan-kinds.ts'
import { epsilonNano } from '../../../src/privacy/loss.ts'
import { someOf } from '../../cases.ts'
import type { StoredRow } from '../../engines/reference-engine.ts'
import { PERSON, RANK } from '../../engines/reference-people.ts'
import { observe } from '../distributions.ts'
import { examine, examineWrong, expectViolations } from '../examination.ts'
import { RIVALS, SOME_ROWS, slackOf, titleOf, type Wire } from '../queries.ts'
import {
  MOST_ROWS,
  MOST_ROWS_SKEWED,
  type Pairs,
  peoplePairs,
  skewedPairs,
  tinyPeople,
} from '../tiny-datasets.ts'
import {
  withMonotonicScores,
  withNoiseTimes,
  withSensitivitiesFarTooSmall,
  withSensitivitiesTooSmall,
} from '../wrong-plans.ts'
import { BY_REGION, BY_SEX, keepingOneRow, PROFILES_BY_REGION, spentByBatch } from './people-batches.ts'
import {
  NOTES,
  PEOPLE_QUERIES,
  peoplePairsFor,
  peoplePlanner,
  queriesOfPeople,
  REGIONS,
} from './people-queries.ts'

/*
 * The whole path of every kind of query where a person has several rows: the distribution of the release on every pair
 * of tiny datasets that differ in one person with all rows, and a check that the charged price covers the privacy loss
 * between the two distributions.
 */

const KINDS_OF_NEIGHBOURS = ['add-remove', 'change-one'] as const

test('every kind of query is examined, or has only statistics that others have', () => {
  const others = new Set(['standardDeviation'])
  const examined = new Set(PEOPLE_QUERIES.map(({ wire }) => wire.kind))
  expect(QUERY_KINDS.filter((kind) => !examined.has(kind) && !others.has(kind))).toEqual([])
})

describe.each(KINDS_OF_NEIGHBOURS)('under %s', (neighbours) => {
  test.each(
    someOf(queriesOfPeople(neighbours)).map(({ wire, tight }) => [titleOf(wire), wire, tight] as const),
  )('%s', (_, wire, tight) => {
    const planFor = peoplePlanner(wire, neighbours)
    const pairs = peoplePairsFor(wire, neighbours)
    const { share, violation } = examine(planFor, pairs)
    expect(violation, `spends ${share} of its price`).toBeUndefined()
    if (tight === 'both' || tight === neighbours) {
      expect(share).toBeGreaterThan(1 - slackOf(wire))
      expectViolations(planFor, pairs, withSensitivitiesTooSmall)
      const understated = examine(planFor, pairs, ({ loss }) => ({
        ...loss,
        epsilonNano: epsilonNano((loss.epsilonNano * 99n) / 100n),
      }))
      expect(understated.violation, 'a price that is 1% too low went unseen').toBeDefined()
    } else if (planFor(3).kind === 'additive') {
      expectViolations(planFor, pairs, withSensitivitiesFarTooSmall)
    }
  })

  // The joint distributions of several keys with thresholds for fifty keys are too large, and so are all sums of fifty
  // rows.
  test.each(
    someOf(queriesOfPeople(neighbours))
      .filter(({ wire }) => !isTooLarge(wire))
      .map(({ wire }) => [titleOf(wire), wire] as const),
  )('%s: people with one row or fifty', (_, wire) => {
    const planFor = peoplePlanner(wire, neighbours, plan, (kind, people) =>
      tinyPeople(kind, people, MOST_ROWS_SKEWED),
    )
    const { share, violation } = examine(planFor, skewedPairs[neighbours])
    expect(violation, `spends ${share} of its price`).toBeUndefined()
  })
})

function isTooLarge({ kind, perPerson }: Wire): boolean {
  return kind === 'keySelection' || (kind !== 'mean' && perPerson !== undefined)
}

/*
 * Wrong versions.
 */

function withGroupBounding(plan: PlanOf<'groups'>, bounding: Bounding): PlanOf<'groups'> {
  const { sums } = plan
  return {
    ...plan,
    ...(sums === undefined ? {} : { sums: { ...sums, aggregate: { ...sums.aggregate, bounding } } }),
    quantiles: plan.quantiles.map((each) => ({ ...each, counting: { ...each.counting, bounding } })),
  }
}

/** Reads the data of a plan with another bounding. */
function observedWith(bounding: Bounding): typeof observe {
  return (planned, rows) => {
    if (planned.kind === 'additive' || planned.kind === 'noisy-max' || planned.kind === 'cumulative')
      return observe({ ...planned, aggregate: { ...planned.aggregate, bounding } }, rows)
    if (planned.kind === 'groups') return observe(withGroupBounding(planned, bounding), rows)
    if (planned.kind === 'marginals') {
      const scans = planned.scans.map((scan) => ({ ...scan, aggregate: { ...scan.aggregate, bounding } }))
      return observe({ ...planned, scans }, rows)
    }
    return observe({ ...planned, counting: { ...planned.counting, bounding } }, rows)
  }
}

/** Reads the data of a plan after a change to the dataset. */
function observedAfter(change: (rows: readonly StoredRow[]) => readonly StoredRow[]): typeof observe {
  return (planned, rows) => observe(planned, change(rows))
}

const ONE_EACH: Wire = { kind: 'count', where: SOME_ROWS, contribution: { rows: 1 }, epsilon: 0.7 }
const ONE_REGION: Wire = { ...REGIONS, contribution: { groups: 1 } }

/** Ranks each person's rows by how common their region is among the rows of all people. */
function rankedByOthers(rows: readonly StoredRow[]): readonly StoredRow[] {
  const common = (region: StoredRow[string]) => rows.filter((row) => row.Region === region).length
  const ordered = rows.toSorted((a, b) => common(b.Region ?? null) - common(a.Region ?? null))
  const ranks = new Map<unknown, number>()
  return ordered.map((row) => {
    const rank = (ranks.get(row[PERSON]) ?? 0) + 1
    ranks.set(row[PERSON], rank)
    return { ...row, [RANK]: rank }
  })
}

describe.each(KINDS_OF_NEIGHBOURS)('wrong versions under %s', (neighbours) => {
  const violationOf = (wire: Wire, observeFor: typeof observe) =>
    examine(peoplePlanner(wire, neighbours), peoplePairs[neighbours], undefined, observeFor).violation

  test('rows that are bounded after they were added up are detected', () => {
    expect(violationOf(ONE_EACH, observe)).toBeUndefined()
    expect(violationOf(ONE_EACH, observedWith({ kind: 'rows', rows: MOST_ROWS }))).toBeDefined()
    const cells: Bounding = { kind: 'groups', groups: 1, rowsPerGroup: MOST_ROWS }
    expect(violationOf(ONE_REGION, observe)).toBeUndefined()
    expect(violationOf(ONE_REGION, observedWith(cells))).toBeDefined()
  })

  test('a choice of rows that depends on other people is detected', () => {
    const wire: Wire = { ...ONE_REGION, of: 'people' }
    expect(violationOf(wire, observe)).toBeUndefined()
    expect(violationOf(wire, observedAfter(rankedByOthers))).toBeDefined()
  })

  test('the rows of one cell taken for rows in different cells (L2) are detected', () => {
    const wire: Wire = { ...REGIONS, mechanism: 'gaussian', delta: 1e-6 }
    const { violation } = examineWrong(peoplePlanner(wire, neighbours), peoplePairs[neighbours], (right) => {
      if (right.kind !== 'additive') throw new Error('a table')
      // The square root of 3 in place of 3.
      const measurements = right.measurements.map((each) => withNoiseTimes(each, 1_000_000n, 1_732_050n))
      return { ...right, measurements }
    })
    expect(violation).toBeDefined()
  })

  test('the cells of a table at the price of one are detected', () => {
    const wire: Wire = { ...REGIONS, of: 'people', mechanism: 'geometric' }
    const { violation } = examineWrong(peoplePlanner(wire, neighbours), peoplePairs[neighbours], (right) => {
      if (right.kind !== 'additive') throw new Error('a table')
      return { ...right, measurements: right.measurements.map((each) => withNoiseTimes(each, 1n, 3n)) }
    })
    expect(violation).toBeDefined()
  })

  test('a threshold for one key of each person is detected', () => {
    const wire: Wire = { ...NOTES, counts: false }
    const planFor = peoplePlanner(wire, neighbours)
    const { violation } = examineWrong(planFor, peoplePairsFor(wire, neighbours), (right) => {
      if (right.kind !== 'key-selection') throw new Error('keys')
      const keys = neighbours === 'add-remove' ? 1n : 2n
      const oneKey = { l0: keys, l1: keys, l2Squared: keys, lInfinity: 1n, rising: 1n }
      const { epsilonNano, deltaAtto } = right.loss
      return { ...right, measurement: calibrateKeyPresence(oneKey, epsilonNano, deltaAtto) }
    })
    expect(violation).toBeDefined()
  })

  test('a column taken as constant per person without enforcement is detected', () => {
    const region = (planned: Plan) => planned.dataset.columns.find(({ name }) => name === 'Region')
    const datasetOf = withConstant('Region')
    const planFor = peoplePlanner({ ...REGIONS, of: 'people' }, neighbours, plan, datasetOf)
    expect(region(planFor(3))).toMatchObject({ constantPerPerson: true })
    expect(examine(planFor, peoplePairs[neighbours]).violation).toBeDefined()
    expect(examine(planFor, enforced('Region', peoplePairs[neighbours])).violation).toBeUndefined()
  })
})

test('bounding before `where` counts other rows than bounding after it', () => {
  const planned = peoplePlanner(ONE_EACH, 'add-remove')(3)
  const firstOnly = (rows: readonly StoredRow[]) => rows.filter((row) => row[RANK] === 1)
  const differs = peoplePairs['add-remove']
    .flatMap(({ pairs }) => pairs)
    .some(({ one }) => {
      const [right, wrong] = [one, firstOnly(one)].map((rows) => JSON.stringify(integersOf(planned, rows)))
      return right !== wrong
    })
  expect(differs).toBe(true)
})

test('counts of a replaced person treated as monotonic are detected', () => {
  const wire: Wire = { kind: 'noisyMax', candidates: RIVALS, of: 'people', epsilon: 60 }
  const wrong = examineWrong(
    peoplePlanner(wire, 'change-one'),
    peoplePairs['change-one'],
    withMonotonicScores,
  )
  expect(wrong.violation).toBeDefined()
})

function integersOf(planned: Plan, rows: readonly StoredRow[]): readonly (readonly string[])[] {
  const observed = observe(planned, rows)
  if (observed.kind !== 'integers') throw new Error('integers')
  return observed.integers.map((cells) => cells.map(String))
}

/** Tiny people of whom a further column is declared constant per person. */
function withConstant(name: string): typeof withoutOthers {
  return (kind, people) => {
    const dataset = withoutOthers(kind, people)
    const columns = dataset.columns.map((column) =>
      column.name === name && column.type !== 'identifier' ? { ...column, constantPerPerson: true } : column,
    )
    return { ...dataset, columns }
  }
}

function withoutOthers(kind: (typeof KINDS_OF_NEIGHBOURS)[number], people: number) {
  return tinyPeople(kind, people, MOST_ROWS)
}

/** The pairs after ingestion has made a column constant per person. */
function enforced(name: string, families: readonly Pairs[]): readonly Pairs[] {
  const constant = (rows: readonly StoredRow[]) =>
    rows.map((row) => {
      const first = rows.find((other) => other[PERSON] === row[PERSON] && other[RANK] === 1)
      return { ...row, [name]: first?.[name] ?? null }
    })
  return families.map(({ units, pairs }) => ({
    units,
    pairs: pairs.map(({ one, other }) => ({ one: constant(one), other: constant(other) })),
  }))
}

/*
 * Batches: predicates partition rows, not people.
 */

describe.each(KINDS_OF_NEIGHBOURS)('batches under %s', (neighbours) => {
  test('queries that separate rows, but not people, cost as many as a person has rows', () => {
    const { share, price } = spentByBatch(BY_REGION, neighbours)
    expect(share).toBeLessThanOrEqual(1 + 1e-9)
    expect(price).toBe(neighbours === 'add-remove' ? 1.75 : 1.875)
    if (neighbours === 'add-remove') expect(share).toBeGreaterThan(1 - 1e-9)
  })

  test('profiles that separate rows cost all of them, however few rows of a person the dataset keeps', () => {
    const { share, price } = spentByBatch(PROFILES_BY_REGION, neighbours, { datasetOf: keepingOneRow })
    expect(share).toBeLessThanOrEqual(1 + 1e-9)
    expect(price).toBe(1.875)
  })

  test('queries that separate people cost one, or two where a person is replaced', () => {
    const { share, price } = spentByBatch(BY_SEX, neighbours)
    expect(share).toBeLessThanOrEqual(1 + 1e-9)
    expect(share).toBeGreaterThan(1 - 1e-9)
    expect(price).toBe(neighbours === 'add-remove' ? 1 : 1.5)
  })

  test('queries that separate rows, taken to separate people, are detected', () => {
    expect(spentByBatch(BY_REGION, neighbours, { datasetOf: withConstant('Region') }).share).toBeGreaterThan(
      1.01,
    )
  })
})

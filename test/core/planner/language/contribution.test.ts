import { describe, expect, test } from 'vitest'
import { query as querySchema } from '../../../../schemas/answers/query.ts'
import { sessionReport } from '../../../../src/answers/documents/session.ts'
import type { Dataset } from '../../../../src/core/dataset/dataset.ts'
import { plan } from '../../../../src/core/planner/plan.ts'
import type { Plan } from '../../../../src/core/planner/plans/plan-kinds.ts'
import { accuracyReport } from '../../../../src/core/planner/report.ts'
import { planSession, sessionUnderTerms, termsOfSession } from '../../../../src/core/planner/session.ts'
import { canonicalJson } from '../../../../src/ledger/canonical.ts'
import { epsilonNumber } from '../../../../src/privacy/loss.ts'
import type { Neighbours } from '../../../../src/privacy/neighbours.ts'
import { thrownRefusal } from '../../../refusal.ts'
import { patients, people } from '../neighbours/people.ts'
import { LIMITS, planFor } from '../planned.ts'

const MAX_ROWS = 4

function planned(wire: object, dataset: Dataset): Plan {
  return plan(querySchema.parse({ epsilon: 1, ...wire }), dataset, LIMITS)
}

const planOf = (wire: object, neighbours: Neighbours = 'add-remove') =>
  planned(wire, patients(neighbours, MAX_ROWS))

/** The norms of the first statistic. */
function normsOf(wire: object, neighbours?: Neighbours) {
  const { measurements } = planFor('additive', planOf(wire, neighbours))
  const { l0, l1, l2Squared, lInfinity } = measurements[0]?.sensitivity ?? {}
  return [l0, l1, l2Squared, lInfinity].map(Number)
}

function refusalOf(wire: object, dataset: Dataset = patients('add-remove', MAX_ROWS)) {
  const { code, errors } = thrownRefusal(() => planned(wire, dataset))
  return [code, errors.map(({ field }) => field)]
}

const histogram = { kind: 'histogram', column: { column: 'Age', edges: [0, 30, 60, 90, 120] } }

describe('the sensitivity of a query', () => {
  test.each<readonly [what: string, wire: object, norms: readonly number[]]>([
    ['rows', { kind: 'count' }, [1, 4, 16, 4]],
    ['bounded rows', { kind: 'count', contribution: { rows: 2 } }, [1, 2, 4, 2]],
    ['people', { kind: 'count', of: 'people' }, [1, 1, 1, 1]],
    ['rows in a table', histogram, [4, 4, 16, 4]],
    ['people in a table', { ...histogram, of: 'people' }, [4, 4, 4, 1]],
    ['people in up to two groups', { ...histogram, of: 'people', contribution: { groups: 2 } }, [2, 2, 2, 1]],
    [
      'two rows in up to two groups',
      { ...histogram, contribution: { groups: 2, rowsPerGroup: 2 } },
      [2, 4, 8, 2],
    ],
    [
      'up to three rows in two groups, of four in all',
      { ...histogram, contribution: { groups: 2, rowsPerGroup: 3 } },
      [2, 4, 10, 3],
    ],
    [
      'people in a table over a constant column',
      { kind: 'histogram', column: 'Sex', of: 'people' },
      [1, 1, 1, 1],
    ],
    ['rows in a table over a constant column', { kind: 'histogram', column: 'Region' }, [1, 4, 16, 4]],
    ['a sum', { kind: 'sum', column: 'Age' }, [1, 480, 480 ** 2, 480]],
    [
      'a sum of bounded rows',
      { kind: 'sum', column: 'Age', contribution: { rows: 1 } },
      [1, 120, 120 ** 2, 120],
    ],
  ])('%s', (_, wire, norms) => {
    expect(normsOf({ mechanism: 'geometric', ...wire })).toEqual(norms)
  })

  test('a replaced person moves twice as many cells, but no more than there are', () => {
    const one = { ...histogram, of: 'people', contribution: { groups: 1 } }
    expect(normsOf(one, 'change-one')).toEqual([2, 2, 2, 1])
    expect(normsOf({ ...histogram, of: 'people' }, 'change-one')).toEqual([4, 4, 4, 1])
    expect(normsOf({ kind: 'count', of: 'people' }, 'change-one')).toEqual([1, 1, 1, 1])
  })

  test.each([
    [{ kind: 'noisyMax', candidates: histogram }, 4n],
    [{ kind: 'noisyMax', candidates: histogram, contribution: { rows: 3 } }, 3n],
    [{ kind: 'noisyMax', candidates: histogram, contribution: { groups: 4, rowsPerGroup: 2 } }, 2n],
    [{ kind: 'noisyMax', candidates: histogram, of: 'people' }, 1n],
  ])('of a selection: %j is %d', ({ candidates: { column }, ...wire }, sensitivity) => {
    const { measurement } = planFor('noisy-max', planOf({ ...wire, candidates: { column } }))
    expect(measurement.sensitivity).toBe(sensitivity)
    expect(measurement.monotonic).toBe(true)
  })

  test.each([
    [{ kind: 'median', column: 'Age' }, 4n],
    [{ kind: 'median', column: 'Age', contribution: { rows: 1 } }, 1n],
  ])('of a quantile: %j is %d', (wire, sensitivity) => {
    const { measurements } = planFor('quantile', planOf(wire))
    expect(measurements.map((measurement) => measurement.sensitivity)).toEqual([sensitivity])
  })
})

describe('what an answer says about the contribution', () => {
  test.each<readonly [wire: object, contribution: object]>([
    [{ kind: 'count' }, { rows: 4, factor: 4 }],
    [
      { kind: 'count', contribution: { rows: 2 } },
      { rows: 2, factor: 2 },
    ],
    [
      { kind: 'count', of: 'people' },
      { rows: 4, factor: 1 },
    ],
    [
      { ...histogram, of: 'people' },
      { rows: 4, factor: 4 },
    ],
    [
      { ...histogram, of: 'people', mechanism: 'gaussian', delta: 1e-6 },
      { rows: 4, factor: 2 },
    ],
    [
      { ...histogram, contribution: { groups: 2 } },
      { groups: 2, rowsPerGroup: 1, factor: 2 },
    ],
    [
      { kind: 'mean', column: 'Age', contribution: { rows: 3 } },
      { rows: 3, factor: 3 },
    ],
    [
      { kind: 'median', column: 'Age', contribution: { rows: 2 } },
      { rows: 2, factor: 2 },
    ],
    [
      { kind: 'noisyMax', candidates: { column: 'Region' } },
      { rows: 4, factor: 4 },
    ],
    [
      { kind: 'noisyMax', candidates: { column: 'Region' }, of: 'people' },
      { rows: 4, factor: 1 },
    ],
  ])('%j: %j', (wire, contribution) => {
    expect(planOf(wire).contribution).toEqual(contribution)
  })

  test('the largest factor of the sums and the quantiles of groups', () => {
    const wire = {
      kind: 'groupBy',
      keys: ['Member'],
      statistics: [
        { kind: 'median', column: 'Age' },
        { kind: 'sum', column: 'Age' },
      ],
      contribution: { groups: 2, rowsPerGroup: 2 },
    }
    const stated = { groups: 2, rowsPerGroup: 2, factor: 4 }
    expect(planOf(wire).contribution).toEqual(stated)
    const perPerson = { lower: 0, upper: 600 }
    const clamped = { ...wire, contribution: { ...wire.contribution, perPerson } }
    // Totals of up to 240 in two groups, beside rows of up to 120 in one.
    expect(planOf(clamped).contribution).toEqual({ ...stated, perPerson })
  })

  test('nothing, where each row is a privacy unit', () => {
    expect(planned({ kind: 'count' }, people('add-remove'))).not.toHaveProperty('contribution')
  })

  test('accuracy is stated in people for a selection among counts of people', () => {
    const wire = { kind: 'noisyMax', candidates: { column: 'Region' } }
    const units = [wire, { ...wire, of: 'people' }].map((each) => accuracyReport(planOf(each)).unit)
    expect(units).toEqual(['rows', 'people'])
  })
})

describe('accuracy first', () => {
  const target = { accuracy: { halfWidth: 30 } }
  const epsilonOf = (wire: object) => {
    const { loss } = plan(querySchema.parse({ ...target, ...wire }), patients('add-remove', MAX_ROWS), LIMITS)
    return epsilonNumber(loss.epsilonNano)
  }

  test('costs as many times the epsilon as one person may have rows', () => {
    const people = epsilonOf({ kind: 'count', of: 'people', mechanism: 'laplace' })
    for (const rows of [1, 2, 4])
      expect(epsilonOf({ kind: 'count', contribution: { rows }, mechanism: 'laplace' }) / people).toBeCloseTo(
        rows,
        2,
      )
  })

  test('of a mean per person takes the supposed number of people', () => {
    const wire = { kind: 'mean', column: 'Age', perPerson: 'sum', supposed: { rows: 1_000 } }
    expect(epsilonOf({ ...wire, accuracy: { halfWidth: 5 } })).toBeGreaterThan(0)
    expect(() => epsilonOf({ ...wire, supposed: {} })).toThrow('supposed.rows')
    // The values per person are 0 to 480.
    expect(epsilonOf({ ...wire, supposed: { rows: 1_000, mean: 480 } })).toBeGreaterThan(0)
    expect(() => epsilonOf({ ...wire, supposed: { rows: 1_000, mean: 481 } })).toThrow('supposed.mean')
  })
})

describe('refused, naming field and rule', () => {
  test.each<readonly [wire: object, code: string, field: string]>([
    [{ kind: 'count', contribution: { rows: 5 } }, 'query-does-not-fit', 'contribution.rows'],
    [{ ...histogram, contribution: { groups: 5 } }, 'query-does-not-fit', 'contribution.groups'],
    [
      { ...histogram, contribution: { groups: 1, rowsPerGroup: 5 } },
      'query-does-not-fit',
      'contribution.rowsPerGroup',
    ],
    [{ kind: 'count', contribution: { groups: 1 } }, 'query-does-not-fit', 'contribution.groups'],
    [
      { kind: 'median', column: 'Age', contribution: { groups: 1 } },
      'query-does-not-fit',
      'contribution.groups',
    ],
    [
      { kind: 'noisyMax', candidates: { predicates: [] }, contribution: { groups: 1 } },
      'query-does-not-fit',
      'contribution.groups',
    ],
    [{ ...histogram, contribution: { groups: 1, rows: 1 } }, 'invalid-request', 'contribution.groups'],
    [{ ...histogram, contribution: { rowsPerGroup: 1 } }, 'invalid-request', 'contribution.rowsPerGroup'],
    [
      { kind: 'count', contribution: { perPerson: { lower: 0, upper: 1 } } },
      'query-does-not-fit',
      'contribution.perPerson',
    ],
  ])('%j', (wire, code, field) => {
    const predicates = ['N', 'E'].map((name) => ({
      name,
      where: { column: 'Region', op: '=', value: name },
    }))
    const candidates = 'candidates' in wire ? { candidates: { predicates } } : {}
    expect(refusalOf({ ...wire, ...candidates })).toEqual([code, [field]])
  })

  test.each<readonly [wire: object, field: string]>([
    [{ kind: 'count', contribution: { rows: 1 } }, 'contribution'],
    [{ kind: 'count', of: 'people' }, 'of'],
    [{ ...histogram, of: 'people' }, 'of'],
    [{ kind: 'noisyMax', candidates: { column: 'Region' }, of: 'people' }, 'of'],
    [{ kind: 'groupBy', keys: ['Sex'], statistics: [{ kind: 'count', of: 'people' }] }, 'statistics.0.of'],
  ])('where each row is a privacy unit: %j', (wire, field) => {
    expect(refusalOf(wire, people('add-remove'))).toEqual(['query-does-not-fit', [field]])
  })
})

describe('values of free text', () => {
  const keys = { kind: 'keySelection', column: 'Note', delta: 1e-6 }
  const distinct = { kind: 'countDistinct', column: 'Note', mechanism: 'geometric' }

  test.each<
    readonly [contribution: object | undefined, neighbours: Neighbours, keys: bigint, rising: bigint]
  >([
    [undefined, 'add-remove', 4n, 4n],
    [{ rows: 2 }, 'add-remove', 2n, 2n],
    [{ groups: 3 }, 'add-remove', 3n, 3n],
    [undefined, 'change-one', 8n, 4n],
    [{ groups: 1 }, 'change-one', 2n, 1n],
  ])('a selection with contribution %j under %s moves %d keys', (contribution, neighbours, l0, rising) => {
    const wire = { ...keys, ...(contribution === undefined ? {} : { contribution }) }
    const { measurement, counting } = planFor('key-selection', planOf(wire, neighbours))
    expect(measurement.sensitivity).toEqual({ l0, l1: l0, l2Squared: l0, lInfinity: 1n, rising })
    expect(counting.people).toBe(true)
  })

  test('a selection states the number of people of a key that appears', () => {
    const { unit, peopleToAppear, rowsToAppear } = accuracyReport(planOf(keys))
    expect([unit, rowsToAppear]).toEqual(['people', undefined])
    expect(peopleToAppear).toBeGreaterThan(1)
    const ofRows = accuracyReport(planned(keys, people('add-remove')))
    expect([ofRows.unit, ofRows.peopleToAppear]).toEqual(['rows', undefined])
    expect(ofRows.statement).toBe(`A key needs about ${ofRows.rowsToAppear} rows to appear.`)
    expect(planOf({ ...keys, contribution: { groups: 3 } }).contribution).toEqual({
      groups: 3,
      rowsPerGroup: 1,
      factor: 3,
    })
  })

  test.each<readonly [contribution: object | undefined, norms: readonly number[], stated: object]>([
    [undefined, [1, 4, 16, 4], { rows: 4, factor: 4 }],
    [{ rows: 2 }, [1, 2, 4, 2], { rows: 2, factor: 2 }],
    [{ groups: 3 }, [1, 3, 9, 3], { groups: 3, rowsPerGroup: 1, factor: 3 }],
  ])('a count of distinct values with contribution %j', (contribution, norms, stated) => {
    const wire = { ...distinct, ...(contribution === undefined ? {} : { contribution }) }
    expect(normsOf(wire)).toEqual(norms)
    expect(planOf(wire).contribution).toEqual(stated)
    // The bounds on values are the statistic's own: no row is left out before.
    const { aggregate } = planFor('additive', planOf({ ...distinct, contribution: { groups: 3 } }))
    expect(aggregate).toMatchObject({
      bounding: { kind: 'rows', rows: 4 },
      statistics: [{ kind: 'count-distinct-values', column: 'Note', valuesEach: 3 }],
    })
  })

  test('of rows, each with one value', () => {
    const { measurements } = planFor('additive', planned(distinct, people('add-remove')))
    expect(measurements[0]?.sensitivity).toEqual({ l0: 1n, l1: 1n, l2Squared: 1n, lInfinity: 1n })
  })

  test('are refused where they are not declared as selectable, or where a unit may be replaced', () => {
    const undeclared = people('add-remove')
    const columns = undeclared.columns.map((column) => {
      if (column.type !== 'string') return column
      const { selectable: _, ...facts } = column
      return facts
    })
    for (const wire of [keys, distinct])
      expect(refusalOf(wire, { ...undeclared, columns })).toEqual(['query-does-not-fit', ['column']])
    expect(refusalOf(distinct, patients('change-one'))).toEqual(['query-does-not-fit', ['column']])
    expect(refusalOf(distinct, people('change-one'))).toEqual(['query-does-not-fit', ['column']])
    expect(refusalOf({ ...keys, contribution: { groups: 1, rowsPerGroup: 2 } })).toEqual([
      'query-does-not-fit',
      ['contribution.rowsPerGroup'],
    ])
  })
})

describe('a value of each person', () => {
  /** The first statistic, its range and its norms. */
  function planOfValue(wire: object, neighbours?: Neighbours) {
    const { aggregate, measurements, estimates } = planFor('additive', planOf(wire, neighbours))
    const [statistic] = aggregate.statistics
    const { l0, l1, l2Squared, lInfinity } = measurements[0]?.sensitivity ?? {}
    return {
      statistic,
      norms: [l0, l1, l2Squared, lInfinity].map(Number),
      statistics: aggregate.statistics,
      estimates,
    }
  }

  test.each<readonly [wire: object, value: object, norms: readonly number[]]>([
    // Ages are 0 to 120, and a person has up to 4 rows: the total is 0 to 480, about the middle 240, in half steps.
    [{ perPerson: 'sum' }, { kind: 'sum', lower: 0n, upper: 480n }, [1, 480, 480 ** 2, 480]],
    [{ perPerson: 'count' }, { kind: 'count', lower: 1n, upper: 4n }, [1, 3, 9, 3]],
    [{ perPerson: 'mean' }, { kind: 'mean', lower: 0n, upper: 120n }, [1, 120, 120 ** 2, 120]],
    [
      { perPerson: 'sum', contribution: { perPerson: { lower: 20, upper: 100 } } },
      { kind: 'sum', lower: 20n, upper: 100n },
      [1, 80, 80 ** 2, 80],
    ],
    [
      { perPerson: 'sum', contribution: { rows: 2, perPerson: { lower: -5, upper: 1000 } } },
      { kind: 'sum', lower: 0n, upper: 240n },
      [1, 240, 240 ** 2, 240],
    ],
    [
      { perPerson: 'count', contribution: { rows: 1 } },
      { kind: 'count', lower: 0n, upper: 1n },
      [1, 1, 1, 1],
    ],
  ])('mean of %j', (wire, value, norms) => {
    const planned = planOfValue({ kind: 'mean', column: 'Age', mechanism: 'geometric', ...wire })
    expect(planned.statistic).toMatchObject({
      kind: 'affine-sum',
      factor: 2n,
      perPerson: { column: 'Age', ...value },
    })
    expect(planned.norms).toEqual(norms)
    expect(planned.statistics[1]).toEqual({ kind: 'count-people' })
  })

  test('is divided by the public number of people where there is one', () => {
    const { statistics, estimates } = planOfValue(
      { kind: 'mean', column: 'Age', perPerson: 'sum' },
      'change-one',
    )
    expect(statistics).toHaveLength(1)
    expect(estimates).toMatchObject([{ kind: 'mean', rows: { kind: 'public', value: 50 } }])
    // The people with an income are fewer, and the number of rows is not public.
    for (const wire of [{ column: 'Income', perPerson: 'sum' }, { column: 'Age' }])
      expect(planOfValue({ kind: 'mean', ...wire }, 'change-one').statistics).toHaveLength(2)
  })

  test('in each group: rows per group bound its range, groups its number', () => {
    const wire = {
      kind: 'groupBy',
      keys: [histogram.column],
      statistics: [
        { kind: 'mean', column: 'Age', perPerson: 'count' },
        { kind: 'mean', column: 'Age', perPerson: 'sum' },
        { kind: 'count', of: 'people' },
      ],
      contribution: { groups: 2, rowsPerGroup: 3 },
      mechanism: 'geometric',
    }
    const { norms, statistics } = planOfValue(wire)
    expect(norms).toEqual([2, 4, 8, 2])
    expect(statistics).toHaveLength(3)
    expect(statistics[2]).toMatchObject({ perPerson: { kind: 'sum', lower: 0n, upper: 360n } })
  })

  test.each<readonly [wire: object, lower: bigint, upper: bigint]>([
    [{ perPerson: 'sum' }, 0n, 480n],
    [{ perPerson: 'count' }, 1n, 4n],
    [{ perPerson: 'mean', contribution: { perPerson: { lower: 18, upper: 65 } } }, 18n, 65n],
  ])('quantiles of %j', (wire, lower, upper) => {
    const planned = planOf({ kind: 'median', column: 'Age', ...wire })
    const { counting, measurements } = planFor('quantile', planned)
    expect(counting.column).toBeUndefined()
    expect(counting.perPerson).toMatchObject({ column: 'Age', lower, upper })
    expect(measurements).toMatchObject([{ sensitivity: 1n, lowerIndex: lower, upperIndex: upper }])
    expect(accuracyReport(planned).unit).toBe('people')
    expect(planned.contribution?.factor).toBe(1)
  })
})

describe("a person's clamped total", () => {
  const clamp = { perPerson: { lower: 0, upper: 50 } }

  test.each<readonly [wire: object, norms: readonly number[]]>([
    [{ kind: 'sum', column: 'Age', contribution: clamp }, [1, 50, 2500, 50]],
    [{ kind: 'mean', column: 'Age', contribution: clamp }, [1, 50, 2500, 50]],
    [
      {
        kind: 'groupBy',
        keys: [histogram.column],
        statistics: [{ kind: 'sum', column: 'Age' }],
        contribution: { groups: 2, rowsPerGroup: 2, ...clamp },
      },
      [2, 100, 5000, 50],
    ],
    [
      { kind: 'sum', column: 'Balance', contribution: { perPerson: { lower: -10, upper: 5 } } },
      [1, 200, 40000, 200],
    ],
  ])('%j', (wire, norms) => {
    expect(normsOf({ mechanism: 'laplace', ...wire })).toEqual(norms)
  })

  test('is stated, with its effect on the noise', () => {
    const wire = { kind: 'sum', column: 'Age', contribution: { rows: 3, ...clamp } }
    expect(planOf(wire).contribution).toEqual({ rows: 3, ...clamp, factor: 50 / 120 })
  })

  test('divided by the number of rows is the mean, whose bounds follow from the clamp', () => {
    const { estimates, aggregate } = planFor(
      'additive',
      planOf({ kind: 'mean', column: 'Age', contribution: clamp }),
    )
    expect(aggregate.statistics[1]).toEqual({ kind: 'count' })
    expect(estimates).toMatchObject([
      { kind: 'mean', about: 'zero', column: { lowerIndex: 0n, upperIndex: 50n } },
    ])
    // It is never negative, so negative answers may be cut off.
    const wire = { kind: 'mean', column: 'Age', contribution: clamp, postprocess: { nonNegative: true } }
    expect(planOf(wire).kind).toBe('additive')
  })

  test.each<readonly [wire: object, field: string]>([
    [{ kind: 'variance', column: 'Age', contribution: clamp }, 'contribution.perPerson'],
    [{ kind: 'median', column: 'Age', contribution: clamp }, 'contribution.perPerson'],
    [
      { kind: 'proportion', of: { column: 'Sex', op: '=', value: 'M' }, contribution: clamp },
      'contribution.perPerson',
    ],
    [
      {
        kind: 'groupBy',
        keys: ['Sex'],
        statistics: ['Age', 'Income'].map((column) => ({ kind: 'sum', column })),
        contribution: clamp,
      },
      'contribution.perPerson',
    ],
    [
      { kind: 'sum', column: 'Age', contribution: { perPerson: { lower: 5, upper: 5 } } },
      'contribution.perPerson.upper',
    ],
    [
      { kind: 'sum', column: 'Age', contribution: { perPerson: { lower: 5, upper: 1 } } },
      'contribution.perPerson.upper',
    ],
    [
      { kind: 'sum', column: 'Age', contribution: { perPerson: { lower: 0.5, upper: 10 } } },
      'contribution.perPerson.lower',
    ],
    [
      { kind: 'sum', column: 'Age', contribution: { perPerson: { lower: 500, upper: 600 } } },
      'contribution.perPerson',
    ],
    [
      {
        kind: 'groupBy',
        keys: ['Sex'],
        statistics: [{ kind: 'median', column: 'Age' }],
        contribution: clamp,
      },
      'contribution.perPerson',
    ],
    [{ kind: 'mean', column: 'Sex', perPerson: 'sum' }, 'column'],
    [{ kind: 'mean', column: 'Sex', perPerson: 'mean' }, 'column'],
  ])('is refused: %j', (wire, field) => {
    expect(refusalOf(wire)).toEqual(['query-does-not-fit', [field]])
  })

  test.each([
    [{ kind: 'mean', column: 'Age', perPerson: 'sum' }, 'perPerson'],
    [{ kind: 'median', column: 'Age', perPerson: 'count' }, 'perPerson'],
    [
      { kind: 'groupBy', keys: ['Sex'], statistics: [{ kind: 'mean', column: 'Age', perPerson: 'sum' }] },
      'statistics.0.perPerson',
    ],
  ])('needs people: %j', (wire, field) => {
    expect(refusalOf(wire, people('add-remove'))).toEqual(['query-does-not-fit', [field]])
  })
})

describe('a session of threshold questions', () => {
  const request = { threshold: 10, positives: 1, epsilon: 1 }
  const session = (wire: object, dataset = patients('add-remove', MAX_ROWS)) =>
    planSession({ ...request, ...wire }, dataset)

  test.each<readonly [wire: object, sensitivity: bigint, contribution: object]>([
    [{}, 4n, { rows: 4, factor: 4 }],
    [{ contribution: { rows: 3 } }, 3n, { rows: 3, factor: 3 }],
    [{ of: 'people' }, 1n, { rows: 4, factor: 1 }],
    [{ of: 'people', contribution: { rows: 1 } }, 1n, { rows: 1, factor: 1 }],
  ])('%j: sensitivity %d', (wire, sensitivity, contribution) => {
    const planned = session(wire)
    expect([planned.measurement.sensitivity, planned.measurement.monotonic]).toEqual([sensitivity, true])
    expect(sessionReport(planned)).toMatchObject({
      contribution,
      noise: { sensitivity: Number(sensitivity) },
    })
    // Later questions count under the terms of the opening.
    const { counted } = sessionUnderTerms(JSON.parse(canonicalJson(termsOfSession(planned))), 1)
    expect(counted).toEqual(planned.counted)
  })

  test.each<readonly [wire: object, field: string]>([
    [{ contribution: { rows: 5 } }, 'contribution.rows'],
    [{ contribution: { groups: 1 } }, 'contribution.groups'],
    [{ contribution: { perPerson: { lower: 0, upper: 1 } } }, 'contribution.perPerson'],
  ])('is refused: %j', (wire, field) => {
    expect(refusalOfSession(() => session(wire))).toEqual([field])
  })

  test('of people needs people', () => {
    expect(refusalOfSession(() => session({ of: 'people' }, people('add-remove')))).toEqual(['of'])
  })

  function refusalOfSession(opening: () => unknown) {
    return thrownRefusal(opening).errors.map(({ field }) => field)
  }
})

import { describe, expect, test } from 'vitest'
import { inquiryOf, knownAbout } from '../../../src/answers/inference/known.ts'
import type { Dataset } from '../../../src/core/dataset/dataset.ts'
import { infer, type PaidRelease } from '../../../src/core/inference/infer.ts'
import type { Releases } from '../../../src/ledger/contract/releases.ts'
import { noAmount } from '../../../src/privacy/accounting.ts'
import { patients, people } from '../planner/neighbours/people.ts'
import { LIMITS } from '../planner/planned.ts'
import { exactRelease, inferred, isInferred, planned } from './inferred.ts'

const ofRows = people('add-remove')
const ofPatients = patients('add-remove')
const count = { kind: 'count' }
const rowsEach = (rows: number) => ({ kind: 'count', of: 'rows', contribution: { rows } })
const release = (wire: object, dataset: Dataset, id = 'paid') => exactRelease(wire, dataset, [], id)
const follows = (target: object, paid: object, dataset: Dataset) =>
  isInferred(infer(planned(target, dataset), [release(paid, dataset)]))

describe('nothing follows', () => {
  test('from another bound on what each person contributes', () => {
    expect(follows(rowsEach(1), rowsEach(1), ofPatients)).toBe(true)
    expect(follows(rowsEach(2), rowsEach(1), ofPatients)).toBe(false)
  })

  test('from a sum with other bounds', () => {
    const sum = { kind: 'sum', column: 'Age' }
    const clamped = { ...sum, clamp: { lower: 18, upper: 65 } }
    expect(follows(clamped, clamped, ofRows)).toBe(true)
    expect(follows(sum, clamped, ofRows)).toBe(false)
    expect(follows(clamped, sum, ofRows)).toBe(false)
    const mean = { kind: 'mean', column: 'Age' }
    expect(follows(sum, mean, ofRows)).toBe(true)
    expect(follows(sum, { ...mean, clamp: clamped.clamp }, ofRows)).toBe(false)
  })

  test('for people from rows, or for rows from people', () => {
    const ofPeople = { kind: 'count', of: 'people' }
    expect(follows(ofPeople, ofPeople, ofPatients)).toBe(true)
    expect(follows(ofPeople, rowsEach(4), ofPatients)).toBe(false)
    expect(follows(rowsEach(4), ofPeople, ofPatients)).toBe(false)
  })

  test('for a total of people from parts that a person can be in several of', () => {
    const parts = (column: string) => ({
      kind: 'groupBy',
      keys: [column],
      statistics: [{ kind: 'count', of: 'people' }],
    })
    const total = {
      kind: 'count',
      of: 'people',
      where: { op: 'not', predicate: { column: 'Member', op: 'isNull' } },
    }
    const constant = { kind: 'count', of: 'people', where: { column: 'Sex', op: 'in', values: ['M', 'F'] } }
    expect(follows(constant, parts('Sex'), ofPatients)).toBe(true)
    expect(isInferred(infer(planned(total, ofPatients), [release(parts('Member'), ofPatients)]))).toBe(false)
  })

  test('from cells that were shown because they are large', () => {
    const all = { kind: 'histogram', column: 'Sex' }
    const largest = { kind: 'topGroups', keys: ['Sex'], k: 1 }
    expect(follows(count, all, ofRows)).toBe(true)
    const selected = release(largest, ofRows)
    expect(selected.plan.shown).toMatchObject({ largest: 1 })
    expect(isInferred(infer(planned(count, ofRows), [selected]))).toBe(false)
    // Nor do such cells themselves: a top-up would show what it has measured in the others.
    expect(follows(largest, all, ofRows)).toBe(false)
  })
})

describe('stored releases', () => {
  /** An analyst's releases of a count, each with the id of what it measured. */
  const ledgerOf = (dataset: Dataset, measurements: readonly string[]): Pick<Releases, 'releases'> => ({
    releases: async () => ({
      releases: measurements.map((measurement, place) => ({
        id: `release ${place}`,
        dataset: dataset.id,
        datasetVersion: dataset.version,
        principal: 'ada',
        kind: 'count',
        answeredAtMs: place,
        request: JSON.stringify({ query: { ...count, epsilon: 1 } }),
        answer: JSON.stringify({ measurement, integers: [['7']] }),
        price: noAmount('basic'),
        shared: place > 0,
      })),
    }),
  })
  const known = async (dataset: Dataset, measurements: readonly string[]) => {
    const question = planned(count, dataset)
    const ledger = ledgerOf(dataset, measurements)
    return knownAbout(question, await inquiryOf(question, question, 'ada', { ledger, limits: LIMITS }))
  }

  test('that show one measurement count once', async () => {
    const variance = async (measurements: readonly string[]) => {
      const found = await known(ofRows, measurements)
      if (found.kind === 'unknown') throw new Error(found.reason)
      return found.inferred.statistics[0]?.[0]?.variance ?? Number.NaN
    }
    const one = await variance(['a'])
    expect(await variance(['a', 'a'])).toBe(one)
    expect((await variance(['a', 'b'])) / one).toBeCloseTo(0.5, 6)
  })

  test('of a live table say nothing, as they have read the rows of different moments', async () => {
    const source = { kind: 'table', mode: 'live', connection: 'warehouse', schema: 'public', table: 'people' }
    const live = { ...ofRows, source } as Dataset
    expect(await known(live, ['a'])).toMatchObject({
      kind: 'unknown',
      reason: expect.stringContaining('live'),
    })
  })
})

test('weights follow from public facts, never from noisy values', () => {
  const parts = release({ kind: 'histogram', column: 'Sex' }, ofRows, 'parts')
  const total = release({ kind: 'count', epsilon: 0.3 }, ofRows, 'total')
  const target = planned(count, ofRows)
  const termsWith = (value: bigint) =>
    inferred(target, [
      { ...parts, integers: [[value, -7n * value]] },
      { ...total, integers: [[3n * value]] },
    ])
      .statistics.flat()
      .map(({ terms, denominator, variance }) => ({ terms, denominator, variance }))
  expect(termsWith(0n)).toEqual(termsWith(10n ** 9n))
})

describe('known answers', () => {
  const varianceOf = (paid: readonly PaidRelease[]) =>
    inferred(planned(count, ofRows), paid).statistics[0]?.[0]?.variance ?? Number.NaN
  const edges = (k: number) => Array.from({ length: k + 1 }, (_, place) => (120 / k) * place)
  const bins = (k: number) => ({
    kind: 'groupBy',
    keys: [{ column: 'Age', edges: edges(k) }],
    statistics: [count],
  })

  test.each([2, 5, 10])(
    'a total of %i paid parts has their variances added up; k/(k+1) with the total',
    (k) => {
      const one = varianceOf([release(count, ofRows)])
      const parts = release(bins(k), ofRows, 'parts')
      expect(varianceOf([parts]) / one).toBeCloseTo(k, 6)
      expect(varianceOf([parts, release(count, ofRows, 'total')]) / one).toBeCloseTo(k / (k + 1), 6)
    },
  )
})

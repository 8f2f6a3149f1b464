import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import {
  clinicCsv,
  dateOf,
  generateVisits,
  type Visit,
  visitColumns,
  visitsCsv,
} from '../../../../src/datasets/registration/sources/visits.ts'

const SIZE = { people: 3_000, rows: 20_000, seed: 'clinic' }
const visits = [...generateVisits(SIZE)]

/** Visits by patient. */
const byPatient = Map.groupBy(visits, ({ patient }) => patient)

function correlation(pairs: readonly (readonly [number, number])[]): number {
  const mean = (of: (pair: readonly [number, number]) => number) =>
    pairs.reduce((sum, pair) => sum + of(pair), 0) / pairs.length
  const [x, y] = [mean(([first]) => first), mean(([, second]) => second)]
  const product = mean(([first, second]) => (first - x) * (second - y))
  return product / Math.sqrt(mean(([first]) => (first - x) ** 2) * mean(([, second]) => (second - y) ** 2))
}

describe('made-up visits', () => {
  it('are the same on every machine', () => {
    expect(
      createHash('sha256')
        .update([...visitsCsv(SIZE)].join(''))
        .digest('hex'),
    ).toMatchInlineSnapshot(`"8c569439cee1963533ac7aaa4a0906bb04e8eb8c9cfd4fdb962107036430cff3"`)
  })

  it('have the stated numbers of patients and rows, and every patient has a visit', () => {
    expect(visits).toHaveLength(SIZE.rows)
    expect(byPatient.size).toBe(SIZE.people)
  })

  it("are skewed as Zipf's law says: a share in proportion to 1 / sqrt(place)", () => {
    const counts = [...byPatient.values()].map(({ length }) => length - 1).sort((a, b) => b - a)
    const whole = counts.reduce((sum, count) => sum + count, 0)
    const shareOfFirst = (places: number) =>
      counts.slice(0, places).reduce((sum, count) => sum + count, 0) / whole
    // The sum of 1 / sqrt(i) up to n is close to 2 sqrt(n) - 1.46, so the first hundredth has about a tenth. Sorting by
    // the number that occurred raises the share a little.
    expect(shareOfFirst(30)).toBeGreaterThan(0.08)
    expect(shareOfFirst(30)).toBeLessThan(0.11)
    expect(shareOfFirst(750)).toBeGreaterThan(0.48)
    expect(shareOfFirst(750)).toBeLessThan(0.6)
  })

  it('show the same region and age in all visits of a patient', () => {
    for (const each of byPatient.values())
      expect(new Set(each.map(({ region, age }) => `${region} ${age}`)).size).toBe(1)
  })

  it('have dates of two years, costs that grow with age, and values within their declaration', () => {
    const dates = visits.map(dateOf)
    expect(dates.reduce((a, b) => (a < b ? a : b))).toBe('2023-01-01')
    expect(dates.reduce((a, b) => (a > b ? a : b))).toBe('2024-12-31')
    const found = correlation(visits.map(({ age, cost }) => [age, cost]))
    expect(found).toBeGreaterThan(0.2)
    expect(found).toBeLessThan(0.3)
    const declared = (name: string) => visitColumns.find((column) => column.name === name)
    for (const [name, field] of [
      ['region', 'region'],
      ['diagnosis', 'diagnosis'],
    ] as const satisfies readonly [string, keyof Visit][]) {
      const column = declared(name)
      const categories = column?.type === 'category' ? column.categories : []
      expect(new Set(visits.map((visit) => visit[field]))).toEqual(new Set(categories))
    }
    for (const { age, cost } of visits) {
      expect(age >= 0 && age <= 110).toBe(true)
      expect(cost >= 0 && cost <= 100_000).toBe(true)
    }
  })

  it('are the same as three tables, of which some references lead nowhere', () => {
    const [tables, again] = [clinicCsv(SIZE), clinicCsv(SIZE)]
    const rowsOf = (text: Iterable<string>) =>
      [...text]
        .join('')
        .trimEnd()
        .split('\n')
        .slice(1)
        .map((line) => line.split(','))
    const [made, patients, hospitals] = [tables.visits, tables.patients, tables.hospitals].map(rowsOf)
    expect(rowsOf(again.visits)).toEqual(made)
    expect(made?.map(([patient, , ...values]) => [patient, ...values])).toEqual(
      visits.map((visit) => [
        visit.patient,
        ...[dateOf(visit), visit.diagnosis, (visit.cost / 100).toFixed(2), String(visit.emergency)],
      ]),
    )
    const listed = new Map(patients?.map(([id, ...facts]) => [id, facts]))
    expect(listed.size).toBe(SIZE.people - SIZE.people / 50)
    for (const { patient, region, age } of visits)
      if (listed.has(patient)) expect(listed.get(patient)).toEqual([region, String(age)])
    const codes = new Set(hospitals?.map(([code]) => code))
    const nowhere = made?.map(([, code = '']) => code).filter((code) => !codes.has(code)) ?? []
    expect(new Set(nowhere)).toEqual(new Set(['', 'H5']))
    expect(nowhere.length / SIZE.rows).toBeCloseTo(0.05, 2)
  })
})

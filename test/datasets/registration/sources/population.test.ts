import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Column } from '../../../../src/core/dataset/dataset.ts'
import { declareColumns } from '../../../../src/core/dataset/declaration.ts'
import { censusRegistration } from '../../../../src/datasets/registration/demo.ts'
import {
  generatePopulation,
  type Person,
  populationCsv,
} from '../../../../src/datasets/registration/sources/population.ts'
import { copySource } from '../../../../src/datasets/registration/sources/sources.ts'
import { ingest } from '../../../../src/engines/duckdb/ingestion/ingest.ts'
import { storedRows } from '../../../engines/fixture.ts'
import { folderForAll } from '../../../folders.ts'

const people = [...generatePopulation(censusRegistration.source)]

const folder = folderForAll()

/** Distance of an observed share from the stated one, in standard errors. */
function deviation(outcomes: number, of: number, probability: number): number {
  return (outcomes - of * probability) / Math.sqrt(of * probability * (1 - probability))
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

function standardDeviation(values: readonly number[]): number {
  const center = mean(values)
  return Math.sqrt(mean(values.map((value) => (value - center) ** 2)))
}

describe('a population', () => {
  it('has the same people on every machine', () => {
    expect(people).toHaveLength(100_000)
    const digest = createHash('sha256')
    for (const { sex, age, married, earnings, occupation } of people) {
      digest.update(`${sex},${age},${married},${earnings},${occupation}\n`)
    }
    expect(digest.digest('hex')).toMatchInlineSnapshot(
      `"0fd553b32d8fba155574f3e343f0774c13debda6e965f80dc28a3b278b55ca84"`,
    )
  })

  // With the seed fixed these cannot fail by chance; a weight that is off by half a percentage point would show.
  it.each<[keyof Person, Record<string, number>]>([
    ['sex', { M: 0.5, F: 0.5 }],
    ['married', { M: 0.478, W: 0.057, S: 0.109, D: 0.019, N: 0.337 }],
    [
      'occupation',
      { Statistician: 0.3, Economist: 0.3, Geographer: 0.2, 'IT Specialist': 0.19, 'Unicorn Wrangler': 0.01 },
    ],
  ])('has the stated shares of %s', (field, weights) => {
    expect(Object.values(weights).reduce((sum, weight) => sum + weight, 0)).toBeCloseTo(1, 12)
    expect(new Set(people.map((person) => person[field]))).toEqual(new Set(Object.keys(weights)))
    for (const [value, weight] of Object.entries(weights)) {
      const found = people.filter((person) => person[field] === value).length
      expect(Math.abs(deviation(found, people.length, weight))).toBeLessThan(3)
    }
  })

  it('has ages of mean 45 and standard deviation 10, in whole years, within the declared bounds', () => {
    const ages = people.map(({ age }) => age)
    expect(ages.every((age) => Number.isInteger(age) && age >= 0 && age <= 120)).toBe(true)
    expect(Math.abs(mean(ages) - 45)).toBeLessThan(3 * (10 / Math.sqrt(people.length)))
    // Rounding adds the variance of a unit's width, 1/12.
    expect(Math.abs(standardDeviation(ages) - Math.sqrt(100 + 1 / 12))).toBeLessThan(0.07)
    // Shares below the mean, and within one and two standard deviations, cut between whole years.
    const normal = (lower: number, upper: number, probability: number) => {
      const found = ages.filter((age) => age > lower && age < upper).length
      expect(Math.abs(deviation(found, ages.length, probability))).toBeLessThan(3.5)
    }
    normal(35.5, 54.5, 0.6579) // within 0.95 deviations
    normal(25.5, 64.5, 0.9488) // within 1.95
    normal(-100, 44.5, 0.4801) // below -0.05
  })

  it('has earnings whose logarithms are normal, cut off at -3 and +4 standard deviations', () => {
    const earnings = people.map(({ earnings }) => earnings)
    expect(earnings.every(Number.isInteger)).toBe(true)
    expect(Math.min(...earnings)).toBeGreaterThanOrEqual(3_162)
    expect(Math.max(...earnings)).toBeLessThanOrEqual(10_000_000)
    // The lower cut is near enough to be reached: one in 1,500 would lie below it, one in 3,000 just above.
    expect(Math.min(...earnings)).toBeLessThan(3_300)
    expect(Math.max(...earnings)).toBeGreaterThan(5_000_000)
    const logarithms = earnings.map(Math.log10)
    // Of a standard normal cut off at -3 and 4: mean 0.00430, standard deviation 0.99304.
    expect(Math.abs(mean(logarithms) - (5 + 0.5 * 0.0043))).toBeLessThan(3 * (0.5 / Math.sqrt(people.length)))
    expect(Math.abs(standardDeviation(logarithms) - 0.5 * 0.99304)).toBeLessThan(0.0035)
    const inside = 0.9986184 // P(-3 < z < 4)
    for (const [z, below] of [
      [-2, 0.0227501],
      [-1, 0.1586553],
      [0, 0.5],
      [1, 0.8413447],
      [2, 0.9772499],
    ] as const) {
      const found = logarithms.filter((logarithm) => logarithm < 5 + 0.5 * z).length
      expect(Math.abs(deviation(found, people.length, (below - 0.0013499) / inside))).toBeLessThan(3.5)
    }
  })

  it('draws its columns independently of each other', () => {
    const women = people.filter(({ sex }) => sex === 'F')
    const men = people.filter(({ sex }) => sex === 'M')
    const error = (spread: number) => 3.5 * spread * Math.sqrt(1 / women.length + 1 / men.length)
    const ageOf = (group: readonly Person[]) => mean(group.map(({ age }) => age))
    const earningsOf = (group: readonly Person[]) => mean(group.map(({ earnings }) => Math.log10(earnings)))
    expect(Math.abs(ageOf(women) - ageOf(men))).toBeLessThan(error(10))
    expect(Math.abs(earningsOf(women) - earningsOf(men))).toBeLessThan(error(0.5))
    const old = people.filter(({ age }) => age > 55)
    expect(Math.abs(earningsOf(old) - earningsOf(people))).toBeLessThan((3.5 * 0.5) / Math.sqrt(old.length))
  })

  it('fits its registration', () => {
    for (const column of censusRegistration.columns) {
      const field = column.name.toLowerCase() as keyof Person
      for (const person of people) {
        const value = person[field]
        const fits =
          column.type === 'category'
            ? column.categories.includes(String(value))
            : Number(value) >= column.lower && Number(value) <= column.upper
        if (!fits) throw new Error(`${column.name} does not fit`)
      }
    }
  })

  it('has the same rows as the CSV file of the same size and seed', async () => {
    const population = { kind: 'population', rows: 2_500, seed: 's' } as const
    const paths = { dataDirectory: folder.path, copy: join(folder.path, 'copy'), principal: 'a' }
    const copied = await copySource(population, paths)
    await writeFile(join(folder.path, 'people.csv'), Array.from(populationCsv(population)).join(''))
    const file = { kind: 'file', path: 'people.csv', format: 'csv' } as const
    expect(await copySource(file, paths)).toMatchObject(copied)

    const columns = declareColumns({ ...censusRegistration, source: population })
    const targetPath = join(folder.path, 'people.duckdb')
    await ingest({
      sourcePath: paths.copy,
      format: copied.format,
      columns,
      privacyUnit: { kind: 'row' },
      targetPath,
    })
    expect(await storedRows(targetPath, columns)).toEqual(
      Array.from(generatePopulation(population), ({ sex, age, married, earnings, occupation }) => ({
        Sex: indexIn(columns, 'Sex', sex),
        Age: BigInt(age),
        Married: indexIn(columns, 'Married', married),
        Earnings: BigInt(earnings),
        Occupation: indexIn(columns, 'Occupation', occupation),
      })),
    )
  })

  it('depends on its seed, and a larger one begins with a smaller one', () => {
    const generate = (rows: number, seed: string) => Array.from(generatePopulation({ rows, seed }))
    expect(generate(100, 'a')).toEqual(generate(100, 'a'))
    expect(generate(100, 'a')).not.toEqual(generate(100, 'b'))
    expect(generate(100, 'a').slice(0, 10)).toEqual(generate(10, 'a'))
    for (const rows of [1, 999, 1_000, 1_001])
      expect(
        Array.from(populationCsv({ rows, seed: 'a' }))
          .join('')
          .split('\n'),
      ).toHaveLength(rows + 2)
  })
})

/** The stored index of a category. */
function indexIn(columns: readonly Column[], name: string, value: string): number {
  const column = columns.find((each) => each.name === name)
  if (column?.type !== 'category') throw new Error('no such category column')
  return column.categories.indexOf(value)
}

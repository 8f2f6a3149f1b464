import type { ColumnDeclaration } from '../../../core/dataset/declaration.ts'
import { writeDigested } from '../../../platform/files/durable-file.ts'
import {
  choose,
  csvInChunks,
  seededUniform,
  standardNormal,
  truncatedNormal,
  type Weights,
} from '../../sampling.ts'
import type { SourceKind, SourceOfKind } from './source.ts'

/** The size and the seed of a made-up population. */
export type Population = Pick<SourceOfKind<'population'>, 'rows' | 'seed'>

/** One made-up person: one row of a population. */
export interface Person {
  readonly sex: string
  readonly age: number
  readonly married: string
  readonly earnings: number
  readonly occupation: string
}

const SEXES: Weights = { M: 0.5, F: 0.5 }
const MARRIED: Weights = { M: 0.478, W: 0.057, S: 0.109, D: 0.019, N: 0.337 }
const OCCUPATIONS: Weights = {
  Statistician: 0.3,
  Economist: 0.3,
  Geographer: 0.2,
  'IT Specialist': 0.19,
  'Unicorn Wrangler': 0.01,
}

const AGE = { mean: 45, deviation: 10 }

/** Parameters of the base-10 logarithm of earnings, which keep earnings between 3,162 and 10,000,000. */
const EARNINGS = { mean: 5, deviation: 0.5, deviationsBelow: 3, deviationsAbove: 4 }

/** The columns of every population. */
export const populationColumns = [
  { name: 'Sex', type: 'category', categories: Object.keys(SEXES), nullable: false },
  { name: 'Age', type: 'integer', lower: 0, upper: 120, step: 1, nullable: false },
  { name: 'Married', type: 'category', categories: Object.keys(MARRIED), nullable: false },
  { name: 'Earnings', type: 'integer', lower: 0, upper: 10_000_000, step: 1, nullable: false },
  { name: 'Occupation', type: 'category', categories: Object.keys(OCCUPATIONS), nullable: false },
] as const satisfies readonly ColumnDeclaration[]

/** A made-up population, generated from its size and its seed. */
export const populationSource: SourceKind<'population'> = {
  fixed: { columns: populationColumns, synthetic: true },
  copy: async (population, { copy, signal }) => ({
    format: 'csv',
    digest: await writeDigested(populationCsv(population), copy, signal),
  }),
}

/** The rows of a population as a CSV file, in chunks, with a header. */
export function populationCsv(population: Population): Generator<string> {
  return csvInChunks(populationColumns, generatePopulation(population), (person) => [
    person.sex,
    person.age,
    person.married,
    person.earnings,
    person.occupation,
  ])
}

/**
 * Generates the people of a population; a size and a seed always give the same people.
 *
 * The random numbers and the square roots are the same on every machine. JavaScript does not specify the last bit of
 * logarithms and powers; rounding to whole years and whole units of earnings hides it except with negligible
 * probability, and a test compares a digest of 100,000 rows.
 */
export function* generatePopulation({ rows, seed }: Population): Generator<Person> {
  const uniform = seededUniform(seed)
  for (let row = 0; row < rows; row += 1) {
    yield {
      sex: choose(uniform, SEXES),
      age: Math.round(AGE.mean + AGE.deviation * standardNormal(uniform)),
      married: choose(uniform, MARRIED),
      earnings: Math.round(10 ** (EARNINGS.mean + EARNINGS.deviation * truncatedNormal(uniform, EARNINGS))),
      occupation: choose(uniform, OCCUPATIONS),
    }
  }
}

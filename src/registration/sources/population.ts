import seedrandom from 'seedrandom'
import type { ColumnDeclaration } from '../../catalog/declaration.ts'
import { writeDigested } from '../../files/durable-file.ts'
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

/** The probability of each outcome. */
type Weights = Readonly<Record<string, number>>

/** Uniform on [0, 1). */
type Uniform = () => number

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
  copy: async (population, { copy }) => ({
    format: 'csv',
    digest: await writeDigested(populationCsv(population), copy),
  }),
}

/** Number of rows that are generated before the process yields to other work. */
const ROWS_PER_CHUNK = 1_000

/** The rows of a population as a CSV file, in chunks, with a header. */
export function* populationCsv(population: Population): Generator<string> {
  let lines = [populationColumns.map(({ name }) => name).join(',')]
  for (const { sex, age, married, earnings, occupation } of generatePopulation(population)) {
    lines.push([sex, age, married, earnings, occupation].join(','))
    if (lines.length < ROWS_PER_CHUNK) continue
    yield `${lines.join('\n')}\n`
    lines = []
  }
  if (lines.length > 0) yield `${lines.join('\n')}\n`
}

/**
 * Generates the people of a population; a size and a seed always give the same people.
 *
 * The random numbers and the square roots are the same on every machine. JavaScript does not specify the last bit of
 * logarithms and powers; rounding to whole years and whole units of earnings hides it except with negligible
 * probability, and a test compares a digest of 100,000 rows.
 */
export function* generatePopulation({ rows, seed }: Population): Generator<Person> {
  const uniform = seedrandom(seed)
  for (let row = 0; row < rows; row += 1) {
    yield {
      sex: choose(uniform, SEXES),
      age: Math.round(AGE.mean + AGE.deviation * standardNormal(uniform)),
      married: choose(uniform, MARRIED),
      earnings: Math.round(10 ** (EARNINGS.mean + EARNINGS.deviation * truncatedNormal(uniform))),
      occupation: choose(uniform, OCCUPATIONS),
    }
  }
}

function choose(uniform: Uniform, weights: Weights): string {
  const outcomes = Object.entries(weights)
  let remaining = uniform()
  for (const [outcome, weight] of outcomes) {
    if (remaining < weight) return outcome
    remaining -= weight
  }
  // Rounding can leave a remainder, which goes to the last outcome.
  return outcomes.at(-1)?.[0] ?? ''
}

/** Samples by Marsaglia's polar method, whose only transcendental function is the logarithm. */
function standardNormal(uniform: Uniform): number {
  for (;;) {
    const x = 2 * uniform() - 1
    const y = 2 * uniform() - 1
    const square = x * x + y * y
    if (square > 0 && square < 1) return x * Math.sqrt((-2 * Math.log(square)) / square)
  }
}

function truncatedNormal(uniform: Uniform): number {
  for (;;) {
    const z = standardNormal(uniform)
    if (z >= -EARNINGS.deviationsBelow && z <= EARNINGS.deviationsAbove) return z
  }
}

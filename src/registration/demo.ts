import { access } from 'node:fs/promises'
import seedrandom from 'seedrandom'
import { writeParquet } from '../engines/duckdb/write-parquet.ts'

/** Nobody in particular: one row of the demo dataset. */
export interface Person {
  readonly sex: string
  readonly age: number
  readonly married: string
  readonly earnings: number
  readonly occupation: string
}

const SEED = 'sotto census'
const PEOPLE = 100_000

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

/** Of the logarithm to base 10, so that earnings lie within 3,162 and 10,000,000. */
const EARNINGS = { mean: 5, deviation: 0.5, deviationsBelow: 3, deviationsAbove: 4 }

/** Each outcome's probability. */
type Weights = Readonly<Record<string, number>>

/** Evenly distributed from 0, included, to 1, excluded. */
type Uniform = () => number

/**
 * The registration of the demo dataset, as a custodian would send it. Its people are made up, so it may be `synthetic`.
 */
export const censusRegistration = {
  id: 'census',
  title: 'A made-up census of 100,000 people',
  source: { path: 'census.parquet', format: 'parquet' },
  columns: [
    { name: 'Sex', type: 'category', categories: Object.keys(SEXES), nullable: false },
    { name: 'Age', type: 'integer', lower: 0, upper: 120, step: 1, nullable: false },
    { name: 'Married', type: 'category', categories: Object.keys(MARRIED), nullable: false },
    { name: 'Earnings', type: 'integer', lower: 0, upper: 10_000_000, step: 1, nullable: false },
    { name: 'Occupation', type: 'category', categories: Object.keys(OCCUPATIONS), nullable: false },
  ],
  privacyUnit: { kind: 'row' },
  neighbours: 'add-remove',
  budget: { epsilon: 10, delta: 1e-5 },
  synthetic: true,
  accounting: 'basic',
  sharing: false,
} as const

/**
 * The people of the demo dataset, always the same. The random numbers and the square roots are the same wherever this
 * runs; JavaScript leaves the last bit of logarithms and powers open, which the rounding to whole years and whole units
 * of earnings hides but for a remote chance, and a test holds a digest of all rows.
 */
export function generateCensus(people = PEOPLE): readonly Person[] {
  const uniform = seedrandom(SEED)
  return Array.from({ length: people }, () => ({
    sex: choose(uniform, SEXES),
    age: Math.round(AGE.mean + AGE.deviation * standardNormal(uniform)),
    married: choose(uniform, MARRIED),
    earnings: Math.round(10 ** (EARNINGS.mean + EARNINGS.deviation * truncatedNormal(uniform))),
    occupation: choose(uniform, OCCUPATIONS),
  }))
}

/** Write the demo dataset as Parquet, unless it is there already. */
export async function writeCensus(path: string): Promise<void> {
  const exists = await access(path).then(
    () => true,
    () => false,
  )
  if (exists) return
  const people = generateCensus()
  await writeParquet(path, [
    { name: 'Sex', type: 'VARCHAR', values: people.map(({ sex }) => sex) },
    { name: 'Age', type: 'INTEGER', values: people.map(({ age }) => age) },
    { name: 'Married', type: 'VARCHAR', values: people.map(({ married }) => married) },
    { name: 'Earnings', type: 'INTEGER', values: people.map(({ earnings }) => earnings) },
    { name: 'Occupation', type: 'VARCHAR', values: people.map(({ occupation }) => occupation) },
  ])
}

function choose(uniform: Uniform, weights: Weights): string {
  const outcomes = Object.entries(weights)
  let remaining = uniform()
  for (const [outcome, weight] of outcomes) {
    if (remaining < weight) return outcome
    remaining -= weight
  }
  // Weights that add up to 1 but for rounding leave a sliver, which goes to the last.
  return outcomes.at(-1)?.[0] ?? ''
}

/** Marsaglia's polar method: a point in the unit disc, and no other transcendental function than the logarithm. */
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

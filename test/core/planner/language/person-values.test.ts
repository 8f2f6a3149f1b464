import seedrandom from 'seedrandom'
import { describe, expect, test } from 'vitest'
import { query as querySchema } from '../../../../schemas/answers/query.ts'
import { plan } from '../../../../src/core/planner/plan.ts'
import type { Neighbours } from '../../../../src/privacy/neighbours.ts'
import type { StoredRow } from '../../../engines/reference-engine.ts'
import { PERSON, RANK } from '../../../engines/reference-people.ts'
import { patients } from '../neighbours/people.ts'
import { LIMITS, planFor } from '../planned.ts'
import { releasesOf } from '../releases.ts'

/*
 * Answers about people are near the truth: computed here from the rows in another way, and within the stated
 * half-widths with the stated confidence. Noise comes from a seeded source, so that every run counts the same.
 */

const DRAWS = 400
/** With a probability of failure of 0.05 each, more failures than this happen less than once in 1e8 runs. */
const MOST_FAILURES = 49

const random = seedrandom('people')
const below = (end: number) => Math.floor(random() * end)

/** The ages of each person's visits, in the order of their ranks: up to four, as the dataset keeps no more. */
const VISITS = Array.from({ length: 400 }, () =>
  Array.from({ length: 1 + below(4) }, () => ({
    age: below(121),
    income: below(4) === 0 ? null : 20 + below(981),
  })),
)
const ROWS: readonly StoredRow[] = VISITS.flatMap((visits, person) =>
  visits.map(({ age, income }, place) => ({
    [PERSON]: BigInt(person),
    [RANK]: BigInt(place + 1),
    Age: BigInt(age),
    Balance: 0n,
    Income: income === null ? null : BigInt(income),
    Sex: person % 2,
    Region: null,
    Member: true,
    Note: '',
  })),
)

const total = (numbers: readonly number[]) => numbers.reduce((sum, number) => sum + number, 0)
const mean = (numbers: readonly number[]) => total(numbers) / numbers.length
const clamp = (number: number, lower: number, upper: number) => Math.min(Math.max(number, lower), upper)
const ages = VISITS.map((visits) => visits.map(({ age }) => age))
/** In steps of 0.5; people without an income are left out. */
const incomes = VISITS.map((visits) => visits.flatMap(({ income }) => income ?? [])).filter(
  (own) => own.length > 0,
)
const firstTwo = ages.map((own) => own.slice(0, 2))
const clampedAges = ages.map((own) => own.map((age) => clamp(age, 20, 60)))
const upTo100 = { perPerson: { lower: 0, upper: 100 } }

const ASKED: readonly (readonly [wire: object, truth: number])[] = [
  [{ kind: 'count' }, ages.flat().length],
  [{ kind: 'count', of: 'people' }, ages.length],
  [{ kind: 'count', contribution: { rows: 2 } }, firstTwo.flat().length],
  [{ kind: 'mean', column: 'Age' }, mean(ages.flat())],
  [{ kind: 'mean', column: 'Age', contribution: { rows: 2 } }, mean(firstTwo.flat())],
  [{ kind: 'sum', column: 'Age', clamp: { lower: 20, upper: 60 } }, total(clampedAges.flat())],
  [{ kind: 'mean', column: 'Age', clamp: { lower: 20, upper: 60 } }, mean(clampedAges.flat())],
  [
    { kind: 'mean', column: 'Age', perPerson: 'sum', clamp: { lower: 20, upper: 60 } },
    mean(clampedAges.map(total)),
  ],
  [
    { kind: 'sum', column: 'Age', clamp: { lower: 20, upper: 60 }, contribution: upTo100 },
    total(clampedAges.map((own) => clamp(total(own), 0, 100))),
  ],
  [
    { kind: 'variance', column: 'Age', clamp: { lower: 20, upper: 60 } },
    mean(clampedAges.flat().map((age) => (age - mean(clampedAges.flat())) ** 2)),
  ],
  [
    { kind: 'sum', column: 'Age', contribution: upTo100 },
    total(ages.map((own) => clamp(total(own), 0, 100))),
  ],
  [
    { kind: 'mean', column: 'Age', contribution: upTo100 },
    total(ages.map((own) => clamp(total(own), 0, 100))) / ages.flat().length,
  ],
  [
    { kind: 'mean', column: 'Age', contribution: { perPerson: { lower: 60, upper: 400 } } },
    total(ages.map((own) => clamp(total(own), 60, 400))) / ages.flat().length,
  ],
  [{ kind: 'mean', column: 'Age', perPerson: 'count' }, mean(ages.map(({ length }) => length))],
  [{ kind: 'mean', column: 'Income', perPerson: 'count' }, mean(incomes.map(({ length }) => length))],
  [{ kind: 'mean', column: 'Age', perPerson: 'sum' }, mean(ages.map(total))],
  [{ kind: 'mean', column: 'Income', perPerson: 'sum' }, mean(incomes.map(total)) / 2],
  [
    {
      kind: 'mean',
      column: 'Age',
      perPerson: 'sum',
      contribution: { rows: 2, perPerson: { lower: 10, upper: 90 } },
    },
    mean(firstTwo.map((own) => clamp(total(own), 10, 90))),
  ],
  [{ kind: 'mean', column: 'Age', perPerson: 'mean' }, mean(ages.map((own) => Math.floor(mean(own) + 0.5)))],
  [
    { kind: 'mean', column: 'Income', perPerson: 'mean' },
    mean(incomes.map((own) => Math.floor(mean(own) + 0.5))) / 2,
  ],
]

describe.each<Neighbours>(['add-remove', 'change-one'])('under %s', (neighbours) => {
  const dataset = {
    ...patients(neighbours),
    ...(neighbours === 'change-one' ? { people: VISITS.length } : {}),
  }

  test.each(ASKED)('%j is within the stated half-width of %d', (wire, truth) => {
    const planned = planFor('additive', plan(querySchema.parse({ epsilon: 2, ...wire }), dataset, LIMITS))
    let [failures, near] = [0, 0]
    for (const { result, accuracy } of releasesOf(planned, ROWS, DRAWS, 'noise')) {
      if (!('value' in result) || accuracy.halfWidth === null) throw new Error('one number is asked for')
      const error = Math.abs(Number(result.value) - truth)
      if (error > accuracy.halfWidth * (1 + 1e-9)) failures += 1
      if (error <= accuracy.halfWidth / 2) near += 1
    }
    expect(failures).toBeLessThanOrEqual(MOST_FAILURES)
    // A half-width is not much larger than the errors, nor does the answer miss the truth by half of it.
    expect(near).toBeGreaterThan(DRAWS / 2)
    expect(near).toBeLessThan(DRAWS)
  })
})

import type { Dataset } from '../../core/dataset/dataset.ts'
import { declareDataset } from '../../core/dataset/declaration.ts'
import { refuseField } from '../../privacy/refusal.ts'
import { censusRegistration } from '../registration/demo.ts'
import { generatePopulation, populationColumns } from '../registration/sources/population.ts'
import { type DummyDeclaration, type DummySize, type DummyValue, dummyDeclaration } from './declaration.ts'

/*
 * The own rows of a dataset whose people are made up. They follow from the seed in its declaration, so that no rows that were
 * ingested are read.
 */

/** The columns of every population, whatever a dataset declares of them. */
export const populationDeclaration: DummyDeclaration = dummyDeclaration(
  declareDataset(censusRegistration, '1'),
)

/**
 * Returns the number and the seed of the first people of a dataset: as many as asked for, or all.
 * @throws Refusal `invalid-request` for a dataset whose source is not a population, and for a seed, which the source has.
 */
export function firstPeople(
  { source }: Pick<Dataset, 'source'>,
  { rows, seed }: { readonly rows: number; readonly seed: string | undefined },
): DummySize {
  if (source.kind !== 'population') {
    const rule = 'must be declaration for this dataset, because its source is not a made-up population'
    throw refuseField('invalid-request', 'of', rule)
  }
  if (seed !== undefined)
    throw refuseField('invalid-request', 'seed', 'is only for of=declaration: the population has its own')
  return { rows: Math.min(rows, source.rows), seed: source.seed }
}

/** Generates people in stored form, with values in the order of the columns. Those of a smaller number are the first ones. */
export function* populationRows(size: DummySize): Generator<readonly DummyValue[]> {
  const [sexes, , married, , occupations] = populationColumns
  const place = (categories: readonly string[], value: string) => categories.indexOf(value)
  for (const person of generatePopulation(size))
    yield [
      place(sexes.categories, person.sex),
      BigInt(person.age),
      place(married.categories, person.married),
      BigInt(person.earnings),
      place(occupations.categories, person.occupation),
    ]
}

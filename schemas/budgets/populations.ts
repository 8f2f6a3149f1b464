import { z } from 'zod'
import { analystParameters, datasetId } from '../datasets/dataset.ts'
import { listOf, next, object, slug } from '../values.ts'
import { amount, budget, budgetReport, budgetRequest } from './budget.ts'

const populationId = slug.meta({ description: 'Id of the population.', example: 'residents' })

/** Path parameter of the paths below /v1/populations/{population}. */
export const populationParameters = z.strictObject({ population: populationId })

/** Path parameters of /v1/populations/{population}/datasets/{dataset}. */
export const memberParameters = populationParameters.extend({
  dataset: datasetId.meta({ description: 'Id of the dataset.', example: 'census' }),
})

/** Path parameters of /v1/populations/{population}/analysts/{analyst}. */
export const populationAnalystParameters = populationParameters.extend({
  analyst: analystParameters.shape.analyst,
})

const facts = {
  id: slug.describe('Name in addresses: 1 to 63 lower-case letters, digits and `-`, starting with a letter.'),
  privacyUnit: z
    .enum(['person', 'row'])
    .describe(
      'Privacy unit of all its datasets. `person`: the same value of the identifier is the same person in every dataset. ' +
        '`row`: a person has one row at most in each dataset.',
    ),
  accounting: budgetReport.shape.accounting,
}

/** POST /v1/populations */
export const populationRequest = object(
  'PopulationRequest',
  'People who occur in several datasets, and the budget that these share.',
  {
    ...facts,
    accounting: facts.accounting.default('basic'),
    budget: budgetRequest.describe(
      'The cap for the answers on all datasets together. Its delta, also that of each dataset, is fixed.',
    ),
  },
  { id: 'residents', privacyUnit: 'row', budget: { epsilon: 100, delta: 1e-5 } },
)

/** GET /v1/populations/{population} */
export const population = budgetReport
  .omit({ population: true })
  .extend({
    ...facts,
    neighbours: z.literal('add-remove'),
    datasets: listOf(
      z.strictObject({
        dataset: datasetId,
        spent: amount.describe('Amount that the dataset has ever spent.'),
      }),
    ).describe('The datasets that the caller may use, registered or withdrawn.'),
  })
  .meta({ id: 'Population', description: 'A population with its budget and its datasets.' })

/** GET /v1/populations */
export const populationList = object('PopulationList', 'Populations with their budgets, by id.', {
  populations: listOf(z.strictObject({ id: slug, budget })),
  next,
})

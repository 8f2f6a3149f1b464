import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import {
  type ComparisonRequest,
  comparison,
  comparisonRequest,
  MAX_CONTRIBUTION,
} from '../../schemas/studies/mechanisms.ts'
import { linkTo } from '../../schemas/studies/plots.ts'
import { jsonText } from '../../schemas/values.ts'
import { EVERYONE } from '../../src/http/access/roles.ts'
import { sendAnswer, termsOf } from '../../src/http/caller.ts'
import { decimalFromNumber } from '../../src/privacy/decimal.ts'
import { deltaFromWire, epsilonFromWire } from '../../src/privacy/loss.ts'
import { refuseField } from '../../src/privacy/refusal.ts'
import type { Workload } from '../../src/studies/plots/compare.ts'
import type { StudyPool } from '../../src/studies/pools.ts'

interface MechanismsOptions {
  readonly riskPool: StudyPool
}

/** Time limit for a comparison. */
const COMPARISON_TIMEOUT_MS = 20_000

/** Comparison of mechanisms. No dataset is read. */
export const mechanismsRoutes: FastifyPluginAsyncZod<MechanismsOptions> = async (app, { riskPool }) => {
  app.post('/v1/mechanisms/compare', {
    config: { roles: EVERYONE },
    schema: {
      tags: ['Mechanisms'],
      operationId: 'compareMechanisms',
      summary: 'Compare the noise of mechanisms',
      description:
        'Returns the noise that each mechanism adds to each of 1, 2, ... statistics that one person can influence, all ' +
        'released under one epsilon and delta, the mechanism with the smallest error, and the number of statistics from ' +
        'which Gaussian noise is smaller. Reads no dataset and costs nothing. ' +
        `GET /v1/plots/noise-comparison ${linkTo('noise-comparison', 'plots it')}.`,
      body: comparisonRequest,
      response: { 200: jsonText('The comparison.', comparison) },
    },
    handler: async (request, reply) => {
      const terms = termsOf(request, reply, COMPARISON_TIMEOUT_MS)
      const input = { request: request.body, workload: workloadOf(request.body) }
      return sendAnswer(reply, { body: await riskPool.run('comparison', input, terms) })
    },
  })
}

/**
 * Returns the workload of a request in exact numbers.
 * @throws Refusal naming a field that has too many digits or is out of range.
 */
export function workloadOf(request: ComparisonRequest): Workload {
  const { epsilon, delta, statistics, perStatistic, confidence, wholeNumbers } = request
  return {
    loss: { epsilonNano: epsilonFromWire(epsilon, 'epsilon'), deltaAtto: deltaFromWire(delta, 'delta') },
    statistics,
    ...contributionFromWire(perStatistic.contribution, wholeNumbers),
    wholeNumbers,
    confidence,
  }
}

const CONTRIBUTION_FRACTION_DIGITS = 9

/** Returns the exact contribution, in units of 10^-`fractionDigits`. */
function contributionFromWire(
  value: number,
  wholeNumbers: boolean,
): Pick<Workload, 'contribution' | 'fractionDigits'> {
  const field = 'perStatistic.contribution'
  if (!(value > 0)) throw refuseField('invalid-request', field, 'must be greater than 0')
  if (value > MAX_CONTRIBUTION)
    throw refuseField('invalid-request', field, `must be at most ${MAX_CONTRIBUTION}`)
  const fractionDigits = wholeNumbers ? 0 : CONTRIBUTION_FRACTION_DIGITS
  const contribution = decimalFromNumber(value, fractionDigits)
  if (contribution !== undefined) return { contribution, fractionDigits }
  throw refuseField(
    'invalid-request',
    field,
    wholeNumbers
      ? 'must be a whole number unless wholeNumbers is false'
      : `must have at most ${CONTRIBUTION_FRACTION_DIGITS} fractional digits`,
  )
}

import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import {
  type ComparisonRequest,
  comparison,
  comparisonRequest,
  MAX_CONTRIBUTION,
} from '../schemas/mechanisms.ts'
import { linkTo } from '../schemas/plots.ts'
import { problemResponses } from '../schemas/problem.ts'
import type { KeyRing } from '../src/access/keys.ts'
import { compareMechanisms, type Workload } from '../src/mechanisms/compare.ts'
import { decimalFromNumber } from '../src/privacy/decimal.ts'
import { deltaFromWire, epsilonFromWire } from '../src/privacy/loss.ts'
import { refuseField } from '../src/privacy/refusal.ts'
import { accessFor } from './access.ts'

export interface MechanismsOptions {
  readonly keyRing: KeyRing
}

/** What the mechanisms do, without any dataset. */
export const mechanismsRoutes: FastifyPluginAsyncZod<MechanismsOptions> = async (app, { keyRing }) => {
  const everyone = accessFor(keyRing, 'analyst', 'custodian', 'auditor')

  app.post(
    '/v1/mechanisms/compare',
    {
      onRequest: everyone.onRequest,
      schema: {
        tags: ['Mechanisms'],
        operationId: 'compareMechanisms',
        summary: 'The noise of each mechanism for a workload',
        description:
          'For 1, 2, ... statistics that one person can influence, all released under one epsilon and delta: the noise ' +
          'that each mechanism adds to each of them, which errs least, and from how many on Gaussian noise does. ' +
          `Touches no dataset and no budget. GET /v1/plots/noise-comparison ${linkTo('noise-comparison', 'draws it')}.`,
        security: everyone.security,
        body: comparisonRequest,
        response: { 200: comparison, ...problemResponses },
      },
    },
    async (request) => ({ ...request.body, ...compareMechanisms(workloadOf(request.body)) }),
  )
}

/**
 * The workload that a request describes, exact.
 * @throws Refusal naming the field that has too many digits, or lies outside its bounds.
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

/** The exact contribution that a number on the wire stands for, in units of 10^-`fractionDigits`. */
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
      : `must have at most ${CONTRIBUTION_FRACTION_DIGITS} fractional digits (it is never rounded for you)`,
  )
}

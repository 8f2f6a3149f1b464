import { halfWidthBound, laplaceOf } from '../../../mechanisms/noise/combined-noise.ts'
import type { AdditivePlan, ContributionFacts } from '../../additive/shape.ts'
import type { Result } from '../../report-kinds.ts'
import { leftOutBeyond } from './coverage.ts'

/*
 * Bounds `rows` for a contribution, with the noise of a count of rows and the rows that the bound leaves out. Post-processing
 * of a paid profile.
 */

type StatedContributions = NonNullable<Extract<Result, { cells: unknown }>['contributions']>
type StatedCandidate = StatedContributions['candidates'][number]

/**
 * Weighs the bounds.
 * @param counts the noisy number of people in each band
 */
export function contributionsOf(
  { unit, candidates, nextEpsilon }: ContributionFacts,
  plan: Pick<AdditivePlan, 'measurements' | 'confidence'>,
  counts: readonly number[],
): StatedContributions {
  const halfWidthOf = halfWidthBound(1 - plan.confidence)
  const weighed = candidates.map(({ rows, moved }): StatedCandidate => {
    const noise = halfWidthOf([laplaceOf(moved / nextEpsilon)])
    return candidateOf(rows, noise, leftOutBeyond(rows, plan, counts, unit))
  })
  return withRecommendation(nextEpsilon, weighed)
}

const SIGNIFICANT_DIGITS = 6

function candidateOf(rows: number, noise: number, leftOut: StatedCandidate['leftOut']): StatedCandidate {
  const rounded = (value: number) => Number(value.toPrecision(SIGNIFICANT_DIGITS))
  return { rows, noise: rounded(noise), leftOut, total: rounded(noise + leftOut.value) }
}

function withRecommendation(
  nextEpsilon: number,
  candidates: readonly StatedCandidate[],
): StatedContributions {
  const { rows } = candidates.reduce((best, next) => (next.total < best.total ? next : best))
  return { nextEpsilon, candidates: [...candidates], recommended: { rows } }
}

/** The same bounds for a question at another epsilon: its noise is as many times smaller as the epsilon is larger. */
export function contributionsAt(
  { nextEpsilon: before, candidates }: StatedContributions,
  nextEpsilon: number,
): StatedContributions {
  const factor = before / nextEpsilon
  return withRecommendation(
    nextEpsilon,
    candidates.map(({ rows, noise, leftOut }) => candidateOf(rows, noise * factor, leftOut)),
  )
}

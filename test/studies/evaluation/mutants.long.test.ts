import { type SourceChange, withChangedSource } from '../../mutants/changed-source.ts'
import { describeMutants, type Mutant, mutantsIn } from '../../mutants/select-mutants.ts'
import { CANDIDATE_CONTRACT } from './contract/candidates.ts'
import { KEY_CONTRACT } from './contract/keys.ts'
import { NUMBER_CONTRACT } from './contract/numbers.ts'
import { QUANTILE_CONTRACT, TRUTH_CONTRACT } from './contract/truth.ts'
import type { EvaluationModule } from './evaluated.ts'

const CONTRACT = [
  ...NUMBER_CONTRACT,
  ...TRUTH_CONTRACT,
  ...QUANTILE_CONTRACT,
  ...CANDIDATE_CONTRACT,
  ...KEY_CONTRACT,
]

const evaluation = mutantsIn('studies/evaluation/evaluation.ts')
const numbers = mutantsIn('studies/evaluation/numbers.ts')
const moments = mutantsIn('studies/evaluation/moments.ts')
const truth = mutantsIn('studies/evaluation/truth.ts')
const candidates = mutantsIn('studies/evaluation/candidates.ts')
const keys = mutantsIn('studies/evaluation/keys.ts')

const MUTANTS: readonly Mutant[] = [
  evaluation('one run too few', 'run < runs; run += 1', 'run < runs - 1; run += 1'),
  numbers('a bias with the wrong sign', 'const error = value - truth', 'const error = truth - value'),
  numbers('signed errors in a total', 'entry(sums, set) + absoluteError', 'entry(sums, set) + error'),
  numbers('one total for all statistics', 'const set = position % sets.length', 'const set = 0'),
  numbers('a total relative to the signed truths', 'sum + Math.abs(truth ?? 0)', 'sum + (truth ?? 0)'),
  numbers(
    'an error relative to the answer',
    'relative(absoluteError / Math.abs(truth), numbers[position])',
    'relative(absoluteError / Math.abs(value), numbers[position])',
  ),
  numbers(
    'a mean error relative to at least 1',
    '(meanAbsoluteError.value ?? Number.NaN) / Math.abs(truth)',
    '(meanAbsoluteError.value ?? Number.NaN) / Math.max(1, Math.abs(truth))',
  ),
  numbers(
    'a mean error relative to a negative truth',
    '(meanAbsoluteError.value ?? Number.NaN) / Math.abs(truth)',
    '(meanAbsoluteError.value ?? Number.NaN) / truth',
  ),
  numbers(
    'an error equal to the half-width is not within it',
    'error <= halfWidth + ROUNDING * (halfWidth + Math.abs(truth))',
    'error < halfWidth',
  ),
  numbers(
    'the half-width of a rank compared with values',
    'isWithin(rankError ?? absoluteError,',
    'isWithin(absoluteError,',
  ),
  moments('a variance divided by n', '/ (count - 1)', '/ count'),
  moments(
    'the standard deviation of a run as the standard error of the mean',
    'variance(at, count) / count)',
    'variance(at, count))',
  ),
  moments('a standard error of 0 for a single run', 'count < 2 ? Number.NaN', 'count < 2 ? 0'),
  moments(
    'squared distances from the new mean only',
    '(value - before) * (value - mean)',
    '(value - mean) ** 2',
  ),
  numbers(
    'the bias of bounding with the wrong sign',
    '(truth ?? Number.NaN) - (unbounded ?? Number.NaN)',
    '(unbounded ?? Number.NaN) - (truth ?? Number.NaN)',
  ),
  truth(
    'a truth with post-processing',
    'additiveNumbers(unprocessed)(withoutNoise(plan, integers))',
    'additiveNumbers(unprocessed)(withoutNoise(plan, integers)).map(Math.round)',
  ),
  truth('a truth without the fraction bits of its noise', 'integer << BigInt(fractionBits)', 'integer'),
  truth(
    'the rows of the first cell for every cell',
    'const cell = (position - place) / plan.estimates.length',
    'const cell = 0',
  ),
  truth(
    'a bound reported as the expected error',
    'expectedAbsoluteError: linear ? expectedAbsoluteError : null',
    'expectedAbsoluteError',
  ),
  truth('unbiased although it is clamped', ' && !round && !nonNegative', ' && !round'),
  truth('the value next to the maximum', 'Math.max(0, enough - 1)', 'Math.min(enough, values.length - 1)'),
  truth(
    'a rank error in units of the score',
    'Number(distance) / Number(score.below - score.above)',
    'Number(distance)',
  ),
  candidates(
    'the last selected candidate wins',
    'const [first = 0] = selected',
    'const first = selected.at(-1) ?? 0',
  ),
  candidates(
    'later selected candidates compared with one that was already selected',
    'while (taken.has(descending[best] ?? -1)) best += 1',
    '',
  ),
  candidates(
    'a shortfall equal to the half-width is not within it',
    'shortfall <= halfWidth',
    'shortfall < halfWidth',
  ),
  candidates(
    'a gap to the best candidate left instead of the one selected next',
    'next === undefined ? best[selected.length] : rows[next]',
    'best[rank + 1]',
  ),
  candidates(
    'the last gap to the best of all candidates',
    'next === undefined ? best[selected.length] : rows[next]',
    'next === undefined ? best[0] : rows[next]',
  ),
  candidates('gaps in output units', 'Number(gap) / 2 ** fractionBits - truth', 'Number(gap) - truth'),
  candidates(
    'only the last gap counts for the half-width',
    'largest = Math.max(largest, Math.abs(error))',
    'largest = Math.abs(error)',
  ),
  candidates(
    'the probability of another candidate',
    'masses[position]',
    'masses[candidates.length - 1 - position]',
  ),
  keys(
    'errors of counts with the wrong sign',
    'count - (reported[place]?.rows ?? Number.NaN)',
    '(reported[place]?.rows ?? Number.NaN) - count',
  ),
  keys(
    'runs without a key count as errors of 0',
    'absoluteErrors.figure(place, times)',
    'absoluteErrors.figure(place, runs)',
  ),
]

/**
 * Name of the first case of the contract that fails. Other errors than failed assertions are mistakes in the mutant
 * itself.
 */
async function brokenCase(module: EvaluationModule): Promise<string | undefined> {
  for (const { name, check } of CONTRACT) {
    try {
      await check(module)
    } catch (error) {
      if (error instanceof Error && error.name === 'AssertionError') return name
      throw error
    }
  }
  return undefined
}

const brokenBy = (changes: readonly SourceChange[]) =>
  withChangedSource(changes, {}, async (load) =>
    brokenCase(await load<EvaluationModule>('studies/evaluation/evaluation.ts')),
  )

describeMutants('every mutant breaks the contract', import.meta.dirname, MUTANTS, brokenBy)

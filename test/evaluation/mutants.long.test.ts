import { describe, expect, it } from 'vitest'
import { type SourceChange, withChangedSource } from '../changed-source.ts'
import { selectMutants } from '../select-mutants.ts'
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

/** Imports the source with these changes. */
function withMutant<Result>(
  changes: readonly SourceChange[],
  use: (module: EvaluationModule) => Promise<Result>,
): Promise<Result> {
  return withChangedSource(changes, {}, async (load) =>
    use(await load<EvaluationModule>('evaluation/evaluation.ts')),
  )
}

const MUTANTS: readonly (SourceChange & { readonly bug: string })[] = [
  {
    bug: 'one run too few',
    file: 'evaluation/evaluation.ts',
    find: 'run < runs; run += 1',
    replace: 'run < runs - 1; run += 1',
  },
  {
    bug: 'a bias with the wrong sign',
    file: 'evaluation/numbers.ts',
    find: 'const error = value - truth',
    replace: 'const error = truth - value',
  },
  {
    bug: 'signed errors in a total',
    file: 'evaluation/numbers.ts',
    find: '(sums[set] ?? 0) + absoluteError',
    replace: '(sums[set] ?? 0) + error',
  },
  {
    bug: 'one total for all statistics',
    file: 'evaluation/numbers.ts',
    find: 'const set = position % sets.length',
    replace: 'const set = 0',
  },
  {
    bug: 'a total relative to the signed truths',
    file: 'evaluation/numbers.ts',
    find: 'sum + Math.abs(truth ?? 0)',
    replace: 'sum + (truth ?? 0)',
  },
  {
    bug: 'an error relative to the answer',
    file: 'evaluation/numbers.ts',
    find: 'relative(absoluteError / Math.abs(truth), numbers[position])',
    replace: 'relative(absoluteError / Math.abs(value), numbers[position])',
  },
  {
    bug: 'a mean error relative to at least 1',
    file: 'evaluation/numbers.ts',
    find: '(meanAbsoluteError.value ?? Number.NaN) / Math.abs(truth)',
    replace: '(meanAbsoluteError.value ?? Number.NaN) / Math.max(1, Math.abs(truth))',
  },
  {
    bug: 'a mean error relative to a negative truth',
    file: 'evaluation/numbers.ts',
    find: '(meanAbsoluteError.value ?? Number.NaN) / Math.abs(truth)',
    replace: '(meanAbsoluteError.value ?? Number.NaN) / truth',
  },
  {
    bug: 'an error equal to the half-width is not within it',
    file: 'evaluation/numbers.ts',
    find: 'error <= halfWidth + ROUNDING * (halfWidth + Math.abs(truth))',
    replace: 'error < halfWidth',
  },
  {
    bug: 'the half-width of a rank compared with values',
    file: 'evaluation/numbers.ts',
    find: 'isWithin(rankError ?? absoluteError,',
    replace: 'isWithin(absoluteError,',
  },
  {
    bug: 'a variance divided by n',
    file: 'evaluation/moments.ts',
    find: '/ (count - 1)',
    replace: '/ count',
  },
  {
    bug: 'the standard deviation of a run as the standard error of the mean',
    file: 'evaluation/moments.ts',
    find: 'variance(at, count) / count)',
    replace: 'variance(at, count))',
  },
  {
    bug: 'a standard error of 0 for a single run',
    file: 'evaluation/moments.ts',
    find: 'count < 2 ? Number.NaN',
    replace: 'count < 2 ? 0',
  },
  {
    bug: 'squared distances from the new mean only',
    file: 'evaluation/moments.ts',
    find: '(value - before) * (value - mean)',
    replace: '(value - mean) ** 2',
  },
  {
    bug: 'the bias of bounding with the wrong sign',
    file: 'evaluation/numbers.ts',
    find: '(truth ?? Number.NaN) - (unbounded ?? Number.NaN)',
    replace: '(unbounded ?? Number.NaN) - (truth ?? Number.NaN)',
  },
  {
    bug: 'a truth with post-processing',
    file: 'evaluation/truth.ts',
    find: 'additiveNumbers(unprocessed)(noiseless)',
    replace: 'additiveNumbers(unprocessed)(noiseless).map(Math.round)',
  },
  {
    bug: 'a truth without the fraction bits of its noise',
    file: 'evaluation/truth.ts',
    find: 'integer << BigInt(fractionBits)',
    replace: 'integer',
  },
  {
    bug: 'the rows of the first cell for every cell',
    file: 'evaluation/truth.ts',
    find: 'rowsOf(estimate, integers, (position - place) / plan.estimates.length)',
    replace: 'rowsOf(estimate, integers, 0)',
  },
  {
    bug: 'a bound reported as the expected error',
    file: 'evaluation/truth.ts',
    find: 'expectedAbsoluteError: linear ? expectedAbsoluteError : null',
    replace: 'expectedAbsoluteError',
  },
  {
    bug: 'unbiased although it is clamped',
    file: 'evaluation/truth.ts',
    find: ' && !round && !nonNegative',
    replace: ' && !round',
  },
  {
    bug: 'the value next to the maximum',
    file: 'evaluation/truth.ts',
    find: 'Math.max(0, enough - 1)',
    replace: 'Math.min(enough, values.length - 1)',
  },
  {
    bug: 'a rank error in units of the score',
    file: 'evaluation/truth.ts',
    find: 'Number(distance) / Number(score.below - score.above)',
    replace: 'Number(distance)',
  },
  {
    bug: 'the last selected candidate wins',
    file: 'evaluation/candidates.ts',
    find: 'const [first = 0] = selected',
    replace: 'const first = selected.at(-1) ?? 0',
  },
  {
    bug: 'later selected candidates compared with one that was already selected',
    file: 'evaluation/candidates.ts',
    find: 'while (taken.has(descending[best] ?? -1)) best += 1',
    replace: '',
  },
  {
    bug: 'a shortfall equal to the half-width is not within it',
    file: 'evaluation/candidates.ts',
    find: 'shortfall <= halfWidth',
    replace: 'shortfall < halfWidth',
  },
  {
    bug: 'a gap to the best candidate left instead of the one selected next',
    file: 'evaluation/candidates.ts',
    find: 'next === undefined ? best[selected.length] : rows[next]',
    replace: 'best[rank + 1]',
  },
  {
    bug: 'the last gap to the best of all candidates',
    file: 'evaluation/candidates.ts',
    find: 'next === undefined ? best[selected.length] : rows[next]',
    replace: 'next === undefined ? best[0] : rows[next]',
  },
  {
    bug: 'gaps in output units',
    file: 'evaluation/candidates.ts',
    find: 'Number(gap) / 2 ** fractionBits - truth',
    replace: 'Number(gap) - truth',
  },
  {
    bug: 'only the last gap counts for the half-width',
    file: 'evaluation/candidates.ts',
    find: 'largest = Math.max(largest, Math.abs(error))',
    replace: 'largest = Math.abs(error)',
  },
  {
    bug: 'the probability of another candidate',
    file: 'evaluation/candidates.ts',
    find: 'masses[position]',
    replace: 'masses[candidates.length - 1 - position]',
  },
  {
    bug: 'errors of counts with the wrong sign',
    file: 'evaluation/keys.ts',
    find: 'count - (reported[place]?.rows ?? Number.NaN)',
    replace: '(reported[place]?.rows ?? Number.NaN) - count',
  },
  {
    bug: 'runs without a key count as errors of 0',
    file: 'evaluation/keys.ts',
    find: 'absoluteErrors.figure(place, times)',
    replace: 'absoluteErrors.figure(place, runs)',
  },
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

describe('every mutant breaks the contract', () => {
  it('the unchanged source breaks none', async () => {
    expect(await withMutant([], brokenCase)).toBeUndefined()
  })

  it.each(selectMutants(import.meta.dirname, MUTANTS, ({ file }) => [file]))(
    '$bug ($file)',
    async (mutation) => {
      expect(await withMutant([mutation], brokenCase)).toBeDefined()
    },
  )
})

import { describe, expect, it } from 'vitest'
import { type SourceChange, withChangedSource } from '../changed-source.ts'
import { selectMutants } from '../select-mutants.ts'
import {
  CANDIDATE_CONTRACT,
  KEY_CONTRACT,
  NUMBER_CONTRACT,
  QUANTILE_CONTRACT,
  TRUTH_CONTRACT,
} from './contract.ts'
import type { EvaluationModule } from './evaluated.ts'

const CONTRACT = [
  ...NUMBER_CONTRACT,
  ...TRUTH_CONTRACT,
  ...QUANTILE_CONTRACT,
  ...CANDIDATE_CONTRACT,
  ...KEY_CONTRACT,
]

/** Imports a copy of the actual source with these changes. */
function withChangedEvaluation<Result>(
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
    bug: 'a bias of the other sign',
    file: 'evaluation/numbers.ts',
    find: 'const error = value - truth',
    replace: 'const error = truth - value',
  },
  {
    bug: 'errors that cancel each other in a total',
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
    bug: 'a total in parts of truths that cancel each other',
    file: 'evaluation/numbers.ts',
    find: 'sum + Math.abs(truth ?? 0)',
    replace: 'sum + (truth ?? 0)',
  },
  {
    bug: 'an error in parts of the answer',
    file: 'evaluation/numbers.ts',
    find: 'finiteOrNull(absoluteError / Math.abs(truth))',
    replace: 'finiteOrNull(absoluteError / Math.abs(value))',
  },
  {
    bug: 'a mean error in parts of at least 1',
    file: 'evaluation/numbers.ts',
    find: '(meanAbsoluteError.value ?? Number.NaN) / Math.abs(truth)',
    replace: '(meanAbsoluteError.value ?? Number.NaN) / Math.max(1, Math.abs(truth))',
  },
  {
    bug: 'a mean error in parts of a truth below 0',
    file: 'evaluation/numbers.ts',
    find: '(meanAbsoluteError.value ?? Number.NaN) / Math.abs(truth)',
    replace: '(meanAbsoluteError.value ?? Number.NaN) / truth',
  },
  {
    bug: 'within means less than the half-width',
    file: 'evaluation/numbers.ts',
    find: 'error <= halfWidth + ROUNDING * (halfWidth + Math.abs(truth))',
    replace: 'error < halfWidth',
  },
  {
    bug: 'the half-width of a rank held against values',
    file: 'evaluation/numbers.ts',
    find: 'isWithin(rankError ?? absoluteError,',
    replace: 'isWithin(absoluteError,',
  },
  {
    bug: 'n for n - 1',
    file: 'evaluation/moments.ts',
    find: '/ (count - 1)',
    replace: '/ count',
  },
  {
    bug: 'the deviation of one run for the error of the mean',
    file: 'evaluation/moments.ts',
    find: 'variance(at, count) / count)',
    replace: 'variance(at, count))',
  },
  {
    bug: 'a single run without doubt',
    file: 'evaluation/moments.ts',
    find: 'count < 2 ? Number.NaN',
    replace: 'count < 2 ? 0',
  },
  {
    bug: 'squares about the new mean alone',
    file: 'evaluation/moments.ts',
    find: '(value - before) * (value - mean)',
    replace: '(value - mean) ** 2',
  },
  {
    bug: 'a truth with post-processing',
    file: 'evaluation/truth.ts',
    find: 'report(unprocessed, {',
    replace: 'report(plan, {',
  },
  {
    bug: 'a truth without the binary places of its noise',
    file: 'evaluation/truth.ts',
    find: 'integer << BigInt(fractionBits)',
    replace: 'integer',
  },
  {
    bug: 'the rows of the first cell for those of each',
    file: 'evaluation/truth.ts',
    find: 'rowsOf(estimate, integers, (position - place) / plan.estimates.length)',
    replace: 'rowsOf(estimate, integers, 0)',
  },
  {
    bug: 'a bound for what is expected',
    file: 'evaluation/truth.ts',
    find: 'expectedAbsoluteError: linear ? expectedAbsoluteError : null',
    replace: 'expectedAbsoluteError',
  },
  {
    bug: 'unbiased although it is cut',
    file: 'evaluation/truth.ts',
    find: ' && !round && !nonNegative',
    replace: ' && !round',
  },
  {
    bug: 'the value beside the maximum',
    file: 'evaluation/truth.ts',
    find: 'Math.max(0, enough - 1)',
    replace: 'Math.min(enough, values.length - 1)',
  },
  {
    bug: 'a rank error in parts of a row',
    file: 'evaluation/truth.ts',
    find: 'Number(distance) / Number(score.below - score.above)',
    replace: 'Number(distance)',
  },
  {
    bug: 'the last of those selected has won',
    file: 'evaluation/candidates.ts',
    find: 'const [first = 0] = selected',
    replace: 'const first = selected.at(-1) ?? 0',
  },
  {
    bug: 'those selected later compared with one that was taken',
    file: 'evaluation/candidates.ts',
    find: 'while (taken.has(descending[best] ?? -1)) best += 1',
    replace: '',
  },
  {
    bug: 'a shortfall of the whole half-width is beyond it',
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
    bug: 'counts off to the other side',
    file: 'evaluation/keys.ts',
    find: 'count - (reported[place]?.rows ?? Number.NaN)',
    replace: '(reported[place]?.rows ?? Number.NaN) - count',
  },
  {
    bug: 'a key that did not appear was right',
    file: 'evaluation/keys.ts',
    find: 'absoluteErrors.figure(place, times)',
    replace: 'absoluteErrors.figure(place, runs)',
  },
]

/** The first test of the contract that fails. Any other error is a mistake in the mutant. */
async function failedContractTest(module: EvaluationModule): Promise<string | undefined> {
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
  it('and the source as it is breaks none', async () => {
    expect(await withChangedEvaluation([], failedContractTest)).toBeUndefined()
  })

  it.each(selectMutants(import.meta.dirname, MUTANTS, ({ file }) => [file]))(
    '$bug ($file)',
    async (mutation) => {
      expect(await withChangedEvaluation([mutation], failedContractTest)).toBeDefined()
    },
  )
})

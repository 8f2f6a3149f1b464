import { describe, expect, it } from 'vitest'
import { type SourceChange, withChangedSource } from '../changed-source.ts'
import { selectMutants } from '../select-mutants.ts'
import { RISK_CONTRACT, RISK_MODULES, type Risk } from './contract.ts'

/** A change to a source file of `src/risk/`. */
interface Mutation extends SourceChange {
  readonly bug: string
}

/** Imports a copy of the source with one mutation, or none. */
function withMutant<Result>(
  mutation: Omit<Mutation, 'bug'> | undefined,
  use: (risk: Risk) => Result,
): Promise<Result> {
  const changes = mutation === undefined ? [] : [{ ...mutation, file: `risk/${mutation.file}` }]
  return withChangedSource(changes, {}, async (load) =>
    use(Object.assign({}, ...(await Promise.all(RISK_MODULES.map((file) => load<Partial<Risk>>(file)))))),
  )
}

const MUTANTS: readonly Mutation[] = [
  {
    bug: 'the last world left out of the tight bound',
    file: 'bounds.ts',
    find: 'for (let index = answers.length - 1; index >= 0; index -= 1)',
    replace: 'for (let index = answers.length - 2; index >= 0; index -= 1)',
  },
  {
    bug: 'only the worlds below',
    file: 'bounds.ts',
    find: '((fromBelow[index] ?? 0) + fromAbove)',
    replace: '(fromBelow[index] ?? 0)',
  },
  {
    bug: 'an answer counted on both sides of itself',
    file: 'bounds.ts',
    find: '((fromBelow[index] ?? 0) + fromAbove)',
    replace: '((fromBelow[index] ?? 0) + fromAbove + largestMass)',
  },
  {
    bug: 'worlds that share an answer counted once',
    file: 'bounds.ts',
    find: 'weight * likelihood(abovePrevious, rate) + mass',
    replace: 'weight * likelihood(abovePrevious, rate) + largestMass',
  },
  {
    bug: 'what lies below does not fade',
    file: 'bounds.ts',
    find: 'weight = weight * likelihood(abovePrevious, rate) + mass',
    replace: 'weight = weight + mass',
  },
  {
    bug: 'what lies above does not fade',
    file: 'bounds.ts',
    find: '(fromAbove + mass) * likelihood(abovePrevious, rate)',
    replace: 'fromAbove + mass',
  },
  {
    bug: 'the risk of an answer for that of a world',
    file: 'bounds.ts',
    find: 'Math.max(largest, largestMass / (',
    replace: 'Math.max(largest, mass / (',
  },
  {
    bug: 'noise of the bounded sensitivity',
    file: 'bounds.ts',
    find: 'rateAt({ unboundedSensitivity }: RiskAnalysis',
    replace: 'rateAt({ boundedSensitivity: unboundedSensitivity }: RiskAnalysis',
  },
  {
    bug: 'epsilon of two such answers',
    file: 'bounds.ts',
    find: 'return unboundedSensitivity === 0 ? 0 : epsilon / unboundedSensitivity',
    replace: 'return unboundedSensitivity === 0 ? 0 : (2 * epsilon) / unboundedSensitivity',
  },
  {
    bug: 'n for n - 1',
    file: 'bounds.ts',
    find: 'totalMass === worlds ? worlds - 1 :',
    replace: 'totalMass === worlds ? worlds :',
  },
  {
    bug: 'the odds of a uniform prior, for any prior',
    file: 'bounds.ts',
    find: 'totalMass === worlds ? worlds - 1 : (1 - largestPrior) / largestPrior',
    replace: 'worlds - 1',
  },
  {
    bug: 'odds for instead of against',
    file: 'bounds.ts',
    find: '(1 - largestPrior) / largestPrior',
    replace: 'largestPrior / (1 - largestPrior)',
  },
  {
    bug: 'the upper bound said to hold always',
    file: 'analysis.ts',
    find: 'upperBoundHolds: bounded >= largestDifference',
    replace: 'upperBoundHolds: true',
  },
  {
    bug: 'the prior forgotten in the posterior',
    file: 'posterior.ts',
    find: 'total += mass * (likelihoods[index] ?? 0)',
    replace: 'total += likelihoods[index] ?? 0',
  },
  {
    bug: 'the confidence of another world',
    file: 'posterior.ts',
    find: '[largest, prior] = [posterior, largestMass / totalMass]',
    replace: '[largest, prior] = [posterior, analysis.largestPrior]',
  },
  {
    bug: 'a response beyond the answers is not held to them',
    file: 'posterior.ts',
    find: 'Math.min(Math.max(response - (answers[0]?.answer ?? 0), 0), largestDifference)',
    replace: 'Math.max(response - (answers[0]?.answer ?? 0), 0) % (largestDifference || 1)',
  },
  {
    bug: 'the response without the answer that it is counted from',
    file: 'posterior.ts',
    find: 'response - (answers[0]?.answer ?? 0)',
    replace: 'response',
  },
  {
    bug: 'the posterior of a world without its prior',
    file: 'posterior.ts',
    find: '(mass * (likelihoods[index] ?? 0)) / total',
    replace: '(likelihoods[index] ?? 0) / total',
  },
  {
    bug: 'priors that are not divided by what they add up to',
    file: 'analysis.ts',
    find: 'const totalMass = asked.prior === undefined ? Number(asked.worlds) : 1',
    replace: 'const totalMass = Number(asked.worlds)',
  },
  {
    bug: 'the closed form upside down',
    file: 'epsilon-for-risk.ts',
    find: '(unboundedSensitivity / boundedSensitivity) *',
    replace: '(boundedSensitivity / (unboundedSensitivity || 1)) *',
  },
  {
    bug: 'a chance for odds in the closed form',
    file: 'epsilon-for-risk.ts',
    find: 'Math.log(risk / (1 - risk))',
    replace: 'Math.log(risk)',
  },
  {
    bug: 'the upper end of the bisection',
    file: 'epsilon-for-risk.ts',
    find: 'return { reached: true, epsilon: within }',
    replace: 'return { reached: true, epsilon: beyond }',
  },
  {
    bug: 'every risk is reached by some epsilon',
    file: 'epsilon-for-risk.ts',
    find: 'mass === 0 ? 0 : largestMass / mass',
    replace: 'mass === 0 ? 0 : 1',
  },
  {
    bug: 'worlds in the order of who is left out',
    file: 'enumeration.ts',
    find: 'return isReversed ? answers.reverse() : answers',
    replace: 'return answers',
  },
  {
    bug: 'no person removed',
    file: 'enumeration.ts',
    find: 'if (someStay) fewer.include(dataset.answer())',
    replace: '',
  },
  {
    bug: 'no person added',
    file: 'enumeration.ts',
    find: 'forEachSubset(rest, changed, added(more))',
    replace: '',
  },
  {
    bug: 'the last person never removed',
    file: 'enumeration.ts',
    find: 'forEachSubset(members, changed, {',
    replace: 'forEachSubset(members.slice(0, -1), Math.min(changed, members.length - 1), {',
  },
  {
    bug: 'only neighbours with a larger answer',
    file: 'enumeration.ts',
    find: 'found[0] = answer < least ? answer : least',
    replace: 'found[0] = answer > least ? answer : least',
  },
  {
    bug: 'one subset too few',
    file: 'subsets.ts',
    find: 'place <= items.length - left',
    replace: 'place < items.length - left',
  },
  {
    bug: 'the variance of a sample',
    file: 'exact-query.ts',
    find: `    case 'standardDeviation':
      return BigInt(size) ** 2n`,
    replace: `    case 'standardDeviation':
      return BigInt(size) * (BigInt(size) - 1n || 1n)`,
  },
  {
    bug: 'a standard deviation that is a variance',
    file: 'exact-query.ts',
    find: "return query.kind === 'standardDeviation' ? Math.sqrt(number) : number",
    replace: 'return number',
  },
  {
    bug: 'a rank counted in all values, not in the gaps between them',
    file: 'exact-query.ts',
    find: 'BigInt(size - 1) * share.numerator',
    replace:
      'BigInt(size) * share.numerator - (share.numerator === share.denominator ? share.denominator : 0n)',
  },
  {
    bug: 'the lower of two ranks',
    file: 'exact-query.ts',
    find: 'above: place % share.denominator',
    replace: 'above: 0n',
  },
  {
    bug: 'an open interval',
    file: 'exact-query.ts',
    find: 'value <= predicate.upper',
    replace: 'value < predicate.upper',
  },
  {
    bug: 'half the universe on both sides of a sum',
    file: 'sensitivities.ts',
    find: 'bounded: apart(top(changed), bottom(changed)),',
    replace: 'bounded: apart(top(changed), bottom(changed - 1)),',
  },
  {
    bug: 'a sum that only grows',
    file: 'sensitivities.ts',
    find: 'Math.max(apart(top(changed), 0n), apart(0n, bottom(changed)))',
    replace: 'apart(top(changed), 0n)',
  },
  {
    bug: 'a mean that only rises',
    file: 'sensitivities.ts',
    find: `    return Math.max(rise, fall)
  }
  return {
    bounded: answerDifference(query, [top(changed)`,
    replace: `    return Math.max(rise, 0 * fall)
  }
  return {
    bounded: answerDifference(query, [top(changed)`,
  },
  {
    bug: 'a mean from which no person is removed',
    file: 'sensitivities.ts',
    find: `    bounded: answerDifference(query, [top(changed), released], [bottom(changed), released]),
    unbounded: Math.max(apart(released), apart(released + changed)),`,
    replace: `    bounded: answerDifference(query, [top(changed), released], [bottom(changed), released]),
    unbounded: apart(released + changed),`,
  },
  {
    bug: 'a mean to which no person is added',
    file: 'sensitivities.ts',
    find: `    bounded: answerDifference(query, [top(changed), released], [bottom(changed), released]),
    unbounded: Math.max(apart(released), apart(released + changed)),`,
    replace: `    bounded: answerDifference(query, [top(changed), released], [bottom(changed), released]),
    unbounded: apart(released),`,
  },
  {
    bug: 'the rest of a mean in the middle',
    file: 'sensitivities.ts',
    find: '[top(changed) + bottom(smaller), larger], [bottom(smaller), smaller]',
    replace: '[bottom(larger), larger], [bottom(smaller), smaller]',
  },
  {
    bug: 'an order statistic from which no person is removed',
    file: 'sensitivities.ts',
    find: `    bounded: largest(released + changed, lifted(weights, changed), weights),
    unbounded: Math.max(apart(released), apart(released + changed)),`,
    replace: `    bounded: largest(released + changed, lifted(weights, changed), weights),
    unbounded: apart(released + changed),`,
  },
  {
    bug: 'an order statistic to which no person is added',
    file: 'sensitivities.ts',
    find: `    bounded: largest(released + changed, lifted(weights, changed), weights),
    unbounded: Math.max(apart(released), apart(released + changed)),`,
    replace: `    bounded: largest(released + changed, lifted(weights, changed), weights),
    unbounded: apart(released),`,
  },
  {
    bug: 'ranks lifted by one, however many are removed',
    file: 'sensitivities.ts',
    find: 'rank: rank + ranks, weight',
    replace: 'rank: rank + 1, weight',
  },
  {
    bug: 'values at the same positions for both places',
    file: 'sensitivities.ts',
    find: 'weight > 0n ? rank + skipped : rank',
    replace: 'rank',
  },
  {
    bug: 'the largest values without those above them',
    file: 'sensitivities.ts',
    find: 'weight > 0n ? rank + skipped : rank',
    replace: 'weight > 0n ? rank + skipped + 1 : rank',
  },
  {
    bug: 'weights of one rank not taken from each other',
    file: 'sensitivities.ts',
    find: '(weightOf.get(rank) ?? 0n) - weight',
    replace: '-weight',
  },
  {
    bug: 'an order statistic that only rises',
    file: 'sensitivities.ts',
    find: 'Math.max(largest(larger, lifted(after, changed), before), largest(larger, before, after))',
    replace: 'largest(larger, lifted(after, changed), before)',
  },
  {
    bug: 'an order statistic that only falls',
    file: 'sensitivities.ts',
    find: 'Math.max(largest(larger, lifted(after, changed), before), largest(larger, before, after))',
    replace: 'largest(larger, before, after)',
  },
  {
    bug: 'a variance with every person replaced',
    file: 'enumeration.ts',
    find: 'const someStay = released > changed',
    replace: 'const someStay = true',
  },
  {
    bug: 'a value chosen twice',
    file: 'answer-counts.ts',
    find: `    for (let count = largestSums.length - 1; count > 0; count -= 1)
      addShifted(`,
    replace: `    for (let count = 1; count < largestSums.length; count += 1)
      addShifted(`,
  },
  {
    bug: 'sums of those left out taken for those released',
    file: 'answer-counts.ts',
    find: 'answer: everybody - answer, worlds',
    replace: 'answer, worlds',
  },
  {
    bug: 'sums counted from 0',
    file: 'answer-counts.ts',
    find: 'const base = BigInt(chosen) * least',
    replace: 'const base = 0n',
  },
  {
    bug: 'values that are not chosen forgotten among ones and zeros',
    file: 'answer-counts.ts',
    find: 'counts[taken] = ofOnes * ofZeros',
    replace: 'counts[taken] = ofOnes',
  },
  {
    bug: 'all that is above the rank left out of the count',
    file: 'answer-counts.ts',
    find: 'worlds: (waysBelow[skipped] ?? 0) * (waysAbove[skippable - skipped] ?? 0)',
    replace: 'worlds: waysBelow[skipped] ?? 0',
  },
  {
    bug: 'two ranks at one position',
    file: 'answer-counts.ts',
    find: 'at(rank + 1 + skippedByNext) * above',
    replace: 'at(rank + skippedByNext) * above',
  },
  {
    bug: 'one row of each person in a count',
    file: 'exact-query.ts',
    find: 'BigInt(counted(own).length)',
    replace: '(counted(own).length > 0 ? 1n : 0n)',
  },
  {
    bug: 'one row of each person in a sum',
    file: 'exact-query.ts',
    find: 'return others.reduce((sum, decimal) => sum + decimal, first)',
    replace: 'return first',
  },
  {
    bug: 'the least row of each person in a maximum',
    file: 'exact-query.ts',
    find: '(decimal > most ? decimal : most)',
    replace: '(decimal < most ? decimal : most)',
  },
  {
    bug: 'the first row of each person in a minimum',
    file: 'exact-query.ts',
    find: '(decimal < least ? decimal : least)',
    replace: 'least',
  },
  {
    bug: 'pairs in both orders',
    file: 'answer-counts.ts',
    find: 'skips.slice(skipped).map(',
    replace: 'skips.map(',
  },
]

/** True if a test of the contract fails; a mutant that throws fails one. */
function breaksContract(risk: Risk): boolean {
  return RISK_CONTRACT.some(({ check }) => {
    try {
      check(risk)
      return false
    } catch {
      return true
    }
  })
}

describe('every mutant breaks the contract', () => {
  it('the unchanged source fulfils it', async () => {
    expect(await withMutant(undefined, breaksContract)).toBe(false)
  })

  it.each(selectMutants(import.meta.dirname, MUTANTS, ({ file }) => [`risk/${file}`]))(
    '$bug ($file)',
    async (mutation) => {
      expect(await withMutant(mutation, breaksContract)).toBe(true)
    },
  )
})

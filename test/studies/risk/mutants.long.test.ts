import { type SourceChange, withChangedSource } from '../../mutants/changed-source.ts'
import { describeMutants, type Mutant, mutantsIn } from '../../mutants/select-mutants.ts'
import { RISK_CONTRACT, RISK_MODULES, type Risk } from './contract.ts'

const bounds = mutantsIn('studies/risk/bounds.ts')
const analysis = mutantsIn('studies/risk/analysis.ts')
const posterior = mutantsIn('studies/risk/posterior.ts')
const epsilonForRisk = mutantsIn('studies/risk/epsilon-for-risk.ts')
const enumeration = mutantsIn('studies/risk/enumeration.ts')
const subsets = mutantsIn('studies/risk/subsets.ts')
const exactQuery = mutantsIn('studies/risk/exact-query.ts')
const sensitivities = mutantsIn('studies/risk/sensitivities.ts')
const answerCounts = mutantsIn('studies/risk/answer-counts.ts')

const MUTANTS: readonly Mutant[] = [
  bounds(
    'the last world left out of the tight bound',
    'for (let index = answers.length - 1; index >= 0; index -= 1)',
    'for (let index = answers.length - 2; index >= 0; index -= 1)',
  ),
  bounds('only the worlds below', '(entry(fromBelow, index) + fromAbove)', 'entry(fromBelow, index)'),
  bounds(
    'an answer counted on both sides of itself',
    '(entry(fromBelow, index) + fromAbove)',
    '(entry(fromBelow, index) + fromAbove + largestMass)',
  ),
  bounds(
    'worlds that share an answer counted once',
    'weight * likelihood(abovePrevious, rate) + mass',
    'weight * likelihood(abovePrevious, rate) + largestMass',
  ),
  bounds(
    'what lies below does not fade',
    'weight = weight * likelihood(abovePrevious, rate) + mass',
    'weight = weight + mass',
  ),
  bounds(
    'what lies above does not fade',
    '(fromAbove + mass) * likelihood(abovePrevious, rate)',
    'fromAbove + mass',
  ),
  bounds(
    'the risk of an answer for that of a world',
    'Math.max(largest, largestMass / (',
    'Math.max(largest, mass / (',
  ),
  bounds(
    'noise of the bounded sensitivity',
    'rateAt({ unboundedSensitivity }: RiskAnalysis',
    'rateAt({ boundedSensitivity: unboundedSensitivity }: RiskAnalysis',
  ),
  bounds(
    'epsilon of two such answers',
    'return unboundedSensitivity === 0 ? 0 : epsilon / unboundedSensitivity',
    'return unboundedSensitivity === 0 ? 0 : (2 * epsilon) / unboundedSensitivity',
  ),
  bounds('n for n - 1', 'totalMass === worlds ? worlds - 1 :', 'totalMass === worlds ? worlds :'),
  bounds(
    'the odds of a uniform prior, for any prior',
    'totalMass === worlds ? worlds - 1 : (1 - largestPrior) / largestPrior',
    'worlds - 1',
  ),
  bounds(
    'odds for instead of against',
    '(1 - largestPrior) / largestPrior',
    'largestPrior / (1 - largestPrior)',
  ),
  analysis(
    'the upper bound said to hold always',
    'upperBoundHolds: bounded >= largestDifference',
    'upperBoundHolds: true',
  ),
  posterior(
    'the prior forgotten in the posterior',
    'total += mass * entry(likelihoods, index)',
    'total += entry(likelihoods, index)',
  ),
  posterior(
    'the confidence of another world',
    '[largest, prior] = [posterior, largestMass / totalMass]',
    '[largest, prior] = [posterior, analysis.largestPrior]',
  ),
  posterior(
    'a response beyond the answers is not held to them',
    'Math.min(Math.max(response - (answers[0]?.answer ?? 0), 0), largestDifference)',
    'Math.max(response - (answers[0]?.answer ?? 0), 0) % (largestDifference || 1)',
  ),
  posterior(
    'the response without the answer that it is counted from',
    'response - (answers[0]?.answer ?? 0)',
    'response',
  ),
  posterior(
    'the posterior of a world without its prior',
    '(mass * entry(likelihoods, index)) / total',
    'entry(likelihoods, index) / total',
  ),
  analysis(
    'priors that are not divided by what they add up to',
    'const totalMass = asked.prior === undefined ? Number(asked.worlds) : 1',
    'const totalMass = Number(asked.worlds)',
  ),
  epsilonForRisk(
    'the closed form upside down',
    '(unboundedSensitivity / boundedSensitivity) *',
    '(boundedSensitivity / (unboundedSensitivity || 1)) *',
  ),
  epsilonForRisk('a chance for odds in the closed form', 'Math.log(risk / (1 - risk))', 'Math.log(risk)'),
  epsilonForRisk(
    'the upper end of the bisection',
    'return { reached: true, epsilon: within }',
    'return { reached: true, epsilon: beyond }',
  ),
  epsilonForRisk(
    'every risk is reached by some epsilon',
    'mass === 0 ? 0 : largestMass / mass',
    'mass === 0 ? 0 : 1',
  ),
  enumeration(
    'worlds in the order of who is left out',
    'return isReversed ? answers.reverse() : answers',
    'return answers',
  ),
  enumeration('no person removed', 'if (someStay) fewer.include(dataset.answer())', ''),
  enumeration('no person added', 'forEachSubset(rest, changed, added(more))', ''),
  enumeration(
    'the last person never removed',
    'forEachSubset(members, changed, {',
    'forEachSubset(members.slice(0, -1), Math.min(changed, members.length - 1), {',
  ),
  enumeration(
    'only neighbours with a larger answer',
    'found[0] = answer < least ? answer : least',
    'found[0] = answer > least ? answer : least',
  ),
  subsets('one subset too few', 'place <= items.length - left', 'place < items.length - left'),
  exactQuery(
    'the variance of a sample',
    `    case 'standardDeviation':
      return BigInt(size) ** 2n`,
    `    case 'standardDeviation':
      return BigInt(size) * (BigInt(size) - 1n || 1n)`,
  ),
  exactQuery(
    'a standard deviation that is a variance',
    "return query.kind === 'standardDeviation' ? Math.sqrt(number) : number",
    'return number',
  ),
  exactQuery(
    'a rank counted in all values, not in the gaps between them',
    'BigInt(size - 1) * share.numerator',
    'BigInt(size) * share.numerator - (share.numerator === share.denominator ? share.denominator : 0n)',
  ),
  exactQuery('the lower of two ranks', 'above: place % share.denominator', 'above: 0n'),
  exactQuery('an open interval', 'value <= predicate.upper', 'value < predicate.upper'),
  sensitivities(
    'half the universe on both sides of a sum',
    'bounded: apart(top(changed), bottom(changed)),',
    'bounded: apart(top(changed), bottom(changed - 1)),',
  ),
  sensitivities(
    'a sum that only grows',
    'Math.max(apart(top(changed), 0n), apart(0n, bottom(changed)))',
    'apart(top(changed), 0n)',
  ),
  sensitivities(
    'a mean that only rises',
    `    return Math.max(rise, fall)
  }
  return {
    bounded: answerDifference(query, [top(changed)`,
    `    return Math.max(rise, 0 * fall)
  }
  return {
    bounded: answerDifference(query, [top(changed)`,
  ),
  sensitivities(
    'a mean from which no person is removed',
    `    bounded: answerDifference(query, [top(changed), released], [bottom(changed), released]),
    unbounded: Math.max(apart(released), apart(released + changed)),`,
    `    bounded: answerDifference(query, [top(changed), released], [bottom(changed), released]),
    unbounded: apart(released + changed),`,
  ),
  sensitivities(
    'a mean to which no person is added',
    `    bounded: answerDifference(query, [top(changed), released], [bottom(changed), released]),
    unbounded: Math.max(apart(released), apart(released + changed)),`,
    `    bounded: answerDifference(query, [top(changed), released], [bottom(changed), released]),
    unbounded: apart(released),`,
  ),
  sensitivities(
    'the rest of a mean in the middle',
    '[top(changed) + bottom(smaller), larger], [bottom(smaller), smaller]',
    '[bottom(larger), larger], [bottom(smaller), smaller]',
  ),
  sensitivities(
    'an order statistic from which no person is removed',
    `    bounded: largest(released + changed, lifted(weights, changed), weights),
    unbounded: Math.max(apart(released), apart(released + changed)),`,
    `    bounded: largest(released + changed, lifted(weights, changed), weights),
    unbounded: apart(released + changed),`,
  ),
  sensitivities(
    'an order statistic to which no person is added',
    `    bounded: largest(released + changed, lifted(weights, changed), weights),
    unbounded: Math.max(apart(released), apart(released + changed)),`,
    `    bounded: largest(released + changed, lifted(weights, changed), weights),
    unbounded: apart(released),`,
  ),
  sensitivities(
    'ranks lifted by one, however many are removed',
    'rank: rank + ranks, weight',
    'rank: rank + 1, weight',
  ),
  sensitivities(
    'values at the same positions for both places',
    'weight > 0n ? rank + skipped : rank',
    'rank',
  ),
  sensitivities(
    'the largest values without those above them',
    'weight > 0n ? rank + skipped : rank',
    'weight > 0n ? rank + skipped + 1 : rank',
  ),
  sensitivities(
    'weights of one rank not taken from each other',
    '(weightOf.get(rank) ?? 0n) - weight',
    '-weight',
  ),
  sensitivities(
    'an order statistic that only rises',
    'Math.max(largest(larger, lifted(after, changed), before), largest(larger, before, after))',
    'largest(larger, lifted(after, changed), before)',
  ),
  sensitivities(
    'an order statistic that only falls',
    'Math.max(largest(larger, lifted(after, changed), before), largest(larger, before, after))',
    'largest(larger, before, after)',
  ),
  enumeration(
    'a variance with every person replaced',
    'const someStay = released > changed',
    'const someStay = true',
  ),
  answerCounts(
    'a value chosen twice',
    `    for (let count = largestSums.length - 1; count > 0; count -= 1)
      addShifted(`,
    `    for (let count = 1; count < largestSums.length; count += 1)
      addShifted(`,
  ),
  answerCounts(
    'sums of those left out taken for those released',
    'answer: everybody - answer, worlds',
    'answer, worlds',
  ),
  answerCounts('sums counted from 0', 'const base = BigInt(chosen) * least', 'const base = 0n'),
  answerCounts(
    'values that are not chosen forgotten among ones and zeros',
    'counts[taken] = ofOnes * ofZeros',
    'counts[taken] = ofOnes',
  ),
  answerCounts(
    'all that is above the rank left out of the count',
    'worlds: (waysBelow[skipped] ?? 0) * (waysAbove[skippable - skipped] ?? 0)',
    'worlds: waysBelow[skipped] ?? 0',
  ),
  answerCounts(
    'two ranks at one position',
    'at(rank + 1 + skippedByNext) * above',
    'at(rank + skippedByNext) * above',
  ),
  exactQuery(
    'one row of each person in a count',
    'BigInt(counted(own).length)',
    '(counted(own).length > 0 ? 1n : 0n)',
  ),
  exactQuery(
    'one row of each person in a sum',
    'return others.reduce((sum, decimal) => sum + decimal, first)',
    'return first',
  ),
  exactQuery(
    'the least row of each person in a maximum',
    '(decimal > most ? decimal : most)',
    '(decimal < most ? decimal : most)',
  ),
  exactQuery('the first row of each person in a minimum', '(decimal < least ? decimal : least)', 'least'),
  answerCounts('pairs in both orders', 'skips.slice(skipped).map(', 'skips.map('),
]

/** The test of the contract that fails; a mutant that throws fails one. */
function brokenTest(risk: Risk): string | undefined {
  return RISK_CONTRACT.find(({ check }) => {
    try {
      check(risk)
      return false
    } catch {
      return true
    }
  })?.name
}

const brokenBy = (changes: readonly SourceChange[]) =>
  withChangedSource(changes, {}, async (load) =>
    brokenTest(
      Object.assign({}, ...(await Promise.all(RISK_MODULES.map((file) => load<Partial<Risk>>(file))))),
    ),
  )

describeMutants('every mutant breaks the contract', import.meta.dirname, MUTANTS, brokenBy)

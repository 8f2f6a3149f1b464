import type { RiskQuery, RiskQuestion, ValuePredicate } from '../../../src/studies/risk/question.ts'

/* The definitions in doubles, as written: the code must agree with them, to within rounding, on small universes. */

/** All subsets of that size, in lexicographic order of positions. */
export function subsetsOf<Item>(items: readonly Item[], size: number): readonly (readonly Item[])[] {
  if (size === 0) return [[]]
  return items.flatMap((item, place) =>
    subsetsOf(items.slice(place + 1), size - 1).map((others) => [item, ...others]),
  )
}

export function naiveAnswer(query: RiskQuery, values: readonly number[]): number {
  const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0)
  const average = sum(values) / values.length
  const variance = sum(values.map((value) => (value - average) ** 2)) / values.length
  const percentile = (p: number) => {
    const ascending = [...values].sort((a, b) => a - b)
    const place = ((values.length - 1) * p) / 100
    const below = Math.floor(place + 1e-9)
    const [lower = Number.NaN, upper = lower] = ascending.slice(below)
    return lower + (place - below) * (upper - lower)
  }
  switch (query.kind) {
    case 'sum':
      return sum(values)
    case 'mean':
      return average
    case 'variance':
      return variance
    case 'standardDeviation':
      return Math.sqrt(variance)
    case 'minimum':
      return Math.min(...values)
    case 'maximum':
      return Math.max(...values)
    case 'median':
      return percentile(50)
    case 'percentile':
      return percentile(query.p)
    case 'count':
      return values.filter((value) => naiveSatisfies(value, query.satisfying)).length
  }
}

function naiveSatisfies(value: number, predicate: ValuePredicate): boolean {
  if (predicate.op === 'between') return predicate.lower <= value && value <= predicate.upper
  if (predicate.op === 'in') return predicate.values.some((one) => one === value)
  const order = Math.sign(value - predicate.value)
  return { '=': [0], '!=': [-1, 1], '<': [-1], '<=': [-1, 0], '>': [1], '>=': [0, 1] }[predicate.op].includes(
    order,
  )
}

/** All results that do not depend on epsilon, a response or a risk. */
export function naiveAnalysis({ universe, released, query, changed = 1, prior: beliefs }: RiskQuestion) {
  const everybody = universe.map((_, position) => position)
  const answerOf = (people: readonly number[]) =>
    naiveAnswer(
      query,
      people.flatMap((person) => universe[person] ?? Number.NaN),
    )
  const positions = subsetsOf(everybody, released)
  const answers = positions.map(answerOf)
  const [bounded, unbounded] = [[0], [0]]
  for (const [place, world] of positions.entries()) {
    const own = answers[place] ?? Number.NaN
    const rest = everybody.filter((person) => !world.includes(person))
    for (const joining of subsetsOf(rest, changed))
      unbounded.push(Math.abs(answerOf([...world, ...joining]) - own))
    for (const leaving of subsetsOf(world, changed)) {
      const staying = world.filter((person) => !leaving.includes(person))
      if (staying.length > 0 || query.kind === 'sum' || query.kind === 'count')
        unbounded.push(Math.abs(answerOf(staying) - own))
      for (const joining of subsetsOf(rest, changed))
        bounded.push(Math.abs(answerOf([...staying, ...joining]) - own))
    }
  }
  const total = (beliefs ?? answers.map(() => 1)).reduce((sum, belief) => sum + belief, 0)
  return {
    positions,
    answers,
    prior: answers.map((_, world) => (beliefs?.[world] ?? 1) / total),
    boundedSensitivity: Math.max(...bounded),
    unboundedSensitivity: Math.max(...unbounded),
    largestDifference: Math.max(...answers) - Math.min(...answers),
  }
}

type NaiveAnalysis = ReturnType<typeof naiveAnalysis>

export function naivePosterior(
  { answers, prior, unboundedSensitivity }: NaiveAnalysis,
  epsilon: number,
  response: number,
) {
  const exponents = answers.map((answer) =>
    unboundedSensitivity < 1e-12 ? 0 : (epsilon * Math.abs(response - answer)) / unboundedSensitivity,
  )
  const least = Math.min(...exponents.filter((_, world) => (prior[world] ?? 0) > 0))
  const weights = exponents.map((exponent, world) => (prior[world] ?? 0) * Math.exp(least - exponent))
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  return weights.map((weight, world) => (prior[world] === 0 ? 0 : weight / total))
}

/** Largest posterior of any world after its own answer. */
export function naiveTightBound(analysis: NaiveAnalysis, epsilon: number): number {
  return Math.max(
    ...analysis.answers.map((answer, world) => naivePosterior(analysis, epsilon, answer)[world] ?? 0),
  )
}

export function naiveUpperBound(analysis: NaiveAnalysis, epsilon: number): number {
  const { boundedSensitivity, unboundedSensitivity, prior } = analysis
  const scales = unboundedSensitivity < 1e-12 ? 0 : boundedSensitivity / unboundedSensitivity
  const likeliest = Math.max(...prior)
  return likeliest / (likeliest + (1 - likeliest) * Math.exp(-epsilon * scales))
}

/** Limit of the tight bound: a world is distinguished from all except those that share its answer. */
export function naiveLargestRisk({ answers, prior }: NaiveAnalysis): number {
  const ofAnswer = (own: number) =>
    answers.reduce((sum, other, world) => sum + (Math.abs(other - own) < 1e-9 ? (prior[world] ?? 0) : 0), 0)
  return Math.max(...answers.map((own, world) => (prior[world] ? prior[world] / ofAnswer(own) : 0)))
}

import { isQuestion, type Question, withField } from './question.ts'

/** Mechanisms that add noise to counts and sums. */
export const MECHANISMS = ['geometric', 'laplace', 'gaussian'] as const

/** Noise of a selection. */
export const SELECTION_NOISE = ['exponential', 'gumbel', 'laplace'] as const

/** Delta of a question that is given the mechanism `gaussian`, which needs one. */
export const USUAL_DELTA = 0.000001

/** Kinds that select a value by its score, whose mechanism follows from the kind. */
const WITHOUT_MECHANISM = ['noisyMax', 'median', 'percentile', 'minimum', 'maximum', 'keySelection'] as const

/** Kinds whose accuracy depends on the number of rows, which an analyst may suppose. */
const SUPPOSABLE = ['mean', 'variance', 'standardDeviation', 'covariance', 'proportion', 'groupBy'] as const

/** Kinds whose accuracy also depends on the values of one column. */
const OF_COLUMN = ['mean', 'variance', 'standardDeviation', 'groupBy'] as const

/** An option of a question that has a default. */
export type Option = 'mechanism' | 'noise' | 'ridge' | 'supposedRows' | 'supposedMoments'

/** Returns the further options of a kind. */
export function optionsOf(kind: unknown): readonly Option[] {
  return [
    ...(includes(WITHOUT_MECHANISM, kind) ? [] : (['mechanism'] as const)),
    ...(kind === 'noisyMax' ? (['noise'] as const) : []),
    ...(kind === 'linearRegression' ? (['ridge'] as const) : []),
    ...(includes(SUPPOSABLE, kind) ? (['supposedRows'] as const) : []),
    ...(includes(OF_COLUMN, kind) ? (['supposedMoments'] as const) : []),
  ]
}

/** Returns a question with a mechanism, or with the service's choice, and a delta if and only if the mechanism needs one. */
export function withMechanism(question: Question, mechanism: string | undefined): Question {
  const { delta, calibration: _, ...others } = question
  const chosen = withField(others, 'mechanism', mechanism)
  return mechanism === 'gaussian'
    ? { ...chosen, delta: typeof delta === 'number' && delta > 0 ? delta : USUAL_DELTA }
    : chosen
}

/** Returns a question with a field of one of its objects, which is left out once it is empty. */
export function withNested(question: Question, name: string, field: string, value: unknown): Question {
  const before = question[name]
  const next = withField(isQuestion(before) ? before : {}, field, value)
  return withField(question, name, Object.keys(next).length === 0 ? undefined : next)
}

/** Number of the options that a question states. */
export function statedOptions(question: Question): number {
  const { mechanism, noise, ridge, supposed } = question
  const suppositions = isQuestion(supposed) ? Object.values(supposed) : []
  return [mechanism, noise, ridge, ...suppositions].filter((value) => value !== undefined).length
}

function includes(kinds: readonly string[], kind: unknown): boolean {
  return kinds.some((each) => each === kind)
}

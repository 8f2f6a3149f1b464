import type { KindField } from '../../../../../clients/kind-entry.ts'
import { KINDS } from '../../../api/kinds.ts'
import { fieldValue, type Question, withField } from '../question/question.ts'

/** Mechanisms that add noise to counts and sums. */
export const MECHANISMS = ['geometric', 'laplace', 'gaussian'] as const

/** Delta of a question that is given the mechanism `gaussian`, which needs one. */
export const USUAL_DELTA = 0.000001

/** True for a field that the service chooses well: it stands under the further options. */
export function isFurther({ type, optional, default: usual }: KindField): boolean {
  return optional === true && usual === undefined && ['number', 'choice', 'weights'].includes(type)
}

/** Returns the names of the further options of a question: fields of its kind, and those that kinds have in common. */
export function optionsOf({ kind }: Pick<Question, 'kind'>): readonly string[] {
  const { fields, terms } = KINDS[kind]
  const own = Object.keys(fields).filter((name) => fields[name] && isFurther(fields[name]))
  return [...['mechanism', 'supposed'].filter((term) => terms.includes(term)), ...own]
}

/** True for a kind whose accuracy also depends on the values of one column, which an analyst may suppose. */
export function hasMoments({ kind }: Pick<Question, 'kind'>): boolean {
  const { fields } = KINDS[kind]
  return fields.column !== undefined || fields.statistics !== undefined
}

/** Returns a question with a mechanism, or with the service's choice, and a delta if and only if the mechanism needs one. */
export function withMechanism(question: Question, mechanism: string | undefined): Question {
  const delta = Number(fieldValue(question, 'delta') ?? 0)
  const gaussian = mechanism === 'gaussian' ? (delta > 0 ? delta : USUAL_DELTA) : undefined
  const chosen = withField(withField(question, 'calibration', undefined), 'mechanism', mechanism)
  return withField(chosen, 'delta', gaussian)
}

/** Returns a question with a field of its suppositions, which are left out once they are empty. */
export function withSupposition(question: Question, field: string, value: number | undefined): Question {
  const next = withField(suppositionsOf(question), field, value)
  return withField(question, 'supposed', Object.keys(next).length === 0 ? undefined : next)
}

/** Returns the suppositions of a question. */
export function suppositionsOf(question: Question): Readonly<Record<string, number>> {
  return 'supposed' in question ? { ...question.supposed } : {}
}

/** Number of the options that a question states. */
export function statedOptions(question: Question): number {
  const own = optionsOf(question).filter((name) => name !== 'supposed' && name in question)
  return own.length + Object.keys(suppositionsOf(question)).length
}

import { statedBeside } from '../answers/question-as-sql.ts'
import type { Question } from './kinds.ts'

export type { Question } from './kinds.ts'

/** What a question costs: an epsilon, or the smallest epsilon that reaches a half-width. */
export type Price =
  | { readonly by: 'epsilon'; readonly epsilon: number }
  | { readonly by: 'accuracy'; readonly halfWidth: number }

/** Epsilon of a question that states no price. */
export const USUAL_EPSILON = 0.1

/** Fractional digits that the service accepts in an epsilon. */
const EPSILON_DIGITS = 9

/** True if a value is an object of JSON. */
export function isQuestion(value: unknown): value is Question {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Reads a question, or says why the text is none. */
export function readQuestion(text: string): { readonly question: Question } | { readonly error: string } {
  try {
    const value: unknown = JSON.parse(text)
    if (!isQuestion(value)) return { error: 'must be an object with a kind, such as {"kind": "count"}' }
    if (typeof value.kind !== 'string' && !Array.isArray(value.queries)) return { error: 'must have a kind' }
    return { question: value }
  } catch (error) {
    return { error: error instanceof Error ? error.message : 'is not JSON' }
  }
}

/** Returns the price that a question states. */
export function priceOf({ epsilon, accuracy }: Question): Price {
  if (isQuestion(accuracy) && typeof accuracy.halfWidth === 'number')
    return { by: 'accuracy', halfWidth: accuracy.halfWidth }
  return { by: 'epsilon', epsilon: typeof epsilon === 'number' ? epsilon : USUAL_EPSILON }
}

/** Returns a question with a price. A confidence that it states is kept. */
export function withPrice({ epsilon: _, accuracy, ...question }: Question, price: Price): Question {
  if (price.by === 'epsilon') return { ...question, epsilon: Number(price.epsilon.toFixed(EPSILON_DIGITS)) }
  const { confidence } = isQuestion(accuracy) ? accuracy : {}
  return {
    ...question,
    accuracy: { halfWidth: price.halfWidth, ...(confidence === undefined ? {} : { confidence }) },
  }
}

/** Returns what a question states beside its statement: its price, its bounds on people, and its options. */
export function termsOf(question: Question): Question {
  return statedBeside(withPrice(question, priceOf(question)))
}

/** Returns a question with a field, or without it if the value is undefined. */
export function withField(question: Question, name: string, value: unknown): Question {
  const { [name]: _, ...others } = question
  return value === undefined ? others : { ...question, [name]: value }
}

/** Returns the queries of a batch, or undefined if the question is a single one. */
export function queriesOf({ queries }: Question): readonly Question[] | undefined {
  return Array.isArray(queries) ? queries.filter(isQuestion) : undefined
}

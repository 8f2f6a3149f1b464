import type { Schemas } from '../../../api/schemas.ts'
import { statedBeside } from '../../answers/code/question-as-sql.ts'
import type { AskedDataset } from '../../datasets/dataset.ts'

/** A question as the service reads it. Its fields depend on its kind. */
export type Question = Schemas['Query']
export type Statistic = Schemas['GroupStatistic']
export type Predicate = Schemas['Predicate']
/** Test of one column. */
export type ColumnTest = Exclude<Predicate, { op: 'and' | 'or' | 'not' }>
export type Grouping = Schemas['HistogramQuery']['column']
export type Candidates = Schemas['NoisyMaxQuery']['candidates']

/** Cost of a question: an epsilon, or the smallest epsilon that reaches a half-width. */
export type Price =
  | { readonly by: 'epsilon'; readonly epsilon: number }
  | { readonly by: 'accuracy'; readonly halfWidth: number }

/** Epsilon of a question that states no price. */
export const USUAL_EPSILON = 0.1

/** Fractional digits that the service accepts in an epsilon. */
const EPSILON_DIGITS = 9

/** Returns the price that a question states. */
export function priceOf({ epsilon = USUAL_EPSILON, accuracy }: Question): Price {
  return accuracy === undefined
    ? { by: 'epsilon', epsilon }
    : { by: 'accuracy', halfWidth: accuracy.halfWidth }
}

/** Returns a question with a price. A confidence that it states is kept. */
export function withPrice({ epsilon: _, accuracy, ...question }: Question, price: Price): Question {
  return price.by === 'epsilon'
    ? { ...question, epsilon: Number(price.epsilon.toFixed(EPSILON_DIGITS)) }
    : { ...question, accuracy: { ...accuracy, halfWidth: price.halfWidth } }
}

/** Returns what a question states beside its statement: its price, its bounds on people, and its options. */
export function termsOf(question: Question): object {
  return statedBeside(withPrice(question, priceOf(question)))
}

/** Returns the value of a field that only some kinds have. */
export function fieldValue(asked: object, name: string): unknown {
  return (asked as Readonly<Record<string, unknown>>)[name]
}

/** Returns an object with a field, or without it if the value is undefined. The table of kinds says which value fits. */
export function withField<Asked extends object>(asked: Asked, name: string, value: unknown): Asked {
  const { [name]: _, ...others } = asked as Readonly<Record<string, unknown>>
  return (value === undefined ? others : { ...asked, [name]: value }) as Asked
}

/** Properties of the parts of the form. */
export interface QuestionPart {
  readonly dataset: AskedDataset
  readonly question: Question
  readonly onChange: (question: Question) => void
}

/** Properties of the parts that write the question as text. */
export interface WrittenQuestionPart extends QuestionPart {
  /** Called with true while the text states another question, or none. Nothing is asked then. */
  readonly onPending: (isPending: boolean) => void
}

/** What is asked of all questions of a batch. */
export type BatchTerms = Pick<Schemas['Batch'], 'plan' | 'objective' | 'weights'>

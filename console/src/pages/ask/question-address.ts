import { type EpsilonLimits, epsilonRange } from './half-widths.ts'
import { type DatasetFacts, questionOf } from './kinds.ts'
import { type Question, queriesOf, readQuestion, USUAL_EPSILON } from './question.ts'

/** Public facts of a dataset from which the first question is made. */
export type FirstFacts = DatasetFacts & EpsilonLimits

/** A question that is being written, and those that are asked together. */
export interface Draft {
  readonly question: Question
  /** Questions of the batch; empty without one. */
  readonly batch: readonly Question[]
}

/** Draft of an address, and whether the address states something that is no question. */
export interface AddressDraft extends Draft {
  readonly isUnreadable: boolean
}

/** Reads the draft of an address. Without a question it is the first of the batch, or a count. */
export function readDraft(parameters: URLSearchParams, dataset: FirstFacts): AddressDraft {
  const [q, batchText] = [parameters.get('q'), parameters.get('batch')]
  const question = questionIn(q)
  const batch = (question && queriesOf(question)) ?? queriesOf(questionIn(batchText) ?? {}) ?? []
  const single = question !== undefined && queriesOf(question) === undefined ? question : batch[0]
  return {
    question: single ?? firstQuestion(dataset),
    batch,
    isUnreadable: (q !== null && question === undefined) || (batchText !== null && batch.length === 0),
  }
}

/** Returns a count at the usual epsilon, or at the one next to it that the dataset permits. */
function firstQuestion(dataset: FirstFacts): Question {
  const { lower, upper } = epsilonRange(dataset)
  const epsilon = Math.min(upper, Math.max(lower, USUAL_EPSILON))
  return { ...questionOf('count', dataset), ...(epsilon === USUAL_EPSILON ? {} : { epsilon }) }
}

function questionIn(text: string | null): Question | undefined {
  const read = text === null ? undefined : readQuestion(text)
  return read !== undefined && 'question' in read ? read.question : undefined
}

/** Returns the parameters of the address of a draft. */
export function draftParameters({ question, batch }: Draft): URLSearchParams {
  return new URLSearchParams({
    q: JSON.stringify(question),
    ...(batch.length === 0 ? {} : { batch: JSON.stringify({ queries: batch }) }),
  })
}

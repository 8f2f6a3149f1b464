import type { DatasetFacts } from '../../datasets/dataset.ts'
import { questionOf } from '../kinds/kinds.ts'
import { type EpsilonLimits, epsilonRange } from '../price/half-widths.ts'
import { type BatchTerms, type Question, USUAL_EPSILON } from './question.ts'
import { type ReadQuestion, readQuestion } from './read-question.ts'

/** Public facts of a dataset from which the first question is made. */
export type FirstFacts = DatasetFacts & EpsilonLimits

/** A question that is being written, and those that are asked together. */
export interface Draft {
  readonly question: Question
  /** Questions of the batch; empty without one. */
  readonly batch: readonly Question[]
  /** What is asked of all of them. */
  readonly terms: BatchTerms
}

/** Draft of an address, and whether the address states something that is no question. */
export interface AddressDraft extends Draft {
  readonly isUnreadable: boolean
}

/** Most characters of the parameters of an address. Servers refuse addresses of more than about 16,000 characters. */
const MOST_CHARACTERS = 8_000

/** Where a draft is kept: in the address, or beside it in the history of the tab if it is too long for an address. */
export interface DraftPlace {
  readonly parameters: URLSearchParams
  readonly state: Draft | null
}

/** Returns where a draft is kept. */
export function placeOf(draft: Draft): DraftPlace {
  const parameters = draftParameters(draft)
  if (parameters.toString().length <= MOST_CHARACTERS) return { parameters, state: null }
  return { parameters: new URLSearchParams({ long: 'true' }), state: draft }
}

/**
 * Reads the draft of an address. Without a question it is the first of the batch, or a count.
 * @param state what the history of the tab keeps beside the address
 */
export function readDraft(
  parameters: URLSearchParams,
  dataset: FirstFacts,
  state: unknown = null,
): AddressDraft {
  if (parameters.has('long') && isDraft(state)) return { ...state, isUnreadable: false }
  const [q, batchText] = [parameters.get('q') || null, parameters.get('batch') || null]
  const asked = q === null ? undefined : readQuestion(q)
  const listed = batchText === null ? undefined : readQuestion(batchText)
  const { queries: batch, terms } = batchIn(asked) ?? batchIn(listed) ?? { queries: [], terms: {} }
  const single = asked !== undefined && 'question' in asked ? asked.question : batch[0]
  return {
    question: single ?? firstQuestion(dataset),
    batch,
    terms,
    isUnreadable:
      parameters.has('long') ||
      (asked !== undefined && 'error' in asked) ||
      (listed !== undefined && batch.length === 0),
  }
}

function batchIn(read: ReadQuestion | undefined) {
  return read !== undefined && 'queries' in read ? read : undefined
}

function isDraft(state: unknown): state is Draft {
  return typeof state === 'object' && state !== null && 'question' in state && 'terms' in state
}

/** Returns a count at the usual epsilon, or at the one next to it that the dataset permits. */
function firstQuestion(dataset: FirstFacts): Question {
  const { lower, upper } = epsilonRange(dataset)
  const epsilon = Math.min(upper, Math.max(lower, USUAL_EPSILON))
  return { ...questionOf('count', dataset), ...(epsilon === USUAL_EPSILON ? {} : { epsilon }) }
}

/** Returns the parameters of the address of a draft. */
function draftParameters({ question, batch, terms }: Draft): URLSearchParams {
  return new URLSearchParams({
    q: JSON.stringify(question),
    ...(batch.length === 0 ? {} : { batch: JSON.stringify({ queries: batch, ...terms }) }),
  })
}

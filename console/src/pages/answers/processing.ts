import type { AnswerDocument, AnswerPart } from './answer-text.ts'
import type { AskedQuestion } from './question-text.ts'

/** Post-processing of the values of an answer. */
export interface Processing {
  readonly round: boolean
  readonly nonNegative: boolean
}

/** Returns the answers of a document: one, or those of a batch. */
export function partsOf(document: AnswerDocument): readonly AnswerPart[] {
  return 'answers' in document ? document.answers : [document]
}

/** Returns the questions of a document: one, or those of a batch; none if the document states none. */
export function questionsOf(question: AnswerDocument['question']): readonly AskedQuestion[] {
  if (question === undefined) return []
  return ('queries' in question ? question.queries : [question]) as readonly AskedQuestion[]
}

/**
 * Returns the post-processing that changes something and that the service accepts. It applies to values that are made from
 * sums and counts; replacing negative values only to those whose true value is never negative.
 */
export function offeredProcessing(document: AnswerDocument): Processing {
  const facts = partsOf(document).flatMap(({ domain }) => Object.values(domain ?? {}))
  const numbers = facts.filter(({ temporal }) => temporal === undefined)
  const isSome = numbers.length > 0
  const isNeverNegative = numbers.every(({ lower }) => typeof lower === 'number' && lower >= 0)
  return { round: isSome, nonNegative: isSome && isNeverNegative }
}

/** Returns the post-processing that the question of an answer, or all questions of a batch, ask for. */
export function askedProcessing({ question }: AnswerDocument): Processing {
  if (question === undefined) return { round: false, nonNegative: false }
  const asked = questionsOf(question).map(({ postprocess }) => (postprocess ?? {}) as Partial<Processing>)
  return {
    round: asked.every(({ round }) => round === true),
    nonNegative: asked.every(({ nonNegative }) => nonNegative === true),
  }
}

/** True if both change values in the same way. */
export function isSameProcessing(one: Processing, other: Processing): boolean {
  return one.round === other.round && one.nonNegative === other.nonNegative
}

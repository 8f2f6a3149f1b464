import { useMutation } from '@tanstack/react-query'
import { useCallback } from 'react'
import type { Answer, Batch, Query } from 'sotto-client'
import { client, queryClient, refreshAll } from '../../api/api.ts'
import type { AnswerDocument } from '../answers/answer-text.ts'
import type { BatchTerms, Question } from './question/question.ts'

export interface Asked {
  readonly questions: readonly Question[]
  /** Present if they are asked as a batch. */
  readonly terms?: BatchTerms
  /** True if made-up rows answer, at no cost. */
  readonly practice: boolean
}

export interface Answered {
  readonly document: AnswerDocument
  /** True if a stored answer was sent again, at no cost. */
  readonly replayed: boolean
}

/** Asks questions. A repeat of a question is answered at no cost, so that a lost connection costs nothing either. */
export function useAsking(id: string) {
  const mutation = useMutation<Answered, Error, Asked>({
    mutationKey: ['ask', id],
    mutationFn: async ({ questions, terms, practice }) => {
      const dataset = client.dataset(id, practice ? { on: 'dummy' } : undefined)
      const asked = questions.map((body) => ({
        kind: body.kind,
        body,
      })) as readonly object[] as readonly Query[]
      const [first] = asked
      if (first === undefined) throw new TypeError('there is no question to ask')
      const answer: Answer | Batch =
        terms === undefined ? await dataset.ask(first) : await dataset.batch(asked, terms)
      return { document: answer.raw as AnswerDocument, replayed: answer.replayed }
    },
    onSuccess: refreshAll,
  })
  const { mutate } = mutation
  // The second click of a double click can come before the button is drawn as busy.
  const ask = useCallback(
    (asked: Asked) => {
      if (queryClient.isMutating({ mutationKey: ['ask', id] }) === 0) mutate(asked)
    },
    [id, mutate],
  )
  return { ...mutation, ask }
}

import { describe, expect, test } from 'vitest'
import type { Question } from '../../../console/src/pages/ask/question/question.ts'
import { type Draft, placeOf, readDraft } from '../../../console/src/pages/ask/question/question-address.ts'
import { ROWS } from './question-datasets.ts'

const read = (address: string) => readDraft(new URLSearchParams(address), ROWS.facts)
const mean: Question = { kind: 'mean', column: "it's & co = 5%", epsilon: 0.25 }
const count: Question = { kind: 'count', epsilon: 1 }

describe('the address of a question', () => {
  test.each<[Draft]>([
    [{ question: mean, batch: [], terms: {} }],
    [{ question: mean, batch: [count, mean], terms: {} }],
    [{ question: count, batch: [count], terms: { plan: 'separate' } }],
    [{ question: count, batch: [count, count], terms: { plan: 'together', weights: [1, 2] } }],
  ])('leads back to the same question and batch: %j', (draft) => {
    expect(placeOf(draft).state).toBeNull()
    expect(read(placeOf(draft).parameters.toString())).toEqual({ ...draft, isUnreadable: false })
  })

  test('that would be too long is kept beside the address', () => {
    const draft = { question: count, batch: Array.from({ length: 100 }, () => mean), terms: {} }
    const { parameters, state } = placeOf(draft)
    expect(parameters.toString()).toBe('long=true')
    expect(readDraft(parameters, ROWS.facts, state)).toEqual({ ...draft, isUnreadable: false })
    // A link that was copied has no history.
    expect(readDraft(parameters, ROWS.facts, null)).toMatchObject({
      batch: [],
      terms: {},
      isUnreadable: true,
    })
    expect(readDraft(new URLSearchParams(), ROWS.facts, state)).toMatchObject({ batch: [] })
  })

  test('may contain a batch in place of a question', () => {
    const address = new URLSearchParams({ q: JSON.stringify({ queries: [mean, count] }) })
    expect(read(address.toString())).toEqual({
      question: mean,
      batch: [mean, count],
      terms: {},
      isUnreadable: false,
    })
  })

  test('without a question begins with a count', () => {
    expect(read('')).toEqual({ question: { kind: 'count' }, batch: [], terms: {}, isUnreadable: false })
  })

  test.each(['q={"kind":', 'q=[]', 'q={"column":"age"}', 'batch=nothing'])(
    'that is cut off says so: %s',
    (text) => {
      expect(read(text)).toEqual({ question: { kind: 'count' }, batch: [], terms: {}, isUnreadable: true })
    },
  )

  test('begins with an epsilon that the dataset permits', () => {
    const first = (queryLimits: object) =>
      readDraft(new URLSearchParams(), { ...ROWS.facts, queryLimits }).question
    expect(first({ maxEpsilon: 0.05 })).toEqual({ kind: 'count', epsilon: 0.05 })
    expect(first({ minEpsilon: 0.5 })).toEqual({ kind: 'count', epsilon: 0.5 })
    expect(first({ minEpsilon: 0.01, maxEpsilon: 1 })).toEqual({ kind: 'count' })
  })
})

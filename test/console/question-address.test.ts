import { describe, expect, test } from 'vitest'
import { draftParameters, readDraft } from '../../console/src/pages/ask/question-address.ts'
import { ROWS } from './question-datasets.ts'

const read = (address: string) => readDraft(new URLSearchParams(address), ROWS.facts)
const mean = { kind: 'mean', column: "it's & co = 5%", epsilon: 0.25 }
const count = { kind: 'count', epsilon: 1 }

describe('the address of a question', () => {
  test.each([
    [{ question: mean, batch: [] }],
    [{ question: mean, batch: [count, mean] }],
    [{ question: count, batch: [count] }],
  ])('leads back to the same question and batch: %j', (draft) => {
    expect(read(draftParameters(draft).toString())).toEqual({ ...draft, isUnreadable: false })
  })

  test('may contain a batch in place of a question', () => {
    const address = new URLSearchParams({ q: JSON.stringify({ queries: [mean, count] }) })
    expect(read(address.toString())).toEqual({ question: mean, batch: [mean, count], isUnreadable: false })
  })

  test('without a question begins with a count', () => {
    expect(read('')).toEqual({ question: { kind: 'count' }, batch: [], isUnreadable: false })
  })

  test.each(['q={"kind":', 'q=[]', 'q={"column":"age"}', 'batch=nothing'])(
    'that is cut off says so: %s',
    (text) => {
      expect(read(text)).toEqual({ question: { kind: 'count' }, batch: [], isUnreadable: true })
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

import { describe, expect, test } from 'vitest'
import {
  formLike,
  initialForm,
  newKey,
  readTerms,
  type SessionForm,
} from '../../../console/src/pages/sessions/session-form.ts'

const ROWS = { privacyUnit: { kind: 'row' } } as const
const PEOPLE = { privacyUnit: { kind: 'person', column: 'id', maxRows: 9 } } as const

const form = (changes: Partial<SessionForm> = {}): SessionForm => ({
  ...initialForm({}),
  threshold: '5000',
  ...changes,
})

describe('The terms of a session', () => {
  test('have a threshold only if the number of rows is public', () => {
    expect(initialForm({}).threshold).toBe('')
    expect(initialForm({ rows: 48_842 }).threshold).toBe('20000')
    expect(initialForm({ rows: 1 }).threshold).toBe('1')
  })

  test('are complete with numbers that the service accepts', () => {
    expect(readTerms(form(), ROWS)).toEqual({
      kind: 'complete',
      request: { threshold: 5000, positives: 3, epsilon: 0.5 },
    })
  })

  test.each([
    ['threshold', ''],
    ['threshold', '-1'],
    ['threshold', '1.5'],
    ['threshold', 'many'],
    ['positives', ''],
    ['positives', '0'],
    ['positives', '101'],
    ['epsilon', ''],
    ['epsilon', '0'],
  ] as const)('are open with the %s "%s"', (name, text) => {
    const read = readTerms(form({ [name]: text }), ROWS)
    expect(read).toMatchObject({ kind: 'open', rules: { [name]: expect.stringMatching(/^must be/) } })
  })

  test('count people, or limit their rows, only where people are protected', () => {
    const people = form({ of: 'people', rows: '2' })
    expect(readTerms(people, ROWS)).toMatchObject({ request: { threshold: 5000 } })
    expect(readTerms(people, ROWS)).not.toHaveProperty('request.of')
    expect(readTerms(people, PEOPLE)).toHaveProperty('request.of', 'people')
    // A person who is counted once needs no limit on rows.
    expect(readTerms(people, PEOPLE)).not.toHaveProperty('request.contribution')
    expect(readTerms(form({ rows: '2' }), PEOPLE)).toHaveProperty('request.contribution', { rows: 2 })
    expect(readTerms(form({ rows: '0' }), PEOPLE)).toHaveProperty('rules.rows')
    expect(readTerms(form({ rows: '' }), PEOPLE)).not.toHaveProperty('request.contribution')
  })

  test('of a session that exists lead to a further one', () => {
    for (const terms of [
      { threshold: 7, positives: 2, epsilon: 0.25, contribution: { rows: 3 } },
      { threshold: 0, positives: 1, epsilon: 1, of: 'people' as const },
    ]) {
      const again = formLike(terms, PEOPLE)
      expect(again.again).toBe('yes')
      expect(readTerms(again, PEOPLE)).toEqual({ kind: 'complete', request: terms })
    }
  })
})

test('Keys of openings differ', () => {
  expect(newKey()).toMatch(/^[0-9a-f]{32}$/)
  expect(newKey()).not.toBe(newKey())
})

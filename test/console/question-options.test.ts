import { describe, expect, test } from 'vitest'
import { KINDS } from '../../console/src/pages/ask/kinds.ts'
import {
  MECHANISMS,
  optionsOf,
  statedOptions,
  withMechanism,
  withNested,
} from '../../console/src/pages/ask/options.ts'
import { query } from '../../schemas/query.ts'

/** True if no problem of a question is an unknown field. */
function hasKnownFields(question: object): boolean {
  const { error } = query.safeParse(question)
  return !JSON.stringify(error?.issues ?? []).includes('unrecognized_keys')
}

const EXAMPLES = {
  mechanism: { mechanism: 'geometric' },
  noise: { noise: 'gumbel' },
  ridge: { ridge: 3 },
  supposedRows: { supposed: { rows: 100 } },
} as const

describe('further options of a question', () => {
  test.each(KINDS.map(({ kind }) => kind))('are those that the service knows for the kind %s', (kind) => {
    const known = Object.entries(EXAMPLES).filter(([, fields]) => hasKnownFields({ kind, ...fields }))
    // Suppositions about the values of a column share a field with that about the number of rows.
    const offered = optionsOf(kind).filter((option) => option !== 'supposedMoments')
    expect([...offered].sort()).toEqual(known.map(([option]) => option).sort())
  })

  test.each(MECHANISMS)('give a question that the service accepts for the mechanism %s', (mechanism) => {
    const question = withMechanism({ kind: 'count', epsilon: 0.1, calibration: 'classic' }, mechanism)
    expect(query.safeParse(question).error).toBeUndefined()
    expect('delta' in question).toBe(mechanism === 'gaussian')
    expect(withMechanism(question, undefined)).toEqual({ kind: 'count', epsilon: 0.1 })
  })

  test('leave no empty object behind', () => {
    const supposed = withNested({ kind: 'mean' }, 'supposed', 'rows', 200)
    expect(supposed).toEqual({ kind: 'mean', supposed: { rows: 200 } })
    expect(withNested(supposed, 'supposed', 'rows', undefined)).toEqual({ kind: 'mean' })
  })

  test('are counted where they are stated', () => {
    expect(statedOptions({ kind: 'mean', column: 'age', epsilon: 1 })).toBe(0)
    expect(statedOptions({ kind: 'mean', mechanism: 'laplace', supposed: { rows: 9, mean: 2 } })).toBe(3)
  })
})

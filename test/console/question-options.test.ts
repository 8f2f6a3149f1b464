import { describe, expect, test } from 'vitest'
import { KINDS } from '../../console/src/pages/ask/kinds.ts'
import { MECHANISMS, optionsOf, withMechanism, withNested } from '../../console/src/pages/ask/options.ts'
import { query } from '../../schemas/query.ts'

const PEOPLE = { privacyUnit: { kind: 'person', column: 'patient', maxRows: 5 } } as const
const ROWS = { privacyUnit: { kind: 'row' } } as const

/** True if no problem of a question is an unknown field. */
function hasKnownFields(question: object): boolean {
  const { error } = query.safeParse(question)
  return !JSON.stringify(error?.issues ?? []).includes('unrecognized_keys')
}

const EXAMPLES = {
  mechanism: { mechanism: 'geometric' },
  rows: { contribution: { rows: 2 } },
  supposedRows: { supposed: { rows: 100 } },
} as const

describe('further options of a question', () => {
  test.each(KINDS.map(({ kind }) => kind))('are those that the service knows for the kind %s', (kind) => {
    const options = Object.entries(EXAMPLES).filter(([, fields]) => hasKnownFields({ kind, ...fields }))
    expect([...optionsOf(kind, PEOPLE)].sort()).toEqual(options.map(([option]) => option).sort())
  })

  test('limit the rows of a person only where people are protected', () => {
    expect(optionsOf('count', ROWS)).toEqual(['mechanism'])
    expect(optionsOf('count', PEOPLE)).toEqual(['mechanism', 'rows'])
  })

  test.each(MECHANISMS)('give a question that the service accepts for the mechanism %s', (mechanism) => {
    const question = withMechanism({ kind: 'count', epsilon: 0.1, calibration: 'classic' }, mechanism)
    expect(query.safeParse(question).error).toBeUndefined()
    expect('delta' in question).toBe(mechanism === 'gaussian')
    expect(withMechanism(question, undefined)).toEqual({ kind: 'count', epsilon: 0.1 })
  })

  test('leave no empty object behind', () => {
    const limited = withNested({ kind: 'count' }, 'contribution', 'rows', 2)
    expect(limited).toEqual({ kind: 'count', contribution: { rows: 2 } })
    expect(withNested(limited, 'contribution', 'rows', undefined)).toEqual({ kind: 'count' })
  })
})

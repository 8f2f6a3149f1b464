import { describe, expect, test } from 'vitest'
import type { Kind } from '../../../clients/kind-entry.ts'
import { KINDS } from '../../../console/src/api/kinds.ts'
import type { Question } from '../../../console/src/pages/ask/question/question.ts'
import {
  MECHANISMS,
  optionsOf,
  statedOptions,
  withMechanism,
  withSupposition,
} from '../../../console/src/pages/ask/terms/options.ts'
import { query } from '../../../schemas/answers/query.ts'

/** True if no problem of a question is an unknown field. */
function hasKnownFields(question: object): boolean {
  const { error } = query.safeParse(question)
  return !JSON.stringify(error?.issues ?? []).includes('unrecognized_keys')
}

const EXAMPLES = {
  mechanism: { mechanism: 'geometric' },
  noise: { noise: 'gumbel' },
  nextEpsilon: { nextEpsilon: 0.5 },
  objective: { objective: 'total' },
  rho: { rho: 0.1 },
  ridge: { ridge: 3 },
  supposed: { supposed: { rows: 100 } },
  weights: { weights: [1] },
} as const

describe('further options of a question', () => {
  test.each(Object.keys(KINDS) as Kind[])('are those that the service knows for the kind %s', (kind) => {
    const known = Object.entries(EXAMPLES).filter(([, fields]) => hasKnownFields({ kind, ...fields }))
    expect([...optionsOf({ kind })].sort()).toEqual(known.map(([option]) => option).sort())
  })

  test.each(MECHANISMS)('give a question that the service accepts for the mechanism %s', (mechanism) => {
    const question = withMechanism({ kind: 'count', epsilon: 0.1, calibration: 'classic' }, mechanism)
    expect(query.safeParse(question).error).toBeUndefined()
    expect('delta' in question).toBe(mechanism === 'gaussian')
    expect(withMechanism(question, undefined)).toEqual({ kind: 'count', epsilon: 0.1 })
  })

  test('leave no empty object behind', () => {
    const mean: Question = { kind: 'mean', column: 'age' }
    const supposed = withSupposition(mean, 'rows', 200)
    expect(supposed).toEqual({ ...mean, supposed: { rows: 200 } })
    expect(withSupposition(supposed, 'rows', undefined)).toEqual(mean)
  })

  test('are counted where they are stated', () => {
    expect(statedOptions({ kind: 'mean', column: 'age', epsilon: 1 })).toBe(0)
    expect(
      statedOptions({ kind: 'mean', column: 'age', mechanism: 'laplace', supposed: { rows: 9, mean: 2 } }),
    ).toBe(3)
  })
})

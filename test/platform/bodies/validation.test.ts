import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { batch as batchSchema, query as querySchema } from '../../../schemas/answers/query.ts'
import { validated, validationRefusal } from '../../../src/platform/bodies/validation.ts'

const many = <Item>(length: number, item: Item) => Array.from({ length }, () => item)
const refusalOf = (schema: z.ZodType, data: unknown) => {
  const checked = validated(schema, data)
  if (checked.success) throw new Error('the value was accepted')
  return validationRefusal(checked)
}
const where = (predicates: readonly unknown[]) => ({
  kind: 'count',
  epsilon: 1,
  where: { op: 'or', predicates },
})

describe('a request that breaks many rules', () => {
  test('lists all of a few', () => {
    const { errors, message } = refusalOf(querySchema, where([{ op: '=' }, { op: 'between', column: 'a' }]))
    expect(errors.map(({ field }) => field)).toEqual([
      'where.predicates.0.column',
      'where.predicates.0.value',
      'where.predicates.1.lower',
      'where.predicates.1.upper',
    ])
    expect(message).not.toMatch(/more|checked/)
  })

  test('lists twenty, and says how many there are more', () => {
    const unknown = Object.fromEntries(many(300, 0).map((_, place) => [`field${place}`, 1]))
    const { errors, message } = refusalOf(querySchema, { kind: 'count', epsilon: 1, ...unknown })
    expect(errors).toHaveLength(20)
    expect(message).toMatch(/; and 280 more$/)
  })

  test('is not read to its end if it has many parts', () => {
    // 21,000 conditions without a field, in less than 64 KiB.
    const nested = where(many(30, { op: 'and', predicates: many(700, {}) }))
    const { errors, message } = refusalOf(querySchema, nested)
    expect(errors).toHaveLength(1)
    expect(errors[0]?.field).toBe('where.predicates.0.predicates.0.op')
    expect(message).toMatch(/; the rest was not checked$/)
  })
})

describe('an unknown field', () => {
  const rulesOf = (body: object) =>
    Object.fromEntries(refusalOf(querySchema, body).errors.map(({ field, rule }) => [field, rule]))

  test('is named with the nearest field that is known at its place', () => {
    const range = { op: 'between', column: 'Age', lower: 1, uper: 2 }
    expect(
      rulesOf({
        kind: 'mean',
        colum: 'Age',
        epsilonn: 1,
        Zürich: 1,
        where: { op: 'and', predicates: [range] },
      }),
    ).toMatchObject({
      colum: 'is not a known field (did you mean "column"?)',
      epsilonn: 'is not a known field (did you mean "epsilon"?)',
      Zürich: 'is not a known field',
      'where.predicates.0.uper': 'is not a known field (did you mean "upper"?)',
    })
  })

  test('that contains a line break is one field', () => {
    expect(rulesOf({ kind: 'count', epsilon: 1, 'a\nb': 1, epsilonn: 1 })).toEqual({
      'a\nb': 'is not a known field',
      epsilonn: 'is not a known field (did you mean "epsilon"?)',
    })
  })

  test('is compared with known ones only if it is one of the first', () => {
    const unknown = many(300, 0).map((_, place) => [`epsilon${place}`, 1])
    const checked = validated(querySchema, { kind: 'count', epsilon: 1, ...Object.fromEntries(unknown) })
    if (checked.success) throw new Error('the value was accepted')
    expect(checked.issues[0]?.message.match(/did you mean/g)).toHaveLength(20)
  })
})

describe('the work of refusing a request', () => {
  /** Counts the values that a schema of nested lists looks at. */
  const counted = (accepts: (value: unknown) => boolean) => {
    let looked = 0
    const leaf = z.custom((value) => {
      looked += 1
      return accepts(value)
    })
    const list: z.ZodType = z.lazy(() => z.union([z.array(list).min(1), leaf]))
    return { list, looked: () => looked }
  }
  const nested = fc.letrec((tie) => ({
    tree: fc.oneof({ maxDepth: 4 }, fc.integer(), fc.array(tie('tree'), { maxLength: 40 })),
  })).tree

  test('is that of its first error, or of a few hundred values', () => {
    let large = 0
    fc.assert(
      fc.property(nested, fc.integer({ min: 2, max: 40 }), (tree, repeated) => {
        const body = many(repeated, tree)
        const { list, looked } = counted((value) => typeof value === 'number' && value % 2 === 0)
        const size = JSON.stringify(body).length
        const checked = validated(list, body)
        if (checked.success) return
        const { list: again, looked: inAll } = counted(() => false)
        again.safeParse(body)
        if (size > 4_000) large += 1
        // Values before the first error are looked at once; all are, and once more, if they are few.
        expect(looked()).toBeLessThanOrEqual(inAll() + 800)
      }),
      { numRuns: 300 },
    )
    expect(large).toBeGreaterThan(10)
  })

  test('does not grow with what follows the first error', () => {
    const worst = [
      where(many(20_000, {})),
      where(many(9, { op: 'in', column: 'a', values: many(1_000, null) })),
      { queries: many(100, where(many(100, { op: 'not', predicate: {} }))) },
    ]
    for (const [place, body] of worst.entries()) {
      const refused = validated(place === 2 ? batchSchema : querySchema, body)
      if (refused.success) throw new Error('the body was accepted')
      expect(refused.issues).toHaveLength(1)
    }
  })
})

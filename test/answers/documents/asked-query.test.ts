import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Query, query as querySchema } from '../../../schemas/answers/query.ts'
import { shortestQuery } from '../../../src/answers/documents/asked-query.ts'

/** The examples of all kinds of queries, with the names of the fields of their kind. */
const examples = querySchema.options.flatMap(({ shape, meta }) =>
  ((meta()?.examples ?? []) as readonly object[]).map((example) => ({ example, names: Object.keys(shape) })),
)

/** Fields that a client may spell out, with their defaults and with other values. */
const FIELDS: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  delta: fc.constantFrom(0, 1e-7),
  of: fc.constantFrom('rows', 'people'),
  k: fc.constantFrom(1, 3, 10),
  gap: fc.boolean(),
  counts: fc.boolean(),
  noise: fc.constant('laplace'),
  mechanism: fc.constantFrom('geometric', 'gaussian'),
  calibration: fc.constantFrom('analytic', 'classic'),
  supposed: fc.constant({ rows: 1_000 }),
  postprocess: fc.record({ round: fc.boolean(), nonNegative: fc.boolean() }, { requiredKeys: [] }),
  accuracy: fc.record(
    { halfWidth: fc.constant(2), confidence: fc.constantFrom(0.9, 0.95) },
    { requiredKeys: ['halfWidth'] },
  ),
}

const queries: fc.Arbitrary<Query> = fc.constantFrom(...examples).chain(({ example, names }) => {
  // The subject of a proportion is a predicate, not rows or people.
  const known = names.filter((name) => name in FIELDS && !(name === 'of' && name in example))
  const fields = Object.fromEntries(known.map((name) => [name, FIELDS[name] ?? fc.constant(undefined)]))
  return fc
    .record(fields, { requiredKeys: [] })
    .map((spelled) => querySchema.parse({ ...example, ...spelled }))
})

/** The query without the one optional default that the schema does not restore. */
function withoutRows(query: object): object {
  const { of, ...rest } = query as { readonly of?: string }
  return of === 'rows' ? rest : query
}

/** Every copy of a value that lacks one field, at any depth. */
function withOneFieldLess(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return []
  return Object.entries(value).flatMap(([name, inner]) => {
    const { [name]: _, ...rest } = value as Record<string, unknown>
    return [rest, ...withOneFieldLess(inner).map((shorter) => ({ ...value, [name]: shorter }))]
  })
}

describe('the shortest form of a query', () => {
  test('is the same query', () => {
    fc.assert(
      fc.property(queries, (query) => {
        expect(withoutRows(querySchema.parse(shortestQuery(query)))).toEqual(withoutRows(query))
      }),
    )
  })

  test('has no field that could be omitted', () => {
    fc.assert(
      fc.property(queries, (query) => {
        const shortest = shortestQuery(query)
        expect(shortest).not.toHaveProperty('of', 'rows')
        for (const shorter of withOneFieldLess(shortest)) {
          const parsed = querySchema.safeParse(shorter)
          expect(parsed.success ? parsed.data : undefined, JSON.stringify(shortest)).not.toEqual(query)
        }
      }),
    )
  })

  test('of a query in its shortest form is the query itself', () => {
    const query = { kind: 'count', epsilon: 0.1 }
    expect(shortestQuery(querySchema.parse(query))).toEqual(query)
    expect(examples.length).toBeGreaterThan(15)
  })

  test('does not name rows as the subject of a count of groups', () => {
    const query = { kind: 'groupBy', keys: ['Sex'], statistics: [{ kind: 'count' }], epsilon: 1 }
    const spelled = querySchema.parse({ ...query, statistics: [{ kind: 'count', of: 'rows' }] })
    expect(shortestQuery(spelled)).toEqual(query)
  })
})

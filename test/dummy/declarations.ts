import fc from 'fast-check'
import type { DummyColumn, DummyDeclaration } from '../../src/dummy/declaration.ts'

const LARGEST = 2n ** 53n
const facts = { nullable: fc.boolean(), constantPerPerson: fc.boolean() }
const index = fc.oneof(fc.bigInt(-40n, 40n), fc.bigInt(-LARGEST, LARGEST), fc.constant(0n))
const bounds = fc
  .tuple(index, index)
  .filter(([one, other]) => one !== other)
  .map(([one, other]) => ({
    lowerIndex: one < other ? one : other,
    upperIndex: one < other ? other : one,
  }))
const rankable = fc.record({ maxValues: fc.integer({ min: 1, max: 50 }) }, { requiredKeys: [] })
const DAY = 86_400n
/** Dates of the years 1 to 9999, and their steps. */
const times = fc
  .tuple(fc.bigInt(-700_000n, 2_900_000n), fc.bigInt(1n, 400n), fc.bigInt(1n, 40n))
  .map(([lower, length, step]) => ({ lower: lower / step, upper: lower / step + length, step }))

/** Any declared facts of a column, without its name. */
const column: fc.Arbitrary<DummyColumn> = fc.oneof(
  fc
    .tuple(
      fc.record({ ...facts, type: fc.constantFrom('integer' as const, 'number' as const) }),
      bounds,
      fc.constantFrom(1n, 10_000_000n, 1_000_000_000n, 5_000_000_000n),
      rankable,
    )
    .map(([declared, ends, stepNano, limits]) => ({
      ...declared,
      ...ends,
      ...limits,
      name: '',
      stepNano:
        declared.type === 'integer' ? (stepNano < 1_000_000_000n ? 1_000_000_000n : stepNano) : stepNano,
    })),
  fc
    .tuple(fc.record(facts), fc.constantFrom('date' as const, 'timestamp' as const), times, rankable)
    .map(([declared, type, { lower, upper, step }, limits]) => {
      const unit = type === 'date' ? 1n : DAY
      const stepNano = step * (type === 'date' ? 1n : 3_600n) * 1_000_000_000n
      const scale = type === 'date' ? 1n : unit / 3_600n
      return {
        ...declared,
        ...limits,
        name: '',
        type,
        stepNano,
        lowerIndex: lower * scale,
        upperIndex: upper * scale,
      }
    }),
  fc.record({ ...facts, name: fc.constant(''), type: fc.constant('boolean' as const) }),
  fc.record({
    ...facts,
    name: fc.constant(''),
    type: fc.constant('category' as const),
    categories: fc.uniqueArray(
      fc.oneof(fc.string({ maxLength: 5 }), fc.constantFrom('', ' a', 'x,y', '"', 'a\nb')),
      {
        minLength: 1,
        maxLength: 6,
      },
    ),
  }),
  fc
    .tuple(
      fc.record({ ...facts, name: fc.constant(''), type: fc.constant('string' as const) }),
      fc.option(
        fc.record({ maxValues: fc.integer({ min: 1, max: 300 }), maxLength: fc.integer({ min: 1, max: 9 }) }),
        {
          nil: {},
        },
      ),
    )
    .map(([declared, limits]) => ({ ...declared, ...limits })),
  fc.record({ name: fc.constant(''), type: fc.constant('identifier' as const) }),
)

/** Any declaration, with the names `c0`, `c1` and so on, and `person` for the identifier of people. */
export const declaration: fc.Arbitrary<DummyDeclaration> = fc
  .tuple(
    fc.array(column, { minLength: 1, maxLength: 7 }),
    fc.option(fc.integer({ min: 1, max: 30 }), { nil: undefined }),
  )
  .map(([drawn, maxRows]) => {
    const columns = drawn.map((each, i): DummyColumn => {
      const named = { ...each, name: `c${i}` }
      // Only people can have constants.
      return maxRows === undefined && named.type !== 'identifier'
        ? { ...named, constantPerPerson: false }
        : named
    })
    if (maxRows === undefined) return { columns }
    const person: DummyColumn = { name: 'person', type: 'identifier' }
    return { columns: [...columns, person], person: { column: 'person', maxRows } }
  })

const ONE = 1_000_000_000n

/** A declaration with columns of every type, several rows for each person, and names that need quotes. */
export const clinic: DummyDeclaration = {
  columns: [
    { name: 'patient', type: 'identifier' },
    grid('age', 'integer', { upperIndex: 110n, constantPerPerson: true }),
    grid('cost, EUR', 'number', { upperIndex: 100_000n, stepNano: 10_000_000n, nullable: true }),
    grid('shift', 'number', { lowerIndex: -500n, upperIndex: 500n, stepNano: 1_000_000n, maxValues: 20 }),
    grid('visited', 'date', { lowerIndex: 19_358n, upperIndex: 20_088n }),
    grid('arrived', 'timestamp', {
      lowerIndex: 464_592n,
      upperIndex: 482_135n,
      stepNano: 3_600n * ONE,
      nullable: true,
    }),
    { name: 'emergency', type: 'boolean', nullable: true, constantPerPerson: false },
    {
      name: 'ward',
      type: 'category',
      categories: ['A', 'B "new"', '', 'D\nE'],
      nullable: true,
      constantPerPerson: true,
    },
    {
      name: 'diagnosis',
      type: 'string',
      nullable: true,
      constantPerPerson: false,
      maxValues: 60,
      maxLength: 5,
    },
    { name: 'remark', type: 'string', nullable: false, constantPerPerson: false },
    { name: 'visit', type: 'identifier' },
  ],
  person: { column: 'patient', maxRows: 12 },
}

/** A column on a grid. By default it begins at 0, has the step 1, and is not nullable. */
function grid(
  name: string,
  type: 'integer' | 'number' | 'date' | 'timestamp',
  facts: { readonly upperIndex: bigint } & Partial<Extract<DummyColumn, { readonly stepNano: bigint }>>,
): DummyColumn {
  return { name, type, nullable: false, constantPerPerson: false, lowerIndex: 0n, stepNano: ONE, ...facts }
}

import fc from 'fast-check'
import type { Column, GridColumn } from '../../../src/core/dataset/dataset.ts'
import { type DummyDeclaration, dummyDeclaration } from '../../../src/datasets/dummy/declaration.ts'

/** How a source spells values, which made-up rows do not depend on. */
const spelling = {
  invalidValue: { kind: 'refuse' },
  dateFormat: 'DD.MM.YYYY',
  timeZone: 'Europe/Berlin',
} as const
const identifier = (name: string): Column => ({ name, type: 'identifier', nullable: false, ...spelling })

const LARGEST = 2n ** 53n
const facts = {
  name: fc.constant(''),
  nullable: fc.boolean(),
  constantPerPerson: fc.boolean(),
  invalidValue: fc.constant(spelling.invalidValue),
  dateFormat: fc.constant(spelling.dateFormat),
  timeZone: fc.constant(spelling.timeZone),
}
const index = fc.oneof(fc.bigInt(-40n, 40n), fc.bigInt(-LARGEST, LARGEST), fc.constant(0n))
const bounds = fc
  .tuple(index, index)
  .filter(([one, other]) => one !== other)
  .map(([one, other]) => ({
    lowerIndex: one < other ? one : other,
    upperIndex: one < other ? other : one,
  }))
const rankable = fc.record(
  { rankable: fc.record({ maxValues: fc.integer({ min: 1, max: 50 }) }) },
  { requiredKeys: [] },
)
const DAY = 86_400n
/** Dates of the years 1 to 9999, and their steps. */
const times = fc
  .tuple(fc.bigInt(-700_000n, 2_900_000n), fc.bigInt(1n, 400n), fc.bigInt(1n, 40n))
  .map(([lower, length, step]) => ({ lower: lower / step, upper: lower / step + length, step }))

/** Any declared facts of a column, without its name. */
const column: fc.Arbitrary<Column> = fc.oneof(
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
        type,
        stepNano,
        lowerIndex: lower * scale,
        upperIndex: upper * scale,
      }
    }),
  fc.record({ ...facts, type: fc.constant('boolean' as const) }),
  fc.record({
    ...facts,
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
      fc.record({ ...facts, type: fc.constant('string' as const) }),
      fc.option(
        fc.record({ maxValues: fc.integer({ min: 1, max: 300 }), maxLength: fc.integer({ min: 1, max: 9 }) }),
        { nil: undefined },
      ),
    )
    .map(([declared, selectable]) => (selectable === undefined ? declared : { ...declared, selectable })),
  fc.constant(identifier('')),
)

/** Any declaration, with the names `c0`, `c1` and so on, and `person` for the identifier of people. */
export const declaration: fc.Arbitrary<DummyDeclaration> = fc
  .tuple(
    fc.array(column, { minLength: 1, maxLength: 7 }),
    fc.option(fc.integer({ min: 1, max: 30 }), { nil: undefined }),
  )
  .map(([drawn, maxRows]) => {
    const columns = drawn.map((each, i): Column => {
      const named = { ...each, name: `c${i}` }
      // Only people can have constants.
      return maxRows === undefined && named.type !== 'identifier'
        ? { ...named, constantPerPerson: false }
        : named
    })
    if (maxRows === undefined) return dummyDeclaration({ columns, privacyUnit: { kind: 'row' } })
    const privacyUnit = { kind: 'person', column: 'person', maxRows } as const
    return dummyDeclaration({ columns: [...columns, identifier('person')], privacyUnit })
  })

const ONE = 1_000_000_000n

/** A declaration with columns of every type, several rows for each person, and names that need quotes. */
export const clinic: DummyDeclaration = dummyDeclaration({
  columns: [
    identifier('patient'),
    grid('age', 'integer', { upperIndex: 110n, constantPerPerson: true }),
    grid('cost, EUR', 'number', { upperIndex: 100_000n, stepNano: 10_000_000n, nullable: true }),
    grid('shift', 'number', {
      lowerIndex: -500n,
      upperIndex: 500n,
      stepNano: 1_000_000n,
      rankable: { maxValues: 20 },
    }),
    grid('visited', 'date', { lowerIndex: 19_358n, upperIndex: 20_088n }),
    grid('arrived', 'timestamp', {
      lowerIndex: 464_592n,
      upperIndex: 482_135n,
      stepNano: 3_600n * ONE,
      nullable: true,
    }),
    { ...spelling, name: 'emergency', type: 'boolean', nullable: true },
    {
      ...spelling,
      name: 'ward',
      type: 'category',
      categories: ['A', 'B "new"', '', 'D\nE'],
      nullable: true,
      constantPerPerson: true,
    },
    {
      ...spelling,
      name: 'diagnosis',
      type: 'string',
      nullable: true,
      selectable: { maxValues: 60, maxLength: 5 },
    },
    { ...spelling, name: 'remark', type: 'string', nullable: false },
    identifier('visit'),
  ],
  privacyUnit: { kind: 'person', column: 'patient', maxRows: 12 },
})

/** A column on a grid. By default it begins at 0, has the step 1, and is not nullable. */
function grid(
  name: string,
  type: 'integer' | 'number' | 'date' | 'timestamp',
  facts: { readonly upperIndex: bigint } & Partial<GridColumn>,
): Column {
  return { ...spelling, type, nullable: false, lowerIndex: 0n, stepNano: ONE, ...facts, name } as Column
}

import { describe, expect, test } from 'vitest'
import {
  type ColumnDeclaration,
  type DatasetDeclaration,
  declareDataset,
} from '../../../src/core/dataset/declaration.ts'
import { Refusal } from '../../../src/privacy/refusal.ts'

const declaration = (
  column: ColumnDeclaration,
  ...others: readonly ColumnDeclaration[]
): DatasetDeclaration => ({
  id: 'people',
  title: 'People',
  source: { kind: 'file', path: 'people.csv', format: 'csv' },
  columns: [column, ...others],
  privacyUnit: { kind: 'row' },
  neighbours: 'add-remove',
  synthetic: true,
  accounting: 'basic',
  sharing: false,
  timing: 'off',
  failureLimit: 3,
  queryLimits: {},
})

const price: ColumnDeclaration = {
  name: 'Price',
  type: 'number',
  lower: -1.5,
  upper: 1000.25,
  step: 0.05,
  nullable: false,
}

function errorsOf(declared: DatasetDeclaration) {
  try {
    declareDataset(declared, 'v1')
  } catch (error) {
    if (error instanceof Refusal) return error.errors
    throw error
  }
  return []
}

test('bounds become exact grid indexes', () => {
  const [column] = declareDataset(declaration(price), 'v1').columns
  expect(column).toEqual({
    name: 'Price',
    nullable: false,
    invalidValue: { kind: 'refuse' },
    type: 'number',
    stepNano: 50_000_000n,
    lowerIndex: -30n,
    upperIndex: 20_005n,
  })
})

test.each([
  ['a bound off the grid', { upper: 1000.26 }, 'columns.0.upper', 'multiple of step'],
  ['a step of 0', { step: 0 }, 'columns.0.step', 'greater than 0'],
  ['a negative step', { step: -0.05 }, 'columns.0.step', 'greater than 0'],
  ['a step with ten decimals', { step: 0.0000000001 }, 'columns.0.step', '9 fractional digits'],
  ['bounds the wrong way round', { lower: 1, upper: 0 }, 'columns.0.upper', 'greater than lower'],
  ['equal bounds', { lower: 1, upper: 1 }, 'columns.0.upper', 'greater than lower'],
  ['bounds beyond exact integers', { upper: 1e16, step: 1, lower: 0 }, 'columns.0.upper', '2^53 steps'],
  ['NULL where there is none', { onInvalidValue: 'null' as const }, 'columns.0.onInvalidValue', 'nullable'],
  [
    'a replacement out of bounds',
    { onInvalidValue: { replaceWith: 2000 } },
    'columns.0.onInvalidValue.replaceWith',
    'within',
  ],
  [
    'a replacement of another type',
    { onInvalidValue: { replaceWith: '7' } },
    'columns.0.onInvalidValue.replaceWith',
    'number',
  ],
])('%s is refused with its field and rule', (_what, change, field, rule) => {
  const errors = errorsOf(declaration({ ...price, ...change }))
  expect(errors).toContainEqual({ field, rule: expect.stringContaining(rule) })
})

test('an integer column has a whole step', () => {
  const column: ColumnDeclaration = {
    name: 'Age',
    type: 'integer',
    lower: 0,
    upper: 100,
    step: 0.5,
    nullable: false,
  }
  expect(errorsOf(declaration(column))).toContainEqual({
    field: 'columns.0.step',
    rule: expect.stringContaining('whole'),
  })
})

describe('dates and timestamps', () => {
  const date = {
    name: 'visited',
    type: 'date',
    lower: '2020-01-01',
    upper: '2024-12-31',
    step: 1,
    dateFormat: 'YYYY-MM-DD',
    nullable: false,
  } as const
  const timestamp = {
    ...date,
    type: 'timestamp',
    lower: '2020-01-01T00:00:00Z',
    upper: '2024-12-31T23:00:00Z',
    step: 3600,
    timeZone: 'Europe/Berlin',
  } as const

  test('have exact grid indexes since 1970', () => {
    expect(declareDataset(declaration(date, { ...timestamp, name: 'arrived' }), 'v1').columns).toMatchObject([
      { type: 'date', stepNano: 1_000_000_000n, lowerIndex: 18_262n, upperIndex: 20_088n },
      { type: 'timestamp', stepNano: 3_600_000_000_000n, lowerIndex: 438_288n, upperIndex: 482_135n },
    ])
  })

  test('before 1970 have negative indexes, and a replacement is one of them', () => {
    const early = { ...date, lower: '1900-01-01', onInvalidValue: { replaceWith: '1969-12-31' } }
    expect(declareDataset(declaration(early), 'v1').columns[0]).toMatchObject({
      lowerIndex: -25_567n,
      invalidValue: { kind: 'replace', value: -1n },
    })
  })

  test.each<[string, ColumnDeclaration, string, string]>([
    ['31 February', { ...date, upper: '2024-02-31' }, 'upper', 'existing date'],
    ['a time as the bound of a date', { ...date, upper: '2024-02-29T10:00:00Z' }, 'upper', 'existing date'],
    ['another spelling', { ...date, lower: '01/02/2020' }, 'lower', 'existing date'],
    ['reversed bounds', { ...date, lower: '2025-01-01' }, 'upper', 'greater than lower'],
    ['a step of half a day', { ...date, step: 0.5 }, 'step', 'whole number of days'],
    ['a step of 0', { ...timestamp, step: 0 }, 'step', 'whole number of seconds'],
    [
      'a bound between two steps',
      { ...date, lower: '2020-01-05', upper: '2024-12-26', step: 7 },
      'lower',
      '"2020-01-02"',
    ],
    [
      'a time between two steps',
      { ...timestamp, upper: '2024-12-31T23:59:59Z' },
      'upper',
      '"2024-12-31T23:00:00Z"',
    ],
    ['a time zone that does not exist', { ...timestamp, timeZone: 'Europe/Atlantis' }, 'timeZone', 'IANA'],
    ['an offset as the time zone', { ...timestamp, timeZone: '+01:00' }, 'timeZone', 'IANA'],
    ['no time zone', { ...timestamp, timeZone: '' }, 'timeZone', 'IANA'],
    [
      'a time zone over thousands of years',
      { ...timestamp, lower: '1000-01-01T00:00:00Z' },
      'timeZone',
      '400 years',
    ],
    [
      'a replacement that does not exist',
      { ...date, onInvalidValue: { replaceWith: '2023-02-29' } },
      'onInvalidValue.replaceWith',
      'existing date',
    ],
    [
      'a replacement out of bounds',
      { ...date, onInvalidValue: { replaceWith: '2019-12-31' } },
      'onInvalidValue.replaceWith',
      'within',
    ],
  ])('%s is refused with its field and rule', (_, column, field, rule) => {
    const errors = errorsOf(declaration(column))
    expect(errors).toEqual([{ field: `columns.0.${field}`, rule: expect.stringContaining(rule) }])
  })
})

test.each([
  ['Price', 'price'],
  ['Maß', 'MASS'],
  ['Straße', 'STRAẞE'],
])('two columns that differ only in case are refused: %s and %s', (one, other) => {
  const text = { type: 'string', nullable: true } as const
  const errors = errorsOf(declaration({ ...text, name: one }, { ...text, name: other }))
  expect(errors).toEqual([{ field: 'columns.1.name', rule: expect.stringContaining('differ') }])
})

test('a category is named once, and a replacement is one of them', () => {
  const sex: ColumnDeclaration = {
    name: 'Sex',
    type: 'category',
    categories: ['M', 'F', 'M'],
    nullable: false,
  }
  expect(errorsOf(declaration(sex)).map(({ field }) => field)).toEqual(['columns.0.categories'])
  const [column] = declareDataset(
    declaration({ ...sex, categories: ['M', 'F'], onInvalidValue: { replaceWith: 'F' } }),
    'v1',
  ).columns
  expect(column?.invalidValue).toEqual({ kind: 'replace', value: 1 })
})

test('a text may be replaced by any text, including one that looks like a rule', () => {
  const note: ColumnDeclaration = {
    name: 'Note',
    type: 'string',
    nullable: false,
    onInvalidValue: { replaceWith: 'must be a string' },
  }
  expect(declareDataset(declaration(note), 'v1').columns[0]?.invalidValue).toEqual({
    kind: 'replace',
    value: 'must be a string',
  })
})

describe('people with several rows', () => {
  const id: ColumnDeclaration = { name: 'Id', type: 'identifier', nullable: false }
  const people = (...columns: ColumnDeclaration[]): DatasetDeclaration => ({
    ...declaration(price),
    columns: [price, ...columns],
    privacyUnit: { kind: 'person', column: 'Id', maxRows: 3 },
  })

  test('are identified by a column of type identifier', () => {
    expect(declareDataset(people(id), 'v1')).toMatchObject({
      privacyUnit: { kind: 'person', column: 'Id', maxRows: 3 },
      columns: [{ name: 'Price' }, { name: 'Id', type: 'identifier', invalidValue: { kind: 'refuse' } }],
    })
    expect(() => declareDataset(people(), 'v1')).toThrow('privacyUnit.column: must be the name of a declared')
    const text: ColumnDeclaration = { name: 'Id', type: 'string', nullable: false }
    expect(() => declareDataset(people(text), 'v1')).toThrow('must be a column of type identifier')
  })

  test('need a rule for rows without an identifier', () => {
    const nullable = { ...id, nullable: true } as const
    expect(() => declareDataset(people(nullable), 'v1')).toThrow(
      'columns.1.onInvalidValue: must be "dropRow"',
    )
    const dropped = declareDataset(people({ ...nullable, onInvalidValue: 'dropRow' }), 'v1')
    expect(dropped.columns[1]?.invalidValue).toEqual({ kind: 'drop-row' })
  })

  test('can be counted publicly under change-one only, but not their rows', () => {
    const facts = declareDataset({ ...people(id), neighbours: 'change-one' }, 'v1', 17)
    expect(facts).toMatchObject({ people: 17 })
    expect(facts.rows).toBeUndefined()
    expect(declareDataset(people(id), 'v1', 17).people).toBeUndefined()
  })

  test('have constant values only where they are people', () => {
    const constant: ColumnDeclaration = {
      name: 'Born',
      type: 'boolean',
      nullable: false,
      constantPerPerson: true,
    }
    expect(declareDataset(people(id, constant), 'v1').columns[2]).toMatchObject({ constantPerPerson: true })
    expect(() => declareDataset({ ...declaration(price), columns: [price, constant] }, 'v1')).toThrow(
      'columns.1.constantPerPerson',
    )
  })
})

test('the number of rows is public under change-one only', () => {
  expect(declareDataset(declaration(price), 'v1', 17).rows).toBeUndefined()
  expect(declareDataset({ ...declaration(price), neighbours: 'change-one' }, 'v1', 17).rows).toBe(17)
})

const note: ColumnDeclaration = { name: 'Note', type: 'string', nullable: true }

test('limits on values are kept, and `true` declares the default limits of a selectable column', () => {
  const limits = { maxValues: 7, maxLength: 9 }
  const columns = declareDataset(
    declaration(
      { ...price, rankable: { maxValues: 4_194_304 } },
      { ...note, selectable: true },
      { ...note, name: 'Other', selectable: limits },
      { ...note, name: 'Neither', selectable: false },
    ),
    'v1',
  ).columns.map((column) => [
    'rankable' in column ? column.rankable : undefined,
    'selectable' in column ? column.selectable : undefined,
  ])
  expect(columns).toEqual([
    [{ maxValues: 4_194_304 }, undefined],
    [undefined, { maxValues: 100_000, maxLength: 200 }],
    [undefined, limits],
    [undefined, undefined],
  ])
})

test.each([
  [{ ...price, rankable: { maxValues: 4_194_305 } }, 'columns.0.rankable.maxValues', '1 to 4194304'],
  [{ ...price, rankable: { maxValues: 0 } }, 'columns.0.rankable.maxValues', '1 to 4194304'],
  [{ ...price, rankable: { maxValues: 1.5 } }, 'columns.0.rankable.maxValues', '1 to 4194304'],
  [
    { ...note, selectable: { maxValues: 1_000_001, maxLength: 1 } },
    'columns.0.selectable.maxValues',
    '1 to 1000000',
  ],
  [
    { ...note, selectable: { maxValues: 1, maxLength: 1_001 } },
    'columns.0.selectable.maxLength',
    '1 to 1000',
  ],
  [{ ...note, selectable: { maxValues: 1_000_000, maxLength: 34 } }, 'columns.0.selectable', '33554432'],
] as const)('limits on values that are too large are refused: %j', (column, field, rule) => {
  expect(errorsOf(declaration(column))).toEqual([{ field, rule: expect.stringContaining(rule) }])
})

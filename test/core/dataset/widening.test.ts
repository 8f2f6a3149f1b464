import { expect, test } from 'vitest'
import type { ColumnDeclaration } from '../../../src/core/dataset/declaration.ts'
import { requireWidening } from '../../../src/core/dataset/widening.ts'

const seen: ColumnDeclaration = {
  name: 'seen',
  type: 'timestamp',
  lower: '2020-01-01T00:00:00Z',
  upper: '2024-12-31T00:00:00Z',
  step: 60,
  dateFormat: 'YYYY-MM-DD',
  timeZone: 'Europe/Berlin',
  nullable: true,
  rankable: { maxValues: 100 },
}
const note: ColumnDeclaration = {
  name: 'note',
  type: 'string',
  nullable: true,
  selectable: { maxValues: 1_000, maxLength: 50 },
}
const pay: ColumnDeclaration = {
  name: 'pay',
  type: 'number',
  lower: -0.5,
  upper: 10,
  step: 0.25,
  nullable: false,
}
const person: ColumnDeclaration = { name: 'person', type: 'identifier', nullable: false }
const member: ColumnDeclaration = {
  name: 'member',
  type: 'boolean',
  nullable: false,
  constantPerPerson: true,
}
const before = [seen, note, pay, person, member]

/** The fields that a version of the columns may not have. */
function refused(after: readonly ColumnDeclaration[]): readonly string[] {
  try {
    requireWidening({ columns: before }, { columns: after })
    return []
  } catch (error) {
    return (error as { errors: readonly { field: string }[] }).errors.map(({ field }) => field)
  }
}

test('columns may stay, in any order, and further ones be added', () => {
  expect(refused(before)).toEqual([])
  expect(refused([{ ...pay, name: 'bonus' }, ...before.toReversed()])).toEqual([])
})

test.each<[string, ColumnDeclaration]>([
  [
    'an earlier and a later instant',
    { ...seen, lower: '2019-12-31T23:59:00Z', upper: '2025-01-01T00:00:00Z' },
  ],
  ['the same instant in another spelling', { ...seen, lower: '2020-01-01T00:00:00.000Z' }],
  ['a higher number of values', { ...seen, rankable: { maxValues: 101 } }],
  ['longer and more texts', { ...note, selectable: { maxValues: 2_000, maxLength: 60 } }],
  ['wider bounds of fractions', { ...pay, lower: -0.75, upper: 10.25 }],
  ['a limit where there was none', { ...pay, rankable: { maxValues: 10 } }],
  ['values that may be missing', { ...pay, nullable: true, onInvalidValue: 'null' }],
  ['identifiers that may be missing', { ...person, nullable: true, onInvalidValue: 'dropRow' }],
  ['values that change within a person', { name: 'member', type: 'boolean', nullable: false }],
  ['another description', { ...pay, description: 'Pay', unit: 'EUR' }],
])('allows %s', (_name, column) => {
  expect(refused(before.map((each) => (each.name === column.name ? column : each)))).toEqual([])
})

const { rankable: _rankable, ...unrankable } = seen
const { selectable: _selectable, ...unselectable } = note

test.each<[string, ColumnDeclaration, string]>([
  ['a later first instant', { ...seen, lower: '2020-01-01T00:01:00Z' }, 'columns.0.lower'],
  ['an earlier last instant', { ...seen, upper: '2024-12-30T00:00:00Z' }, 'columns.0.upper'],
  ['another step', { ...seen, step: 30 }, 'columns.0.step'],
  ['another format of dates', { ...seen, dateFormat: 'DD.MM.YYYY' }, 'columns.0.dateFormat'],
  ['another time zone', { ...seen, timeZone: 'UTC' }, 'columns.0.timeZone'],
  ['no missing values', { ...seen, nullable: false }, 'columns.0.nullable'],
  ['fewer values', { ...seen, rankable: { maxValues: 99 } }, 'columns.0.rankable'],
  ['no quantiles', unrankable, 'columns.0.rankable'],
  ['fewer texts', { ...note, selectable: { maxValues: 999, maxLength: 50 } }, 'columns.1.selectable'],
  ['shorter texts', { ...note, selectable: { maxValues: 1_000, maxLength: 49 } }, 'columns.1.selectable'],
  ['no common values', unselectable, 'columns.1.selectable'],
  ['another type', { ...pay, type: 'integer', step: 1, lower: -1 }, 'columns.2.type'],
  ['a narrower fraction', { ...pay, lower: -0.25 }, 'columns.2.lower'],
])('refuses %s', (_name, column, field) => {
  const after = before.map((each) => (each.name === column.name ? column : each))
  expect(refused(after)).toContain(field)
})

test('refuses a column that becomes constant per person, and lists every field', () => {
  const narrowed: ColumnDeclaration = { name: 'member', type: 'boolean', nullable: false }
  expect(() => requireWidening({ columns: [narrowed] }, { columns: [member] })).toThrow('constantPerPerson')
  expect(refused([{ ...seen, nullable: false, step: 30 }])).toEqual([
    'columns.0.nullable',
    'columns.0.step',
    ...Array.from({ length: 4 }, () => 'columns.1.name'),
  ])
})

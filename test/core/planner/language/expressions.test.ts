import { describe, expect, test } from 'vitest'
import { query } from '../../../../schemas/answers/query.ts'
import { isGrid } from '../../../../src/core/dataset/dataset.ts'
import { type DatasetDeclaration, declareDataset } from '../../../../src/core/dataset/declaration.ts'
import { valueOfIndex } from '../../../../src/core/dataset/grid-value.ts'
import { normalForm } from '../../../../src/core/planner/identity/normal-form.ts'
import { columnNamed, findColumn } from '../../../../src/core/planner/language/columns.ts'
import { plan } from '../../../../src/core/planner/plan.ts'
import { must } from '../../../../src/privacy/must.ts'
import { thrownRefusal } from '../../../refusal.ts'
import { patients, people, peopleDeclaration } from '../neighbours/people.ts'
import { estimatesOf, LIMITS, planOf, refusalOf } from '../planned.ts'

const dataset = people('add-remove')

/** The dataset with a column that its custodian derives, and one that is derived from it. */
const withDerived = (...derived: NonNullable<DatasetDeclaration['derived']>) =>
  declareDataset({ ...peopleDeclaration('add-remove'), derived }, 'v1')

const named = (text: string) => columnNamed(dataset, text)

describe('a derived column', () => {
  test.each([
    ['Age - Balance', 'number', 0.05, -30, 170],
    ['2.5 * Age - 10', 'number', 2.5, -10, 290],
    ['(Balance - 32) * 5 / 9 + Age - Age', undefined, 0, 0, 0],
    ['round((Balance - 32) * 5 / 9, 0.1)', 'number', 0.1, -45.6, -1.1],
    ['Visited - Visited + Age', 'integer', 1, 0, 120],
    ['month(Visited)', 'integer', 1, 1, 4],
    ['weekday(Visited)', 'integer', 1, 1, 7],
    ['coalesce(Income, 0)', 'number', 0.5, 0, 500],
    ["coalesce(Visited, '2024-01-01')", 'date', 1, '2024-01-01', '2024-04-10'],
    ['case when Member then Income else 0.25 end', 'number', 0.25, 0.25, 500],
  ])('%s has the bounds of all its values', (text, type, step, lower, upper) => {
    const column = named(text)
    expect(column?.type).toBe(type)
    if (column === undefined || !isGrid(column)) return
    expect(valueOfIndex(column, column.lowerIndex)).toBe(lower)
    expect(valueOfIndex(column, column.upperIndex)).toBe(upper)
    expect(Number(column.stepNano)).toBe(Number(step) * 1e9)
  })

  test.each([
    ['Balance + Age', 'Age + Balance'],
    ['-(Balance - Age)', 'Age - Balance'],
    ['2 * Age + Age - Balance', '3 * Age - Balance'],
    ['Age', '0 + Age'],
    ["Age > 17 or Sex = 'F'", "Sex in ('F') or Age >= 18"],
  ])('%s and %s are one', (one, other) => {
    expect(named(one)?.name).toBeDefined()
    expect(named(one)?.name).toBe(named(other)?.name)
  })

  test('attack: is never computed from a column whose name reads as an expression with narrower bounds', () => {
    const declaration = peopleDeclaration('add-remove')
    const wide = { type: 'integer', lower: 0, upper: 1_000_000, step: 1, nullable: false } as const
    const odd = ['Age + Balance', 'date(Visited)', 'Price - USD'].map((name) => ({ name, ...wide }))
    const columns = [...declaration.columns, ...odd]
    const tricky = declareDataset({ ...declaration, columns }, 'v1')
    for (const text of [
      'coalesce(Age + Balance, 0)',
      'case when Member then Balance + Age else 0 end',
      'Balance + Age',
      'coalesce("Age + Balance", 0)',
    ])
      expect(columnNamed(tricky, text), text).toBeUndefined()
    expect(columnNamed(tricky, 'Age + Balance')).toMatchObject({ upperIndex: 1_000_000n })
    expect(columnNamed(tricky, 'coalesce("Price - USD", 0) + Age')).toMatchObject({ upperIndex: 1_000_120n })
    expect(columnNamed(tricky, 'month(Visited)')).toBeDefined()
  })

  test.each([
    [`Age * ${'9'.repeat(400)} > 5`, 'digits'],
    ['Age * 1234567890.123456789 > 12345678901.123456789', 'digits'],
    [[1, 2, 3, 4].map(() => "local(Visited, 'Asia/Tokyo') < '2024-02-01'").join(' or '), 'local'],
  ])('%s is refused with a rule', (text, rule) => {
    expect(findColumn(dataset, text)).toEqual({ rule: expect.stringContaining(rule) })
  })

  test('is constant per person only if all its inputs are', () => {
    const constant = (text: string) => columnNamed(patients('add-remove'), text)?.constantPerPerson
    expect(constant("case when Sex = 'F' then Region end")).toBe(true)
    expect(constant("case when Sex = 'F' and Age > 3 then Region end")).toBeUndefined()
    expect(constant("case when Sex = 'F' then Age end")).toBeUndefined()
  })
})

describe('a question about an expression', () => {
  test('has noise for its bounds', () => {
    const sum = estimatesOf({ kind: 'sum', column: 'Age - Balance' })
    // In steps of 0.05: 170 is 3400 of them.
    expect(sum.measurements[0]?.sensitivity.lInfinity).toBe(3400n)
  })

  test('has one normal form, whatever the spelling', () => {
    const form = (column: string) =>
      normalForm(
        planOf({
          kind: 'mean',
          column,
          clamp: { lower: 0, upper: 100 },
          where: { column: `${column} + 1`, op: '>', value: 1 },
        }),
      )
    expect(form('Age - Balance')).toEqual(form('-Balance + Age'))
    expect(form('-Balance + Age')).toMatchObject({ column: 'Age - Balance' })
  })

  test('groups by it', () => {
    const groups = planOf({
      kind: 'histogram',
      column: "case when Age < 18 then 'child' when Age < 65 then 'adult' else 'old' end",
    })
    expect(groups).toMatchObject({ kind: 'additive' })
  })

  test.each([
    ['Agee', 'did you mean "Age"'],
    ['Age -', 'ends too early'],
    ['Age % 2', 'no part of an expression at character 4'],
    ['Agee - 1', 'names no column "Agee"'],
    ['Age * Balance', 'must multiply columns with constants only'],
    ['Age / 0', 'must divide by constants other than 0 only'],
    ['Age / 3', 'write round(expression, step)'],
    ['Age - Age', 'must use a column'],
    ['0 * Income', 'must not be the same for all rows'],
    ['Visited + 1', 'must use each date in a difference with another date'],
    ['Sex + 1', 'must compute with numbers, dates and timestamps only'],
    ['1 + 1', 'must use a column'],
    ['Age / 1000000000 + 100000000', 'further than 2^53 steps'],
    ['sqrt(Age)', 'has no function "sqrt"'],
    ['hour(Visited)', 'must not take the hour of Visited'],
    ["case when Age > 3 then 'x' else 1 end", 'must have branches of one type'],
    ["Age > 'x'", 'must be a number, because Age is of type integer'],
  ])('%s is refused with its rule', (column, rule) => {
    expect(refusalOf({ kind: 'sum', column }).message).toContain(rule)
  })

  test('does not reach an identifier', () => {
    expect(columnNamed(patients('add-remove'), 'coalesce(Patient, 1)')).toBeUndefined()
    expect(columnNamed(patients('add-remove'), "case when Patient = 'x' then 1 else 0 end")).toBeUndefined()
  })
})

describe('a declared derived column', () => {
  const net = { name: 'Net', expression: 'Age - Balance' }

  test('is the question about its expression, whatever the spelling', () => {
    const declared = withDerived(net, { name: 'High', expression: 'Net > 100' })
    const form = (column: string) =>
      normalForm(plan(query.parse({ kind: 'sum', column, epsilon: 1 }), declared, LIMITS))
    expect(form('-Balance + Age')).toEqual(form('Net'))
    expect(form('Net')).toMatchObject({ column: 'Net' })
    expect(columnNamed(declared, 'Age - Balance > 100')?.name).toBe('High')
    expect(columnNamed(declared, 'Net - Age')?.name).toBe('-Balance')
  })

  test.each([
    ["Adult = 'adult'", "case when Age >= 18 then 'adult' else 'child' end = 'adult'"],
    ['2 * Decade + Balance', 'Balance + round(Age, 10) * 2'],
    [
      'case when Decade > 30 then Balance else 0 end',
      'case when round(Age, 10) > 30 then Balance else 0 end',
    ],
    [
      'case when Old = true then Decade else 0 end',
      'case when (Decade > 60) = true then round(Age, 10) else 0 end',
    ],
  ])('is the same question by its name and written out, within %s', (named, written) => {
    const declared = withDerived(
      { name: 'Adult', expression: "case when Age >= 18 then 'adult' else 'child' end" },
      { name: 'Decade', expression: 'round(Age, 10)' },
      { name: 'Old', expression: 'Decade > 60' },
    )
    expect(columnNamed(declared, written)?.name).toBe(must(columnNamed(declared, named), 'a column').name)
  })

  test.each([
    [[{ name: 'age', expression: 'Age + 1' }], 'derived.0.name: must differ'],
    [[net, { name: 'NET', expression: 'Age + 1' }], 'derived.1.name: must differ'],
    [
      [{ name: 'Later', expression: 'Net + 1' }, net],
      'derived.0.expression: as an expression names no column "Net"',
    ],
    [[{ name: 'Same', expression: 'Age' }], 'derived.0.expression: must compute a column of its own'],
    [[net, { name: 'Again', expression: 'Age - Balance' }], 'and this is Net'],
    [[{ name: 'Age + 1', expression: 'Age * 2' }], 'derived.0.name: must not stand for Age + 1 already'],
    [
      [net, { name: '-Net', expression: 'Age * 2' }],
      'derived.1.name: must not stand for Balance - Age already',
    ],
    [[{ name: 'Itself', expression: 'Itself + 1' }], 'names no column "Itself"'],
  ])('is refused where it breaks a rule', (derived, rule) => {
    expect(thrownRefusal(() => withDerived(...derived)).message).toContain(rule)
  })
})

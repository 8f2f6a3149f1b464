import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Column, Dataset } from '../../../src/core/dataset/dataset.ts'
import {
  type DummyDeclaration,
  type DummyValue,
  dummyDeclaration,
  dummyKey,
  requireFewValues,
} from '../../../src/datasets/dummy/declaration.ts'
import { dummyRows } from '../../../src/datasets/dummy/rows.ts'
import { dummyText } from '../../../src/datasets/dummy/text.ts'
import { datasetOf, column as declared } from '../../engines/fixture.ts'
import { clinic, declaration } from './declarations.ts'

const size = fc.record({
  rows: fc.integer({ min: 1, max: 300 }),
  seed: fc.string({ minLength: 1, maxLength: 3 }),
})

/** True for a value that a column may have. */
function fits(column: Column, value: DummyValue): boolean {
  if (column.type === 'identifier') return typeof value === 'string' && value.startsWith('dummy-')
  if (value === null) return column.nullable
  switch (column.type) {
    case 'integer':
    case 'number':
    case 'date':
    case 'timestamp':
      return typeof value === 'bigint' && value >= column.lowerIndex && value <= column.upperIndex
    case 'boolean':
      return typeof value === 'boolean'
    case 'category':
      return typeof value === 'number' && column.categories[value] !== undefined
    case 'string':
      return typeof value === 'string' && value.length <= (column.selectable?.maxLength ?? 100)
  }
}

const valuesAt = (rows: readonly (readonly DummyValue[])[], i: number) => rows.map((row) => row[i] ?? null)
const distinct = (values: readonly DummyValue[]) => new Set(values.filter((value) => value !== null)).size

const personColumn = (unit: DummyDeclaration['privacyUnit']) =>
  unit.kind === 'person' ? unit.column : undefined

/** Groups rows by the identifier of the person. */
function byPerson({ columns, privacyUnit }: DummyDeclaration, rows: readonly (readonly DummyValue[])[]) {
  const place = columns.findIndex(({ name }) => name === personColumn(privacyUnit))
  return [...Map.groupBy(rows, (row) => row[place]).values()]
}

test('every value fits its declaration, and so do the numbers of values and of rows per person', () => {
  fc.assert(
    fc.property(declaration, size, (declared, asked) => {
      const { columns, privacyUnit } = declared
      const rows = [...dummyRows(declared, asked)]
      expect(rows.length).toBe(asked.rows)
      for (const row of rows)
        for (const [i, column] of columns.entries())
          if (!fits(column, row[i] ?? null)) throw new Error(`${column.type} ${String(row[i])}`)
      for (const [i, column] of columns.entries()) {
        const values = valuesAt(rows, i)
        const limits = 'rankable' in column ? column.rankable : 'selectable' in column && column.selectable
        if (limits) expect(distinct(values)).toBeLessThanOrEqual(limits.maxValues)
        if (column.type === 'identifier' && column.name !== personColumn(privacyUnit))
          expect(distinct(values)).toBe(asked.rows)
      }
      if (privacyUnit.kind === 'row') return
      for (const own of byPerson(declared, rows)) {
        expect(own.length).toBeLessThanOrEqual(privacyUnit.maxRows)
        for (const [i, column] of columns.entries())
          if (column.type !== 'identifier' && column.constantPerPerson)
            expect(new Set(valuesAt(own, i)).size).toBe(1)
      }
    }),
  )
})

describe('a thousand visits', () => {
  const rows = [...dummyRows(clinic, { rows: 1_000, seed: 'visits' })]
  const at = (name: string) =>
    valuesAt(
      rows,
      clinic.columns.findIndex((column) => column.name === name),
    )
  const numbers = (name: string) =>
    at(name).flatMap((value) => (typeof value === 'bigint' ? [Number(value)] : []))

  test('some people have as many rows as they may have, most have few, and their rows are not adjacent', () => {
    const counts = byPerson(clinic, rows).map(({ length }) => length)
    expect(counts.filter((count) => count === 12).length).toBeGreaterThan(2)
    expect(counts.filter((count) => count <= 3).length).toBeGreaterThan(counts.length / 2)
    const patients = at('patient')
    const adjacent = patients.filter((patient, row) => row > 0 && patient === patients[row - 1]).length
    expect(adjacent).toBeLessThan(100)
  })

  test('nullable columns have NULLs, and the others have none', () => {
    for (const [i, column] of clinic.columns.entries()) {
      const share = valuesAt(rows, i).filter((value) => value === null).length / rows.length
      const nullable = column.type !== 'identifier' && column.nullable
      expect(share > 0 && share < 0.15, column.name).toBe(nullable)
    }
  })

  test('values at both bounds occur, and every category, date period and truth value', () => {
    for (const column of clinic.columns) {
      if (!('lowerIndex' in column) || 'rankable' in column) continue
      expect(at(column.name), column.name).toContain(column.lowerIndex)
      expect(at(column.name), column.name).toContain(column.upperIndex)
    }
    expect(distinct(at('ward'))).toBe(4)
    expect(distinct(at('emergency'))).toBe(2)
    expect(distinct(at('shift'))).toBeGreaterThan(10)
  })

  test('values are not uniform: amounts are skewed, ages are bell-shaped, times and categories are uneven', () => {
    const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
    expect(mean(numbers('cost, EUR'))).toBeLessThan(25_000)
    const ages = byPerson(clinic, rows).map((own) => Number(own[0]?.[1]))
    expect(ages.filter((age) => age > 27 && age < 83).length / ages.length).toBeGreaterThan(0.65)
    const days = numbers('visited')
    expect(days.filter((day) => day > 19_358 + 365).length).toBeGreaterThan(0.55 * days.length)
    const wards = at('ward').flatMap((ward) => ward ?? [])
    expect(wards.filter((ward) => ward === 0).length).toBeGreaterThan(
      2 * wards.filter((ward) => ward === 3).length,
    )
  })
})

test('numbers of one row are correlated, so that regressions can be practised', () => {
  const columns = ['a', 'b', 'c'].map((name) => declared.integer(name, -1_000n, 1_000n, { nullable: false }))
  const rows = [...dummyRows(dummyDeclaration(datasetOf(columns)), { rows: 5_000, seed: 's' })].map((row) =>
    row.map(Number),
  )
  const correlation = (i: number, j: number) => {
    const moment = (f: (row: readonly number[]) => number) =>
      rows.reduce((sum, row) => sum + f(row), 0) / rows.length
    const [x, y] = [moment((row) => row[i] ?? 0), moment((row) => row[j] ?? 0)]
    const product = (k: number, l: number, m: number, n: number) =>
      moment((row) => ((row[k] ?? 0) - m) * ((row[l] ?? 0) - n))
    return product(i, j, x, y) / Math.sqrt(product(i, i, x, x) * product(j, j, y, y))
  }
  expect(correlation(0, 2)).toBeGreaterThan(0.15)
  expect(correlation(0, 1)).toBeLessThan(-0.15)
})

const textOf = (dataset: Dataset, format: 'csv' | 'json' = 'csv') =>
  [...dummyText(dummyDeclaration(dataset), { rows: 200, seed: 's' }, format)].join('')

/** A dataset with columns of every type, whose privacy units are people. */
const registered: Dataset = {
  ...datasetOf([
    declared.identifier('patient'),
    declared.integer('age', 0n, 110n),
    declared.date('day', '2024-01-01', '2024-12-31'),
    declared.timestamp('at', '2024-01-01T00:00:00Z', '2024-12-31T00:00:00Z', { step: 60n }),
    declared.category('ward', ['A', 'B']),
    { ...declared.string('note'), selectable: { maxValues: 10, maxLength: 4 } },
  ]),
  privacyUnit: { kind: 'person', column: 'patient', maxRows: 3 },
}

test('attack: no fact of a dataset but its columns and its privacy unit changes a byte', () => {
  const others: readonly Partial<Dataset>[] = [
    { id: 'other' },
    { title: 'Other' },
    { version: '7', firstVersion: '2' },
    { source: { kind: 'table', connection: 'warehouse', table: 'main.visits', mode: 'live' } },
    { source: { kind: 'upload', upload: 'f'.repeat(32), format: 'parquet' } },
    { neighbours: 'change-one', people: 417 },
    { rows: 123_456 },
    { synthetic: false, accounting: 'zcdp', sharing: true, timing: { slotMs: 50 }, failureLimit: 1 },
  ]
  // How a source spells values, and which values did not fit, is no fact of the values.
  const spelled = registered.columns.map((column) => ({
    ...column,
    invalidValue: { kind: 'refuse' as const },
    ...('dateFormat' in column ? { dateFormat: 'DD.MM.YYYY' as const } : {}),
    ...('timeZone' in column ? { timeZone: 'Europe/Berlin' } : {}),
  }))
  for (const format of ['csv', 'json'] as const) {
    const expected = textOf(registered, format)
    for (const facts of [...others, { columns: spelled as Dataset['columns'] }])
      expect(textOf({ ...registered, ...facts }, format), Object.keys(facts).join()).toBe(expected)
  }
})

test('a declaration has a key of its own, and so has a size', () => {
  const asked = { rows: 10, seed: 's' }
  const original = dummyDeclaration(registered)
  const changed = original.columns.map((column, i) => {
    const columns = original.columns.with(i, { ...column, name: 'other' })
    return dummyKey({ ...original, columns }, asked)
  })
  const keys = [
    dummyKey(original, asked),
    ...changed,
    dummyKey({ ...original, privacyUnit: { kind: 'row' } }, asked),
    dummyKey(original, { ...asked, rows: 11 }),
    dummyKey(original, { ...asked, seed: 't' }),
  ]
  expect(new Set(keys).size).toBe(keys.length)
  const other: Dataset = { ...registered, id: 'other', version: '2' }
  expect(dummyKey(dummyDeclaration(other), asked)).toBe(keys[0])
})

test('the same bytes are made on every machine', () => {
  const digestOf = (format: 'csv' | 'json') => {
    const hash = createHash('sha256')
    for (const piece of dummyText(clinic, { rows: 20_000, seed: 'fixed' }, format)) hash.update(piece)
    return hash.digest('hex')
  }
  expect(digestOf('csv')).toBe('7a6c4fe735e4e188a6fdd39658abc84189dcf003624d5f133533a3a422d04b59')
  expect(digestOf('json')).toBe('c79a4c8e7d1a3b408da3bdb6fe374d3490d21f7f4061d3537fa4eb492ab790cb')
})

test('the number of values is limited, with the number of rows that it allows', () => {
  const wide = (columns: number): DummyDeclaration => ({
    columns: Array.from({ length: columns }, (_, i) => declared.identifier(`c${i}`)),
    privacyUnit: { kind: 'row' },
  })
  expect(() => requireFewValues(wide(40), { rows: 100_000 })).not.toThrow()
  expect(() => requireFewValues(wide(200), { rows: 20_000 })).not.toThrow()
  expect(() => requireFewValues(wide(200), { rows: 20_001 })).toThrow(
    'rows: must be at most 20000 for 200 columns',
  )
  expect(() => requireFewValues(wide(1), { rows: 100_001 })).toThrow('must be at most 100000')
})

test('text is CSV and JSON with the same values, with empty texts and NULLs apart', () => {
  const asked = { rows: 50, seed: 's' }
  const records: readonly Record<string, unknown>[] = JSON.parse(
    [...dummyText(clinic, asked, 'json')].join(''),
  )
  expect(records.length).toBe(50)
  const fields = (record: Record<string, unknown>) =>
    Object.values(record).map((value) => {
      if (value === null) return ''
      const text = String(value)
      return text === '' || /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
    })
  const header = clinic.columns.map(({ name }) => (name.includes(',') ? `"${name}"` : name))
  const expected = [header, ...records.map(fields)].map((line) => `${line.join(',')}\n`).join('')
  expect([...dummyText(clinic, asked, 'csv')].join('')).toBe(expected)
  expect(expected).toContain('""')
  expect(records[0]).toMatchObject({
    visited: expect.stringMatching(/^202[34]-\d\d-\d\d$/),
    patient: expect.stringMatching(/^dummy-\d{6}$/),
  })
})

test('CSV for people holds no formulas, and that for ingestion holds the values', () => {
  const formulas = ['=1+1', '+1', '-1', '@SUM(A1)', '\tx', 'harmless']
  const declaration: DummyDeclaration = {
    columns: [declared.category('=cmd()', formulas), declared.integer('x', -9n, -1n)],
    privacyUnit: { kind: 'row' },
  }
  const linesOf = (format: 'csv' | 'source') =>
    [...dummyText(declaration, { rows: 200, seed: 's' }, format)].join('').trimEnd().split('\n')
  const [shownName, ...shown] = linesOf('csv')
  const [name, ...rows] = linesOf('source')
  expect([shownName, name]).toEqual(["'=cmd(),x", '=cmd(),x'])
  for (const [place, row] of rows.entries()) {
    const [text = '', number = ''] = row.replaceAll('"', '').split(',')
    expect(number).toMatch(/^(-\d)?$/)
    expect(shown[place]?.replaceAll('"', '')).toBe(
      `${text === 'harmless' || text === '' ? '' : "'"}${text},${number}`,
    )
  }
  expect(new Set(rows.map((row) => row[0])).size).toBeGreaterThan(4)
})

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Column, TableColumn } from '../../../src/core/dataset/dataset.ts'
import { printAggregate } from '../../../src/engines/sql-printer.ts'
import { printInspection } from '../../../src/engines/tables/inspection.ts'
import { printRead, printRelation } from '../../../src/engines/tables/relation.ts'
import type { TableDataset } from '../../../src/engines/tables/table-engine.ts'
import { trinoDialect } from '../../../src/engines/trino/dialect.ts'
import { aggregate, columns } from '../arbitraries.ts'
import { column, datasetOf } from '../fixture.ts'

/** The source types that each kind of column accepts. */
const FITTING: Readonly<Record<string, readonly string[]>> = {
  integer: ['tinyint', 'smallint', 'integer', 'bigint', 'real', 'double', 'decimal(10,2)', 'decimal(38,0)'],
  date: ['date', 'timestamp(3)', 'timestamp(6) with time zone'],
  boolean: ['boolean', 'varchar', 'char(3)', 'tinyint', 'bigint'],
  category: ['varchar(10)', 'char(3)', 'uuid', 'integer', 'boolean'],
  identifier: ['varchar', 'char(3)', 'uuid', 'bigint', 'decimal(20,0)'],
}
const OTHERS = [
  'varbinary',
  'json',
  'array(bigint)',
  'map(varchar, bigint)',
  'time(3)',
  'interval day to second',
  'row(x bigint)',
]

const declared: Readonly<Record<string, Column>> = {
  integer: column.integer('x', 0n, 10n),
  date: column.date('x', '2000-01-01', '2020-12-31'),
  boolean: column.boolean('x'),
  category: column.category('x', ['a', 'b']),
  identifier: column.identifier('x'),
}

describe('the types that fit', () => {
  const all = [...new Set([...Object.values(FITTING).flat(), ...OTHERS])]
  test.each(Object.entries(declared))('a column of type %s', (type, given) => {
    const fitting = all.filter(
      (source) => trinoDialect.encode(given, { type: source, sql: 'x', notNull: false }) !== undefined,
    )
    const expected = FITTING[type] ?? []
    // A date is not a number, nor is a text, whatever precision or length their types have.
    expect(new Set(fitting)).toEqual(
      new Set(
        type === 'identifier'
          ? [...expected, ...['varchar(10)', 'tinyint', 'smallint', 'integer', 'decimal(38,0)']]
          : alike(type, expected, all),
      ),
    )
  })

  function alike(type: string, expected: readonly string[], all: readonly string[]): readonly string[] {
    const plain = (name: string) => name.replace(/\(.*?\)/, '')
    const integers =
      type === 'boolean' || type === 'category' ? ['tinyint', 'smallint', 'integer', 'bigint'] : []
    const accepted = new Set([...expected.map(plain), ...integers])
    return all.filter((name) => accepted.has(plain(name)))
  }

  test('a step whose range cannot be computed exactly', () => {
    const given = column.number('x', 10n ** 21n, -(2n ** 53n), 2n ** 53n)
    expect(trinoDialect.encode(given, { type: 'double', sql: 'x', notNull: false })).toBeUndefined()
  })
})

/** Everything that a statement consists of apart from texts of the declaration: no quotation mark can be out of place. */
const SAFE = /^[\w\s.,:()[\]<>=*/%+\-|'"&{}]*$/

test('texts are part of statements as the digits of their bytes only', () => {
  const nasty = `'; DROP TABLE x; --"\u0000\u{1f600}\\`
  const literal = trinoDialect.value(nasty, 'text', () => 0)
  expect(literal).toBe(`from_utf8(X'${Buffer.from(nasty).toString('hex')}')`)
  const stored = trinoDialect.encode(column.category('x', [nasty, 'b']), {
    type: 'varchar',
    sql: 'x',
    notNull: false,
  })?.stored
  expect(stored).toMatch(SAFE)
  expect(stored).not.toContain('DROP')
  const many = trinoDialect.encode(
    column.category('x', [nasty, ...Array.from({ length: 40 }, (_, i) => `${i}`)]),
    {
      ...{ type: 'varchar', notNull: false },
      sql: 'x',
    },
  )?.stored
  expect(many).toMatch(SAFE)
  expect(many).not.toContain('DROP')
  const replaced = trinoDialect.literal(nasty)
  expect(replaced).toBe(literal)
})

test('an aggregate has no parameters, and nothing that Trino does not understand', () => {
  const dataset = datasetOf(columns)
  fc.assert(
    fc.property(aggregate, (given) => {
      const { sql, parameters } = printAggregate(given, dataset, { ...trinoDialect, relation: () => 'rows' })
      expect(parameters).toEqual([])
      expect(sql).not.toMatch(/IS NOT TRUE|IS TRUE|::|HUGEINT|\/\/|\$\d/)
    }),
    { numRuns: 200 },
  )
})

/** A table of people, with a source of each kind. */
const table = {
  dataset: {
    ...datasetOf([
      column.identifier('patient', 'drop-row'),
      { ...column.integer('age', 0n, 120n), constantPerPerson: true },
      column.string('note'),
    ]),
    privacyUnit: { kind: 'person', column: 'patient', maxRows: 3 },
  },
  table: { schema: 'clinic', name: 'vi"sits' },
  columns: [
    { name: 'patient', type: 'char(8)', notNull: false },
    { name: 'age', type: 'double', notNull: true },
    { name: 'note', type: 'varchar', notNull: false },
  ] satisfies readonly TableColumn[],
  unit: { kind: 'person', column: 'patient', maxRows: 3, key: '0123456789abcdef'.repeat(4) },
} as const satisfies TableDataset

describe('the statements over a table', () => {
  const statements = [
    printRelation(trinoDialect, table),
    printRead(trinoDialect, table).sql,
    ...Object.values(printInspection(trinoDialect, table)).map(({ sql }) => sql),
  ]
  test.each(statements)('names are quoted, and conditions are those of Trino', (sql) => {
    expect(sql).toContain('"clinic"."vi""sits"')
    expect(sql).not.toMatch(/IS (NOT )?TRUE|::/)
  })
  test('rows of a person are ordered by the digest of their values', () => {
    expect(statements[0]).toMatch(/md5\(to_utf8\(concat\(/)
    expect(statements[0]).toContain('row_number() OVER')
    expect(statements[0]).toContain('"sotto_rank" <= 3'.replaceAll('"', ''))
  })
})

test('a long list of conditions is compiled in parts', () => {
  const conditions = Array.from({ length: 1_000 }, (_, i) => `(x BETWEEN ${i} AND ${i + 1})`)
  const joined = trinoDialect.join?.(conditions, 'OR') ?? ''
  const parts = joined.split('any_match').slice(1)
  expect(parts.length).toBeGreaterThan(1)
  for (const part of parts) expect(part.length).toBeLessThan(5_000)
  expect(conditions.every((condition) => joined.includes(condition))).toBe(true)
  expect(trinoDialect.join?.(['a', 'b'], 'AND')).toBe('(a AND b)')
})

test('edges beyond all integers remain increasing as doubles', () => {
  const edges = [-(2n ** 60n), -(2n ** 60n) + 1n, -5n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 60n]
  const sql = trinoDialect.edgesBelow?.('x', edges) ?? ''
  const printed: unknown = JSON.parse(/JSON '(.*?)'/.exec(sql)?.[1] ?? '')
  const doubles = Array.isArray(printed) ? printed.map(Number) : []
  expect(doubles).toHaveLength(edges.length)
  expect(doubles.every((edge, i) => i === 0 || edge > (doubles[i - 1] ?? edge))).toBe(true)
  expect(doubles.slice(2, 4)).toEqual([-5, 2 ** 53])
  expect(doubles[1]).toBeLessThan(-(2 ** 53))
  expect(doubles[4]).toBeGreaterThan(2 ** 53)
})

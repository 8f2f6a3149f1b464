import { describe, expect, it } from 'vitest'
import type { Source } from '../../../src/core/dataset/dataset.ts'
import { printColumns } from '../../../src/engines/postgres/describe.ts'
import { postgresDialect } from '../../../src/engines/postgres/dialect.ts'
import { textLiteral } from '../../../src/engines/postgres/encodings/literals.ts'
import { sourceTypeOf } from '../../../src/engines/postgres/encodings/source.ts'
import { printAggregate } from '../../../src/engines/sql-printer.ts'
import { printInspection } from '../../../src/engines/tables/inspection.ts'
import { printRead, printRelation } from '../../../src/engines/tables/relation.ts'
import { requireColumns, type TableDataset, tablesOf } from '../../../src/engines/tables/table-engine.ts'
import { column, datasetOf } from '../fixture.ts'
import { liveTable } from '../joined-shops.ts'

describe('a value in a statement', () => {
  const bound: unknown[] = []
  const bind = (value: unknown) => bound.push(value)

  it('is a literal if it is no text, and bound if it is', () => {
    expect(postgresDialect.value(-(2n ** 60n), 'bigint', bind)).toBe("'-1152921504606846976'::int8")
    expect(postgresDialect.value(3n, 'integer', bind)).toBe("'3'::int4")
    expect(postgresDialect.value(false, 'boolean', bind)).toBe('FALSE')
    expect(bound).toEqual([])
    expect(postgresDialect.value("'; DROP TABLE x; --", 'text', bind)).toBe('$1::text')
    expect(bound).toEqual(["'; DROP TABLE x; --"])
  })

  it('is never equal to anything if it contains U+0000, which the server rejects', () => {
    expect(postgresDialect.value('a\0b', 'text', () => 9)).toBe('NULL::text')
    expect(() => textLiteral('a\0b')).toThrow(RangeError)
  })

  it('cannot end a literal', () => {
    expect(textLiteral("\\'; --")).toBe(`(E'\\\\''; --'::text COLLATE "C")`)
  })
})

describe('arithmetic', () => {
  it('leaves 64 bits where a product could exceed them', () => {
    const squares = (upper: bigint) =>
      printAggregate(
        {
          ...{ groupBy: [], bounding: { kind: 'one-row-each' } },
          statistics: [{ kind: 'affine-square-sum', column: 'x', factor: 1n, offset: 0n }],
        },
        datasetOf([column.integer('x', 0n, upper)], 'squares'),
        { ...postgresDialect, relation: () => 'rows' },
      ).sql
    expect(squares(2n ** 31n)).toContain('(CAST("x" AS BIGINT) * CAST("x" AS BIGINT))')
    expect(squares(2n ** 31n + 1n)).toContain('(CAST("x" AS NUMERIC) * CAST("x" AS NUMERIC))')
  })

  it.each([
    [1, 0],
    [2, 1],
    [16, 15],
    [17, 31],
    [18_300, 32_767],
  ])('finds each of %i entries of a table under the mask %i', (entries, mask) => {
    const printed = postgresDialect.element?.(Array<number>(entries).fill(0), 'p')
    expect(printed).toContain(`(p & ${mask} AS INTEGER)`)
  })
})

describe('the type of a column', () => {
  it.each([
    ['numeric(10,2)', { kind: 'decimal', digits: { precision: 10, scale: 2 } }],
    ['numeric(3,-2)', { kind: 'decimal', digits: { precision: 3, scale: -2 } }],
    ['timestamp(3) with time zone', { kind: 'timestamptz' }],
    ['timestamp without time zone', { kind: 'timestamp' }],
    ['character varying(20)', { kind: 'text' }],
    ['character(4)', { kind: 'text', isPadded: true }],
    ['bpchar', { kind: 'text', isPadded: true }],
    ['enum clinic.mood', { kind: 'enum' }],
    ['clinic.mood', undefined],
    ['public."enum x"', undefined],
    ['integer[]', undefined],
    ['numeric[]', undefined],
    ['"char"', undefined],
    ['constructor', undefined],
    ['time without time zone', undefined],
  ] as const)('is read from %s', (name, type) => {
    expect(sourceTypeOf(name)).toEqual(type)
  })
})

describe('the columns of a registration', () => {
  const age = { name: 'age', type: 'integer', notNull: true }

  it('are still there if others were added', () => {
    expect(() => requireColumns([age], [{ name: 'new', type: 'text', notNull: false }, age])).not.toThrow()
  })

  it.each([
    [[]],
    [[{ ...age, type: 'bigint' }]],
    [[{ ...age, notNull: false }]],
    [[{ ...age, name: 'Age' }]],
  ])('have changed if they are %j', (found) => {
    expect(() => requireColumns([age], found)).toThrow(expect.objectContaining({ name: 'TableChanged' }))
  })

  it('are looked up by names that cannot end a literal', () => {
    const sql = printColumns({ schema: "o'clock\\", name: 'x' })
    expect(sql).toContain("nspname = E'o''clock\\\\'")
  })
})

describe('a relation', () => {
  const dataset = datasetOf([column.integer('age', 0n, 120n), column.category('sex', ['f', 'm'])], 'visits')
  const columns = [
    { name: 'age', type: 'integer', notNull: false },
    { name: 'sex', type: 'character(1)', notNull: false },
  ]

  it('reads only the declared columns, in a form that the server can run in parallel, and names its schema', () => {
    const table = {
      dataset,
      table: { schema: 'clinic', name: 'visits' },
      columns,
      unit: { kind: 'row' },
    } as const
    const sql = printRelation(postgresDialect, table)
    expect(sql.match(/FROM "clinic"."visits" AS sotto_source\)/g)).toHaveLength(1)
    // Nothing runs in parallel below an OFFSET.
    expect(sql).not.toContain('OFFSET')
    expect(sql).not.toContain('SELECT *')
    const { sql: statement, parameters } = printAggregate(
      { groupBy: [], statistics: [{ kind: 'count' }], bounding: { kind: 'one-row-each' } },
      dataset,
      { ...postgresDialect, relation: () => sql },
    )
    expect(statement).toBe(`SELECT CAST(count(*) AS VARCHAR) FROM ${sql}`)
    expect(parameters).toEqual([])
  })

  it('of people has the secret key as a parameter, and no statement has it in its text', () => {
    const key = '0123456789abcdef'.repeat(4)
    const patient = { name: 'id', type: 'text', notNull: true }
    const people: TableDataset = {
      dataset: {
        ...datasetOf([column.identifier('id'), ...dataset.columns], 'people'),
        privacyUnit: { kind: 'person', column: 'id', maxRows: 3 },
      },
      table: { schema: 'public', name: 'visits' },
      columns: [patient, ...columns],
      unit: { kind: 'person', column: 'id', maxRows: 3, key },
    }
    const { sql, parameters } = printAggregate(
      {
        groupBy: [],
        statistics: [{ kind: 'count-people' }],
        bounding: { kind: 'rows', rows: 2 },
        where: { kind: 'is-null', column: 'sex' },
      },
      people.dataset,
      { ...postgresDialect, relation: (_, bind) => printRelation(postgresDialect, people, bind) },
    )
    expect(parameters).toEqual([key])
    expect(sql).toContain("md5(concat($1::text, 'row', ")
    for (const each of [
      sql,
      printRead(postgresDialect, people).sql,
      ...Object.values(printInspection(postgresDialect, people)).map(({ sql }) => sql),
    ])
      expect(each).not.toContain(key)
  })

  it('of joined tables of people has the secret key as a parameter as well', () => {
    const key = '0123456789abcdef'.repeat(4)
    const privacyUnit = { kind: 'person', column: 'patients.id', maxRows: 3 } as const
    const source: Source = {
      kind: 'joined',
      tables: { visits: liveTable('visits'), patients: liveTable('patients') },
      joins: [{ from: 'visits.patient', to: 'patients.id', public: false }],
    }
    const text = (name: string) => ({ name, type: 'text', notNull: true })
    const people: TableDataset = {
      dataset: { ...datasetOf([column.identifier('patients.id')], 'joined'), source, privacyUnit },
      table: tablesOf({ source, privacyUnit }),
      columns: ['patients.id', 'visits.patient', 'patients.id'].map(text),
      unit: { ...privacyUnit, key },
    }
    const bound: unknown[] = []
    const relation = printRelation(postgresDialect, people, (value) => bound.push(value))
    // A person who is listed twice stands once, and keeps some rows: both choices need the key.
    expect(bound).toEqual([key, key])
    expect(relation).not.toContain(key)
    const inspected = Object.values(printInspection(postgresDialect, people))
    for (const { sql, parameters } of [printRead(postgresDialect, people), ...inspected]) {
      expect(sql).not.toContain(key)
      expect(parameters).toHaveLength(sql.split("::text, 'row'").length - 1)
    }
  })

  it('of people leaves out a text that is too long to be joined with others', () => {
    const people: TableDataset = {
      dataset: datasetOf([column.identifier('id'), column.string('note')], 'people'),
      table: { schema: 'public', name: 'visits' },
      columns: ['id', 'note'].map((name) => ({ name, type: 'text', notNull: true })),
      unit: { kind: 'person', column: 'id', maxRows: 3, key: '0123456789abcdef'.repeat(4) },
    }
    const sql = printRelation(postgresDialect, people, () => 1)
    const length = (name: string) => `length((sotto_source."${name}"::text COLLATE "C")) <= 65536`
    expect(sql).toContain(`AND ${length('id')})`)
    expect(sql).toContain(`CASE WHEN ${length('note')} THEN`)
    const ofRows = printRelation(postgresDialect, { ...people, unit: { kind: 'row' } })
    expect(ofRows).not.toContain('length(')
  })
})

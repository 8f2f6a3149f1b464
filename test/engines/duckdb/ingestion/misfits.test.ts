import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import type { Column } from '../../../../src/core/dataset/dataset.ts'
import { type Ingestion, ingest } from '../../../../src/engines/duckdb/ingestion/ingest.ts'
import { Refusal } from '../../../../src/privacy/refusal.ts'
import { folderForAll } from '../../../folders.ts'
import { column, storedRows, withDuckDb } from '../../fixture.ts'

const folder = folderForAll()

async function misfitsOf(columns: readonly Column[], given: Partial<Ingestion>) {
  const { invalidValues } = await ingest({
    sourcePath: join(folder.path, 'rows.csv'),
    format: 'csv',
    columns,
    privacyUnit: { kind: 'row' },
    targetPath: join(folder.path, 'rows.duckdb'),
    ...given,
  })
  return invalidValues.flatMap(({ misfits }) => misfits)
}

async function misfitsOfCsv(
  columns: readonly Column[],
  content: string | Uint8Array,
  given: Partial<Ingestion> = {},
) {
  await writeFile(join(folder.path, 'rows.csv'), content)
  return misfitsOf(columns, given)
}

const x = column.integer('x', 0n, 9n)
const replaced = { nullable: false, invalidValue: { kind: 'replace', value: 0n } } as const

describe('the rule that a value broke', () => {
  const [later, first] = ['2020-01-02', '2020-01-01']
  it.each<[string, Column, string]>([
    ['not-a-whole-number', x, '1.5'],
    ['not-a-number', column.number('x', 1_000_000_000n, 0n, 9n), 'many'],
    ['not-a-date', column.date('x', first, later), '02.01.2020'],
    ['not-a-timestamp', column.timestamp('x', `${first}T00:00:00Z`, `${later}T00:00:00Z`), '25:00'],
    ['not-a-boolean', column.boolean('x'), 'maybe'],
    ['not-a-category', column.category('x', ['a']), 'b'],
    ['missing', column.integer('x', 0n, 9n, replaced), ''],
    ['missing', column.identifier('x', 'drop-row'), ' '],
  ])('is %s', async (rule, declared, field) => {
    const found = await misfitsOfCsv([declared, column.string('y')], `x,y\n${field},1\n`)
    expect(found).toEqual([{ rule, values: 1, unit: 'line', first: [2] }])
  })

  it('is told for each rule of a column apart', async () => {
    const content = 'x,y\n1,1\n,1\none,1\n2,1\n,1\ntwo,1\n'
    expect(await misfitsOfCsv([column.integer('x', 0n, 9n, replaced)], content)).toEqual([
      { rule: 'missing', values: 2, unit: 'line', first: [3, 6] },
      { rule: 'not-a-whole-number', values: 2, unit: 'line', first: [4, 7] },
    ])
  })
})

describe('the places of the first misfits', () => {
  const wrong = (unit: string, ...first: number[]) => [
    { rule: 'not-a-whole-number', values: first.length, unit, first },
  ]

  it('are five at most, in the order of the file', async () => {
    const content = `x,y\n${'1,1\n?,1\n'.repeat(1_000)}`
    expect(await misfitsOfCsv([x], content)).toEqual([
      { rule: 'not-a-whole-number', values: 1_000, unit: 'line', first: [3, 5, 7, 9, 11] },
    ])
  })

  it('are lines of the file with or without a header, compressed or not', async () => {
    expect(await misfitsOfCsv([x], 'x,y\n1,1\n?,1\n')).toEqual(wrong('line', 3))
    expect(await misfitsOfCsv([x], gzipSync('x,y\r\n1,1\r\n?,1\r\n'))).toEqual(wrong('line', 3))
    const first = { ...x, name: 'column1' }
    expect(await misfitsOfCsv([first], '1,1\n?,1\n', { csv: { header: false } })).toEqual(wrong('line', 2))
  })

  it('are records where values have line breaks or lines are blank', async () => {
    expect(await misfitsOfCsv([x], 'x,y\n1,"1\n"\n?,1\n')).toEqual(wrong('record', 2))
    expect(await misfitsOfCsv([x], 'x,y\n\n1,1\n?,1\n')).toEqual(wrong('record', 2))
  })

  it('are rows of a Parquet file that several threads read', async () => {
    const sourcePath = join(folder.path, 'rows.parquet')
    const wrongRows = [1, 122_881, 300_000, 300_001, 399_999]
    const values = `CASE WHEN i + 1 IN (${wrongRows.join(', ')}) THEN '?' ELSE (i % 10)::VARCHAR END`
    const select = `SELECT ${values} AS x FROM range(400000) t(i) ORDER BY i`
    await withDuckDb(':memory:', `COPY (${select}) TO '${sourcePath}' (FORMAT parquet, ROW_GROUP_SIZE 4096)`)
    for (const threads of [1, 4])
      expect(await misfitsOf([x], { sourcePath, format: 'parquet', limits: { threads } })).toEqual(
        wrong('row', ...wrongRows),
      )
  })

  it('do not name rows that are left out for another reason', async () => {
    const columns = [column.identifier('id', 'drop-row'), x]
    expect(await misfitsOfCsv(columns, 'id,x\na,1\n,?\nb,?\n')).toEqual([
      { rule: 'missing', values: 1, unit: 'line', first: [3] },
      { rule: 'not-a-whole-number', values: 1, unit: 'line', first: [4] },
    ])
  })
})

describe('many columns', () => {
  // More than share an integer of codes, some with names that ingestion uses itself.
  const names = ['kept1', 'misfit0', 'stored2', 'source3', 'checked', 'staged']
  const columns = Array.from({ length: 70 }, (_, i) =>
    column.integer(names[i] ?? `c${i}`, 0n, 99n, i % 7 === 3 ? replaced : {}),
  )
  const rows = Array.from({ length: 70 }, (_, row) =>
    columns.map((_, i) => (i === row ? '?' : i === row + 1 ? '' : String((row + i) % 100))),
  )
  const content = `${columns.map(({ name }) => name).join(',')},kept\n${rows.map((row) => `${row.join(',')},1\n`).join('')}`
  const expected = rows.map((row) =>
    Object.fromEntries(
      columns.map(({ name }, i) => {
        const invalid = i % 7 === 3 ? 0n : null
        return [name, row[i] === '?' || row[i] === '' ? invalid : BigInt(row[i] ?? '')]
      }),
    ),
  )
  const expectedMisfits = columns.flatMap((_, i) => [
    ...(i % 7 === 3 && i > 0 ? [{ rule: 'missing', values: 1, unit: 'line', first: [i + 1] }] : []),
    { rule: 'not-a-whole-number', values: 1, unit: 'line', first: [i + 2] },
  ])

  it.each<[string, readonly Column[]]>([
    ['written to the file at once', columns],
    [
      'staged for a rule that leaves out rows',
      [...columns, column.boolean('kept', { invalidValue: { kind: 'drop-row' } })],
    ],
  ])('are counted and stored, %s', async (_, declared) => {
    expect(await misfitsOfCsv(declared, content)).toEqual(expectedMisfits)
    const path = join(folder.path, 'rows.duckdb')
    expect(await storedRows(path, columns)).toEqual(expected)
    const stored = await withDuckDb(
      path,
      "SELECT column_name FROM duckdb_columns() WHERE table_name = 'rows'",
    )
    expect(stored.map(([name]) => name)).toEqual(declared.map(({ name }) => name))
  })
})

it('a refusal states for each column what is wrong and where, but no value', async () => {
  const refuse = { invalidValue: { kind: 'refuse' } } as const
  const columns = [
    column.identifier('id'),
    column.integer('x', 0n, 9n, { ...refuse, nullable: false }),
    column.category('word', ['a'], refuse),
    column.boolean('flag'),
  ]
  const lines = ['1,1,a,true', ',,a,maybe', '2,secret,secret,1', ...Array(6).fill('3,2,secret,0')]
  const error: unknown = await misfitsOfCsv(columns, `id,x,word,flag\n${lines.join('\n')}\n`).catch(
    (reason: unknown) => reason,
  )
  if (!(error instanceof Refusal)) throw new Error(`no refusal but ${String(error)}`)
  const remedy = 'declare onInvalidValue "dropRow" to leave them out'
  expect(error.errors).toEqual([
    { field: 'columns.0.name', rule: `the source has 1 row without this identifier, in line 3; ${remedy}` },
    { field: 'columns.1.name', rule: 'the source has 1 value that is missing, in line 3' },
    { field: 'columns.1.name', rule: 'the source has 1 value that is not a whole number, in line 4' },
    {
      field: 'columns.2.name',
      rule: 'the source has 7 values that are not declared categories, first in lines 4, 5, 6, 7, 8',
    },
  ])
  expect(`${error.message} ${error.stack}`).not.toContain('secret')
})

describe('values beyond the bounds', () => {
  const clampedIn = async (columns: readonly Column[], content: string) => {
    await writeFile(join(folder.path, 'rows.csv'), content)
    const { clampedValues } = await ingest({
      sourcePath: join(folder.path, 'rows.csv'),
      format: 'csv',
      columns,
      privacyUnit: { kind: 'row' },
      targetPath: join(folder.path, 'rows.duckdb'),
    })
    return clampedValues
  }

  it.each<[string, Column, readonly string[], number]>([
    ['whole numbers', x, ['-1', '0', '9', '10', '1e300'], 3],
    // 9.4 is nearest to 9, and 9.5 to 10.
    ['numbers', column.number('x', 1_000_000_000n, 0n, 9n), ['-0.6', '-0.4', '9.4', '9.5', '-inf'], 3],
    ['numbers of many steps', column.number('x', 1n, 0n, 2n ** 53n), ['-1', '0', '9007199.3', '0.5'], 2],
    ['dates', column.date('x', '2020-01-01', '2020-01-02'), ['2019-12-31', '2020-01-02', '2020-01-03'], 2],
    [
      'times',
      column.timestamp('x', '2020-01-01T00:00:00Z', '2020-01-02T00:00:00Z'),
      ['2019-12-31T23:59:59Z', '2020-01-02T00:00:00Z', '2020-01-02T00:00:01Z'],
      2,
    ],
  ])('are counted and clamped: %s', async (_, declared, values, clamped) => {
    if (!('lowerIndex' in declared)) throw new Error('the column has bounds')
    const { lowerIndex, upperIndex } = declared
    expect(await clampedIn([declared], ['x', ...values, ''].join('\n'))).toEqual([
      { column: 'x', values: clamped },
    ])
    const rows = await storedRows(join(folder.path, 'rows.duckdb'), [declared])
    const indexes = rows.map((row) => BigInt(Number(row.x)))
    expect(indexes).toHaveLength(values.length)
    expect(indexes.every((index) => lowerIndex <= index && index <= upperIndex)).toBe(true)
  })

  it('are not replaced, and do not count in rows that are left out', async () => {
    const columns = [column.integer('x', 0n, 9n, replaced), column.identifier('y', 'drop-row')]
    expect(await clampedIn(columns, 'x,y\n12,a\n99, \n')).toEqual([{ column: 'x', values: 1 }])
    expect(await storedRows(join(folder.path, 'rows.duckdb'), [x])).toEqual([{ x: 9n }])
  })

  it('are none in a column without bounds', async () => {
    expect(await clampedIn([column.boolean('x')], 'x\ntrue\n')).toEqual([])
  })
})

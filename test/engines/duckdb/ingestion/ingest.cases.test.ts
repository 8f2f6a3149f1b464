import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Column, InvalidValueRule, NumericColumn } from '../../../../src/core/dataset/dataset.ts'
import { ingest } from '../../../../src/engines/duckdb/ingestion/ingest.ts'
import { cases, describeOnce, someOf } from '../../../cases.ts'
import { folderForAll } from '../../../folders.ts'

import { rejectedRefusal } from '../../../refusal.ts'
import { mayBeStored } from '../../exact-index.ts'
import { column, storedRows, withDuckDb } from '../../fixture.ts'
import type { StoredValue } from '../../reference-engine.ts'

const folder = folderForAll()

let files = 0
function nextPath(extension: string): string {
  files += 1
  return join(folder.path, `file-${files}.${extension}`)
}

/** Ingests the values of one column and reads them back. Values may be given CSV-quoted. */
async function ingestValues(declared: Column, values: readonly string[]): Promise<readonly StoredValue[]> {
  // The second field keeps a blank value from being a blank line.
  const content = `${declared.name},line\n${values.map((value, i) => `${value},${i}\n`).join('')}`
  return (await ingestCsv([declared], content)).map((row) => row[declared.name] ?? null)
}

/** Registers a test for each text and its stored value. One file holds all texts. */
function eachText<Value extends StoredValue>(
  name: string,
  declared: Column,
  table: readonly [string, Value][],
): void {
  let ingested: Promise<readonly StoredValue[]> | undefined
  it.each(table.map(([text, value], line) => ({ text, value, line })))(name, async ({ value, line }) => {
    ingested ??= ingestValues(
      declared,
      table.map(([text]) => text),
    )
    expect((await ingested)[line]).toEqual(value)
  })
}

async function ingestCsv(columns: readonly Column[], content: string | Uint8Array) {
  const sourcePath = nextPath('csv')
  await writeFile(sourcePath, content)
  const targetPath = nextPath('duckdb')
  const { rowsStored } = await ingest({
    sourcePath,
    format: 'csv',
    columns,
    privacyUnit: { kind: 'row' },
    targetPath,
  })
  const stored = await storedRows(targetPath, columns)
  expect(stored).toHaveLength(rowsStored)
  return stored
}

async function writeParquetFile(select: string): Promise<string> {
  const path = nextPath('parquet')
  await withDuckDb(':memory:', `COPY (${select}) TO '${path}' (FORMAT parquet)`)
  return path
}

async function ingestParquet(columns: readonly Column[], select: string) {
  const targetPath = nextPath('duckdb')
  await ingest({
    sourcePath: await writeParquetFile(select),
    format: 'parquet',
    columns,
    privacyUnit: { kind: 'row' },
    targetPath,
  })
  return storedRows(targetPath, columns)
}

const HALF = 500_000_000n

describe('numbers', () => {
  const halves = column.number('x', HALF, -20n, 20n)

  eachText<bigint | null>('$text is index $value', halves, [
    ['0', 0n],
    ['-0', 0n],
    ['-0.0', 0n],
    ['1', 2n],
    ['+1', 2n],
    ['1.', 2n],
    ['.5', 1n],
    ['-.5', -1n],
    ['007', 14n],
    // Half-way values go up, on both sides of zero.
    ['0.25', 1n],
    ['-0.25', 0n],
    ['0.75', 2n],
    ['-0.75', -1n],
    // Fifteen digits decide; the nearest double of more may be the half step itself.
    ['0.2499999999', 0n],
    ['0.249999999999999', 0n],
    ['-0.249999999999999', 0n],
    ['-0.250000000000001', -1n],
    [`0.24${'9'.repeat(60)}`, 1n],
    [`0.25${'0'.repeat(60)}1`, 1n],
    [`-0.25${'0'.repeat(60)}1`, 0n],
    [`-0.24${'9'.repeat(60)}`, 0n],
    ['-0.0000000000000000001', 0n],
    ['1e0', 2n],
    ['1E+0', 2n],
    ['25e-2', 1n],
    ['0.0025E2', 1n],
    [`${'0'.repeat(100)}1`, 2n],
    [`1${'0'.repeat(300)}e-300`, 2n],
    [`0.${'0'.repeat(300)}1e301`, 2n],
    ['1e-400', 0n],
    ['-1e-400', 0n],
    ['0e99999999999999999999', 0n],
    ['1e-99999999999999999999', 0n],
    // Beyond the bounds: clamped.
    ['10', 20n],
    ['10.1', 20n],
    ['-10.25', -20n],
    ['1e400', 20n],
    ['-1e400', -20n],
    ['1e99999999999999999999', 20n],
    ['123456789012345678901234567890123456789012345678901234567890', 20n],
    ['-170141183460469231731687303715884105728', -20n],
    ['170141183460469231731687303715884105727', 20n],
    ['inf', 20n],
    ['+Infinity', 20n],
    ['-inf', -20n],
    ['-INFINITY', -20n],
    [' 1 ', 2n],
    ['\t1', 2n],
    ['" 1\n"', 2n],
    // No numbers.
    ['nan', null],
    ['NaN', null],
    ['-nan', null],
    ['', null],
    ['""', null],
    [' ', null],
    ['.', null],
    ['-', null],
    ['+-1', null],
    ['--1', null],
    ['1e', null],
    ['e1', null],
    ['.e1', null],
    ['1e1.5', null],
    ['0x10', null],
    ['0b1', null],
    ['1_000', null],
    ['1 000', null],
    ['"1,5"', null],
    ['1.5.5', null],
    ['1f', null],
    ['1d', null],
    ['$1', null],
    ['1%', null],
    ['½', null],
    ['٣', null],
    ['１', null],
    ['−1', null],
    ['\u00a01', null],
    ['infinit', null],
    ['true', null],
    ['1\u00002', null],
    ["1'; DROP TABLE rows; --", null],
  ])

  it('are rounded to floor(x / step + 1/2), up to what doubles distinguish, for any literal', async () => {
    const digits = (maxLength: number) => fc.array(fc.nat(9), { maxLength }).map((list) => list.join(''))
    const literal = fc
      .tuple(
        fc.constantFrom('', '-', '+'),
        digits(22),
        digits(24),
        fc.option(fc.integer({ min: -30, max: 30 })),
      )
      .filter(([, whole, fraction]) => whole + fraction !== '')
      .map(([sign, whole, fraction, exponent]) =>
        [sign, whole, fraction === '' ? '' : `.${fraction}`, exponent === null ? '' : `e${exponent}`].join(
          '',
        ),
      )
    // Just at, above and below the middle between two indexes.
    const nearHalves = fc
      .tuple(
        fc.bigInt(-2_000_000n, 2_000_000n),
        fc.constantFrom(-1n, 0n, 1n),
        fc.integer({ min: 10, max: 20 }),
      )
      .map(([halfSteps, nudge, digitCount]) => {
        const units = halfSteps * 15n * 10n ** BigInt(digitCount - 4) + nudge
        return `${units}e-${digitCount}`
      })
    const texts = [
      ...fc.sample(literal, { numRuns: cases(6_000), seed: 1 }),
      ...fc.sample(nearHalves, { numRuns: cases(6_000), seed: 2 }),
    ]
    const grids = [
      column.number('thousandths', 3_000_000n, -1_000_000n, 1_000_000n),
      column.number('nanos', 1n, -(2n ** 53n), 2n ** 53n),
      column.number('wide', 7_000_000_000_000n, -(2n ** 53n), 2n ** 53n),
      column.number('above', 3_000_000n, 12n, 300n),
      column.integer('whole', -(2n ** 53n), 2n ** 53n),
    ] as NumericColumn[]
    const content = `${grids.map(({ name }) => name).join(',')}\n${texts
      .map((text) => `${grids.map(() => text).join(',')}\n`)
      .join('')}`
    const rows = await ingestCsv(grids, content)
    for (const [line, text] of texts.entries()) {
      for (const grid of grids) {
        const stored = rows[line]?.[grid.name] as bigint | null
        expect([grid.name, text, stored, mayBeStored(grid, text, stored)]).toEqual([
          grid.name,
          text,
          stored,
          true,
        ])
      }
    }
  })

  it('keep every digit of large steps and bounds', async () => {
    const large = column.number('x', 10n ** 18n, -(2n ** 53n), 2n ** 53n)
    expect(
      await ingestValues(large, ['9007199254740991499999999', '9007199254740991500000000', '1e30']),
    ).toEqual([2n ** 53n - 1n, 2n ** 53n, 2n ** 53n])
    const nanos = column.number('x', 1n, -(2n ** 53n), 2n ** 53n)
    expect(
      await ingestValues(nanos, ['9007199.2547409904', '-9007199.2547409905', '7740635.73974101050', '1e-9']),
    ).toEqual([2n ** 53n - 2n, -(2n ** 53n) + 2n, 7_740_635_739_741_011n, 1n])
  })

  it('are those of their own column, whatever its position', async () => {
    const columns = Array.from({ length: 124 }, (_, i) => column.number(`x${i}`, 250_000_000n, 3n, 900n))
    const line = (ofEven: string, ofOdd: string) =>
      `${columns.map((_, i) => (i % 2 === 0 ? ofEven : ofOdd)).join(',')}\n`
    const header = `${columns.map(({ name }) => name).join(',')}\n`
    const [first, second] = await ingestCsv(columns, `${header}${line('', '13')}${line('1e1', 'x')}`)
    expect(Object.values(first ?? {})).toEqual(columns.map((_, i) => (i % 2 === 0 ? null : 52n)))
    expect(Object.values(second ?? {})).toEqual(columns.map((_, i) => (i % 2 === 0 ? 40n : null)))
  })

  it('cannot have bounds beyond 128-bit arithmetic', async () => {
    const refusal = await rejectedRefusal(ingestValues(column.number('x', 10n ** 24n, 0n, 2n ** 53n), ['1']))
    expect(refusal.code).toBe('invalid-request')
    expect(refusal.errors[0]?.field).toBe('columns.0')
  })
})

describeOnce('integers', () => {
  eachText<bigint | null>('$text is $value', column.integer('x', -100n, 100n), [
    ['42', 42n],
    ['42.0', 42n],
    ['42.', 42n],
    ['4.2e1', 42n],
    ['4200e-2', 42n],
    ['-42', -42n],
    ['1e400', 100n],
    ['-inf', -100n],
    ['12.5', null],
    ['12.00000000000001', null],
    // No double distinguishes them from whole numbers.
    ['12.0000000000000000000000001', 12n],
    ['1e-400', 0n],
    ['1e-1', null],
    ['0e-400', 0n],
    ['1000.5', null],
    ['0x1f', null],
  ])

  it('on a grid of fives', async () => {
    const fives: Column = { ...column.integer('x', -2n, 20n), stepNano: 5_000_000_000n } as Column
    expect(await ingestValues(fives, ['0', '2', '3', '-2', '-3', '7', '8', '-20', '1000'])).toEqual([
      0n,
      0n,
      1n,
      0n,
      -1n,
      1n,
      2n,
      -2n,
      20n,
    ])
  })

  it('are whole up to 2^53 and beyond', async () => {
    const wide = column.integer('x', -(2n ** 53n), 2n ** 53n)
    expect(
      await ingestValues(wide, [
        '9007199254740991',
        '9007199254740992',
        '9007199254740993',
        '-9007199254740991',
      ]),
    ).toEqual([2n ** 53n - 1n, 2n ** 53n, 2n ** 53n, -(2n ** 53n) + 1n])
  })
})

describeOnce('booleans, categories and strings', () => {
  eachText<boolean | null>('as a boolean, $text is $value', column.boolean('x'), [
    ['true', true],
    ['TRUE', true],
    ['t', true],
    ['Yes', true],
    ['y', true],
    ['1', true],
    [' true ', true],
    ['false', false],
    ['F', false],
    ['no', false],
    ['N', false],
    ['0', false],
    ['2', null],
    ['1.0', null],
    ['on', null],
    ['', null],
    ['""', null],
    ['truely', null],
  ])

  it('categories must match exactly', async () => {
    const categories = ['a', 'A', ' a', '', 'é', 'e\u0301', '日本', "it's", 'a"b', 'NULL', '1', '😀']
    const texts = ['a', 'A', '" a"', '""', 'é', 'e\u0301', '日本', "it's", '"a""b"', 'NULL', '1', '😀']
    expect(await ingestValues(column.category('x', categories), texts)).toEqual(
      categories.map((_, index) => index),
    )
    expect(await ingestValues(column.category('x', categories), ['b', 'a ', '', '1.0', 'E', '日'])).toEqual([
      null,
      null,
      null,
      null,
      null,
      null,
    ])
  })

  it('may have thousands of categories', async () => {
    const categories = Array.from({ length: 10_000 }, (_, index) => `category ${index}`)
    expect(
      await ingestValues(column.category('x', categories), ['category 9999', 'category 0', 'category']),
    ).toEqual([9999, 0, null])
  })

  it('strings are stored unchanged, and an empty field without quotes is NULL', async () => {
    const texts = [' a ', '""', '', 'NULL', '日本', '"a,""b""\nc"', '\u0000', '0x10']
    expect(await ingestValues(column.string('x'), texts)).toEqual([
      ' a ',
      '',
      null,
      'NULL',
      '日本',
      'a,"b"\nc',
      '\u0000',
      '0x10',
    ])
  })
})

describe('invalid values', () => {
  const replace = (value: bigint | number | boolean | string): InvalidValueRule => ({
    kind: 'replace',
    value,
  })
  const refuse: InvalidValueRule = { kind: 'refuse' }

  it.each<[string, Column, readonly string[], readonly StoredValue[]]>([
    [
      'number',
      column.number('x', HALF, 0n, 9n, { invalidValue: replace(7n) }),
      ['1', 'z', '', 'nan', '99'],
      [2n, 7n, null, 7n, 9n],
    ],
    ['integer', column.integer('x', 0n, 9n, { invalidValue: replace(7n) }), ['1', '1.5', ''], [1n, 7n, null]],
    ['boolean', column.boolean('x', { invalidValue: replace(false) }), ['1', 'z', ''], [true, false, null]],
    [
      'category',
      column.category('x', ['a', 'b'], { invalidValue: replace(1) }),
      ['a', 'z', ''],
      [0, 1, null],
    ],
    ['string', column.string('x', { invalidValue: replace('?') }), ['a', '""', ''], ['a', '', null]],
  ])('are replaced in a nullable %s column, and NULL is kept', async (_, declared, texts, values) => {
    expect(await ingestValues(declared, texts)).toEqual(values)
  })

  it.each<[string, Column, readonly string[], readonly StoredValue[]]>([
    [
      'number',
      column.number('x', HALF, 0n, 9n, { nullable: false, invalidValue: replace(7n) }),
      ['1', 'z', ''],
      [2n, 7n, 7n],
    ],
    [
      'integer',
      column.integer('x', 0n, 9n, { nullable: false, invalidValue: replace(7n) }),
      ['1', '1.5', ''],
      [1n, 7n, 7n],
    ],
    [
      'boolean',
      column.boolean('x', { nullable: false, invalidValue: replace(true) }),
      ['0', 'z', ''],
      [false, true, true],
    ],
    [
      'category',
      column.category('x', ['a', 'b'], { nullable: false, invalidValue: replace(1) }),
      ['a', 'z', ''],
      [0, 1, 1],
    ],
    [
      'string',
      column.string('x', { nullable: false, invalidValue: replace('?') }),
      ['a', '""', ''],
      ['a', '', '?'],
    ],
  ])('include NULL in a %s column that is not nullable', async (_, declared, texts, values) => {
    expect(await ingestValues(declared, texts)).toEqual(values)
  })

  it.each<[string, Column, string, string, string]>(
    someOf([
      [
        'number',
        column.number('x', HALF, 0n, 9n, { invalidValue: refuse }),
        '99',
        'secret',
        'is not a number',
      ],
      [
        'integer',
        column.integer('x', 0n, 9n, { invalidValue: refuse }),
        '99',
        '1.5',
        'is not a whole number',
      ],
      ['boolean', column.boolean('x', { invalidValue: refuse }), 'yes', 'secret', 'is not true or false'],
      [
        'category',
        column.category('x', ['a'], { invalidValue: refuse }),
        'a',
        'secret',
        'is not a declared category',
      ],
      [
        'number',
        column.number('x', HALF, 0n, 9n, { nullable: false, invalidValue: refuse }),
        '1',
        '',
        'is missing',
      ],
      [
        'integer',
        column.integer('x', 0n, 9n, { nullable: false, invalidValue: refuse }),
        '1',
        '',
        'is missing',
      ],
      ['boolean', column.boolean('x', { nullable: false, invalidValue: refuse }), '1', '', 'is missing'],
      [
        'category',
        column.category('x', ['a'], { nullable: false, invalidValue: refuse }),
        'a',
        '',
        'is missing',
      ],
      ['string', column.string('x', { nullable: false, invalidValue: refuse }), 'a', '', 'is missing'],
    ]),
  )(
    'cause a refusal of a %s file if declared so, naming the column, the rule and the line',
    async (_, declared, good, bad, rule) => {
      expect(await ingestValues(declared, [good])).toHaveLength(1)
      if (declared.nullable) expect(await ingestValues(declared, [''])).toEqual([null])
      const refusal = await rejectedRefusal(ingestValues(declared, [good, bad, good]))
      expect(refusal.code).toBe('source-does-not-fit')
      expect(refusal.errors).toEqual([
        {
          field: 'columns.0.name',
          rule: `the source has 1 value that ${rule}, in line 3`,
        },
      ])
      expect(refusal.facts).toEqual({})
    },
  )

  it('name all such columns in declared order', async () => {
    const columns = [
      column.boolean('a'),
      column.integer('b', 0n, 1n, { invalidValue: refuse }),
      column.boolean('c', { invalidValue: refuse }),
    ]
    const refusal = await rejectedRefusal(ingestCsv(columns, 'c,a,b\nz,z,z\n'))
    expect(refusal.errors.map(({ field }) => field)).toEqual(['columns.1.name', 'columns.2.name'])
    expect(refusal.message).toMatch(/^columns.1.name: /)
  })

  it('cannot become NULL in a column that is not nullable', async () => {
    const refusal = await rejectedRefusal(ingestValues(column.boolean('x', { nullable: false }), ['1']))
    expect(refusal.code).toBe('invalid-request')
  })
})

describeOnce('files', () => {
  const x = column.integer('x', 0n, 9n)

  it('are read for the declared columns only, in any order', async () => {
    const columns = [column.string('rows'), column.integer('cell', 0n, 9n), column.string('select')]
    const rows = await ingestCsv(columns, '"odd ""name""",select,cell,rows,Rows\n1,a,2,b,c\n')
    expect(rows).toEqual([{ rows: 'b', cell: 2n, select: 'a' }])
  })

  it('may have columns that differ in case only', async () => {
    expect(await ingestCsv([column.string('age')], 'Age,age\n1,2\n')).toEqual([{ age: '2' }])
    const refusal = await rejectedRefusal(ingestCsv([column.string('AGE')], 'Age,age\n1,2\n'))
    expect(refusal.code).toBe('source-does-not-fit')
  })

  it('may be empty', async () => {
    expect(await ingestCsv([x], 'x,y\n')).toEqual([])
    expect(await ingestCsv([x], 'x')).toEqual([])
    expect(await ingestParquet([x], 'SELECT 1 AS x WHERE false')).toEqual([])
  })

  it('have a record for a blank line only if records are one field', async () => {
    expect(await ingestCsv([x], 'x\n1\n\n2\n\n')).toEqual([{ x: 1n }, { x: null }, { x: 2n }, { x: null }])
    expect(await ingestCsv([x], 'x,y\n1,\n\n2,\n\n')).toEqual([{ x: 1n }, { x: 2n }])
  })

  it('may have LF or CRLF line ends and a byte order mark', async () => {
    expect(await ingestCsv([x], '\u{feff}"x",y\r\n1,2\r\n"2","\r\n"\r\n')).toEqual([{ x: 1n }, { x: 2n }])
  })

  it('that lack a declared column are refused with its name', async () => {
    const columns = [x, column.string('other')]
    for (const work of [
      () => ingestCsv(columns, 'x,y\n1,2\n'),
      () => ingestParquet(columns, 'SELECT 1 AS x, 2 AS y'),
    ]) {
      const refusal = await rejectedRefusal(work())
      expect(refusal.code).toBe('source-does-not-fit')
      expect(refusal.errors).toEqual([
        { field: 'columns.1.name', rule: 'the source has no column of this name' },
      ])
    }
  })

  it.each<[string, string | Uint8Array]>([
    ['empty', ''],
    ['ragged', 'x,y\n1,secret\n2\n'],
    ['unterminated', 'x,y\n1,2\n"secret,3\n4,5\n'],
    ['of mixed line ends', 'x,y\n1,secret\r\n3,4\n'],
    ['no UTF-8', Uint8Array.from([...Buffer.from('x,y\nsecret'), 0xff, ...Buffer.from(',2\n')])],
    ['compressed', Uint8Array.from([0x1f, 0x8b, 0x08, 0, 0, 0, 0, 0])],
  ])('are refused with the same message when they are %s', async (_, content) => {
    const before = await readdir(folder.path)
    const sourcePath = nextPath('csv')
    await writeFile(sourcePath, content)
    for (const format of ['csv', 'parquet'] as const) {
      const refusal = await rejectedRefusal(
        ingest({
          sourcePath,
          format,
          columns: [x],
          privacyUnit: { kind: 'row' },
          targetPath: nextPath('duckdb'),
        }),
      )
      expect(refusal.code).toBe('source-unreadable')
      expect(refusal.message).toBe('source: cannot be read in its declared format')
      expect(refusal.cause).toBeUndefined()
      expect(refusal.stack).not.toContain('secret')
    }
    const added = (await readdir(folder.path)).filter((name) => !before.includes(name))
    expect(added.filter((name) => !name.endsWith('.csv'))).toEqual([])
  })

  it('that are missing, or folders, are refused as unreadable', async () => {
    for (const sourcePath of [join(folder.path, 'missing'), folder.path]) {
      const refusal = await rejectedRefusal(
        ingest({
          sourcePath,
          format: 'csv',
          columns: [x],
          privacyUnit: { kind: 'row' },
          targetPath: nextPath('duckdb'),
        }),
      )
      expect(refusal.code).toBe('source-unreadable')
    }
  })

  it('are read by their exact name, even if it looks like a pattern or SQL', async () => {
    const odd = join(folder.path, "o[d]d *{a,b}' $1 key=value")
    await mkdir(odd)
    for (const name of ["a*'?.csv", '[a].csv', 'a b.csv', 'ab.csv']) {
      await writeFile(join(odd, name), `x\n${name.length}\n`)
    }
    for (const name of ["a*'?.csv", '[a].csv', 'a b.csv', 'ab.csv']) {
      const targetPath = nextPath('duckdb')
      await ingest({
        sourcePath: join(odd, name),
        format: 'csv',
        columns: [x],
        privacyUnit: { kind: 'row' },
        targetPath,
      })
      expect(await storedRows(targetPath, [x])).toEqual([{ x: BigInt(name.length) }])
    }
  })

  it('replace an earlier file only once they are complete', async () => {
    const targetPath = nextPath('duckdb')
    await writeFile(targetPath, 'before')
    const sourcePath = nextPath('csv')
    await writeFile(sourcePath, 'x\n1\n')
    await ingest({ sourcePath, format: 'csv', columns: [x], privacyUnit: { kind: 'row' }, targetPath })
    expect(await storedRows(targetPath, [x])).toEqual([{ x: 1n }])
    const left = (await readdir(folder.path)).filter((name) => name.includes('.partial'))
    expect(left).toEqual([])
  })

  it('that cannot be stored fail with a constant message', async () => {
    const sourcePath = nextPath('csv')
    await writeFile(sourcePath, 'x\n1\n')
    const targetPath = join(folder.path, 'no', 'such', 'folder', 'rows.duckdb')
    await expect(
      ingest({ sourcePath, format: 'csv', columns: [x], privacyUnit: { kind: 'row' }, targetPath }),
    ).rejects.toThrow(/^the source could not be stored$/)
  })
})

describe('Parquet', () => {
  const wide = column.integer('x', -(2n ** 53n), 2n ** 53n)
  const tenths = column.number('x', 100_000_000n, -1_000_000n, 1_000_000n)

  it.each<[string, Column, string, StoredValue]>(
    someOf([
      ['TINYINT', wide, '42::TINYINT', 42n],
      ['BIGINT', wide, '9007199254740991::BIGINT', 2n ** 53n - 1n],
      ['BIGINT beyond', wide, '9223372036854775807::BIGINT', 2n ** 53n],
      ['UBIGINT', wide, '18446744073709551615::UBIGINT', 2n ** 53n],
      ['DECIMAL', wide, '12.00::DECIMAL(18,2)', 12n],
      ['DECIMAL that is not whole', wide, '12.50::DECIMAL(18,2)', null],
      ['DECIMAL(38,20)', tenths, '0.04999999999999::DECIMAL(38,20)', 0n],
      ['DECIMAL(38,20), half-way', tenths, '0.05::DECIMAL(38,20)', 1n],
      ['DOUBLE', wide, '42::DOUBLE', 42n],
      ['large DOUBLE', wide, '1e22::DOUBLE', 2n ** 53n],
      ['NaN', wide, "'nan'::DOUBLE", null],
      ['infinity', wide, "'-inf'::DOUBLE", -(2n ** 53n)],
      // The shortest decimal that reads back as this value: 0.15, though the nearest double lies below.
      ['DOUBLE, half-way as written', tenths, '0.15::DOUBLE', 2n],
      ['FLOAT, half-way as written', tenths, '0.15::FLOAT', 2n],
      ['negative DOUBLE, half-way', tenths, '-0.15::DOUBLE', -1n],
      ['small DOUBLE', tenths, '1e-300::DOUBLE', 0n],
      ['VARCHAR', tenths, "' 1.5 '", 15n],
      ['BOOLEAN', tenths, 'true', null],
      ['DATE', wide, "DATE '2020-01-01'", null],
      ['BLOB', wide, "'\\x00\\xff'::BLOB", null],
      ['LIST', wide, '[1]', null],
      ['STRUCT', wide, "{'a': 1}", null],
      ['NULL', wide, 'NULL::INTEGER', null],
      ['BOOLEAN', column.boolean('x'), 'false', false],
      ['INTEGER as boolean', column.boolean('x'), '1', true],
      ['VARCHAR as boolean', column.boolean('x'), "'No'", false],
      ['INTEGER as category', column.category('x', ['1', '2']), '2', 1],
      ['BOOLEAN as category', column.category('x', ['false', 'true']), 'true', 1],
      ['empty VARCHAR', column.string('x'), "''", ''],
      ['DATE as string', column.string('x'), "DATE '2020-01-01'", '2020-01-01'],
      [
        'UUID as string',
        column.string('x'),
        "'00000000-0000-0000-0000-000000000001'::UUID",
        '00000000-0000-0000-0000-000000000001',
      ],
    ]),
  )('%s', async (_, declared, expression, value) => {
    expect(await ingestParquet([declared], `SELECT ${expression} AS x`)).toEqual([{ x: value }])
  })

  it('does not take columns from the names of folders', async () => {
    const odd = join(folder.path, 'x=5')
    await mkdir(odd)
    const sourcePath = join(odd, 'file.parquet')
    await withDuckDb(':memory:', `COPY (SELECT 1 AS y) TO '${sourcePath}' (FORMAT parquet)`)
    const refusal = await rejectedRefusal(
      ingest({
        sourcePath,
        format: 'parquet',
        columns: [wide],
        privacyUnit: { kind: 'row' },
        targetPath: nextPath('duckdb'),
      }),
    )
    expect(refusal.code).toBe('source-does-not-fit')
  })
})

describeOnce('declared limits on the values of a column', () => {
  const ranked = (maxValues: number, given?: Parameters<typeof column.integer>[3]): Column => ({
    ...column.integer('x', 0n, 1_000n, given),
    rankable: { maxValues },
  })
  const selected = (maxValues: number, maxLength: number): Column => ({
    ...column.string('text', { nullable: true }),
    selectable: { maxValues, maxLength },
  })

  it('are kept by a file with as many values as they allow; NULL is not a value', async () => {
    const values = ['1', '2', '2', '3', '']
    const nullable = ranked(3, { nullable: true, invalidValue: { kind: 'null' } })
    expect(await ingestValues(nullable, values)).toEqual([1n, 2n, 2n, 3n, null])
    expect(await ingestValues(selected(2, 3), ['abc', '日本語', 'abc', ''])).toHaveLength(4)
  })

  it.each([
    ['distinct values', ranked(2), ['1', '2', '3'], 'columns.0.rankable.maxValues'],
    ['distinct values, one of them a bound', ranked(2), ['1', '-7', '1001'], 'columns.0.rankable.maxValues'],
    ['texts', selected(2, 3), ['a', 'b', 'c'], 'columns.0.selectable.maxValues'],
    ['characters', selected(2, 3), ['a', 'abcd'], 'columns.0.selectable.maxLength'],
  ])(
    'refuse a file with more %s and name the column and the rule only',
    async (_, declared, values, field) => {
      const content = `${declared.name},line\n${values.map((value, i) => `${value},${i}\n`).join('')}`
      const refusal = await rejectedRefusal(ingestCsv([declared], content))
      expect([refusal.code, refusal.errors.map((error) => error.field)]).toEqual([
        'source-does-not-fit',
        [field],
      ])
      expect(refusal.message).toMatch(/limit/)
      expect(refusal.message.replace(field, '')).not.toMatch(/\d/)
    },
  )

  it('apply to the stored values: those that are clamped or rounded to the same value count once', async () => {
    expect(await ingestValues(ranked(2), ['-5', '0', '-1', '999999', '1000'])).toEqual([
      0n,
      0n,
      0n,
      1000n,
      1000n,
    ])
  })

  it('are about characters and not about bytes', async () => {
    expect(await ingestValues(selected(1, 2), ['😀😀'])).toEqual(['😀😀'])
  })
})

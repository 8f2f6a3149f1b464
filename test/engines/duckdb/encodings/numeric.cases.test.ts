import { DuckDBInstance, LIST, listValue, VARCHAR } from '@duckdb/node-api'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { NumericColumn } from '../../../../src/core/dataset/dataset.ts'
import { printEncoded } from '../../../../src/engines/duckdb/encodings/encode.ts'
import { encodeNumber } from '../../../../src/engines/duckdb/encodings/numeric.ts'
import { someOf } from '../../../cases.ts'
import { mayBeStored } from '../../exact-index.ts'

const ONE = 1_000_000_000n

const grid = (
  type: 'integer' | 'number',
  stepNano: bigint,
  lowerIndex: bigint,
  upperIndex: bigint,
): NumericColumn => ({
  name: 'x',
  type,
  nullable: true,
  invalidValue: { kind: 'null' },
  stepNano,
  lowerIndex,
  upperIndex,
})

const grids: readonly NumericColumn[] = [
  grid('integer', ONE, 0n, 120n),
  grid('integer', ONE, -1_000_000_000n, 1_000_000_000n),
  grid('integer', 5n * ONE, -20n, 20n),
  grid('integer', 7n * ONE, 3n, 200n),
  grid('integer', ONE, -(2n ** 53n), 2n ** 53n),
  grid('number', ONE, -100n, 100n),
  grid('number', ONE / 2n, -20n, 20n),
  grid('number', ONE / 100n, 0n, 100_000_000n),
  grid('number', 3_000_000n, 12n, 300n),
  grid('number', 3_000_000n, -300n, -12n),
  grid('number', 1n, -1_000_000n, 1_000_000n),
  grid('number', 1n, -(2n ** 53n), 2n ** 53n),
  grid('number', 123_456_789n, -50_000n, 50_000n),
  grid('number', 2_500_000_000n, -1000n, 1000n),
  grid('number', 7_000_000_000_000n, -(2n ** 53n), 2n ** 53n),
  grid('number', 10n ** 18n, -1_000_000n, 1_000_000n),
]

const describeGrid = ({ type, stepNano, lowerIndex, upperIndex }: NumericColumn) =>
  `${type} with a step of ${stepNano}e-9 from ${lowerIndex} to ${upperIndex} steps`

const EDGES = [
  '0',
  '-0',
  'nan',
  'inf',
  '-inf',
  '1e308',
  '-1e308',
  '1.7976931348623157e308',
  '5e-324',
  '-5e-324',
]

/** A decimal text: an integer times a power of ten. */
function decimal(units: bigint, fractionDigits: number): string {
  const digits = (units < 0n ? -units : units).toString().padStart(fractionDigits + 1, '0')
  const [whole, fraction] = [
    digits.slice(0, digits.length - fractionDigits),
    digits.slice(digits.length - fractionDigits),
  ]
  return `${units < 0n ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`
}

/** Half steps of a grid, near its bounds, around 0 and in between, as decimals with ten fractional digits. */
function halfSteps({ stepNano, lowerIndex, upperIndex }: NumericColumn, seed: number): readonly bigint[] {
  const between = fc.bigInt(lowerIndex - 3n, upperIndex + 3n)
  const near = (index: bigint) => [-2n, -1n, 0n, 1n].map((offset) => index + offset)
  const indexes = [
    ...[lowerIndex, upperIndex, 0n].flatMap(near),
    ...fc.sample(between, { numRuns: 200, seed }),
  ]
  return indexes.map((index) => (2n * index + 1n) * stepNano * 5n)
}

/** The doubles at and next to a decimal. */
function doublesAround(text: string): readonly number[] {
  const view = new DataView(new ArrayBuffer(8))
  view.setFloat64(0, Number(text))
  const bits = view.getBigInt64(0)
  return [-2n, -1n, 0n, 1n, 2n].map((offset) => {
    view.setBigInt64(0, bits + offset)
    return view.getFloat64(0)
  })
}

/** Doubles of all magnitudes, with all bits random. */
function randomDoubles(numRuns: number, seed: number): readonly number[] {
  return fc.sample(fc.double(), { numRuns, seed })
}

const texts = (column: NumericColumn): readonly string[] => {
  const halves = halfSteps(column, 1).flatMap((half) => [
    ...[-1n, 0n, 1n].map((nudge) => decimal(half + nudge, 10)),
    ...[-1n, 0n, 1n].map((nudge) => decimal(half * 10n ** 15n + nudge, 25)),
    decimal(half, 10).replace(/0+$/, ''),
    `${half}e-10`,
    `+${decimal(half < 0n ? -half : half, 10)}`,
    ...doublesAround(decimal(half, 10)).map(String),
  ])
  const odd = [
    '0x10',
    '1_000',
    '1_000.5',
    '1e5_0',
    ' 1',
    '1 ',
    '\t1',
    '\v1',
    '\f1',
    '1.',
    '.5',
    '.',
    '-',
    '',
    ' ',
    '1e',
    '1d',
    '+-1',
    '--1',
    '1,5',
    '٣',
    '1.5.5',
    '0b1',
    '1\u0000',
    '00000000000000000000012',
    '12.0000000000000000000000001',
    '0.99999999999999999999',
    '9007199254740993',
    '9007199254740993.0',
    '1e22',
    '1e-400',
    '-1e-400',
    '1e400',
    '170141183460469231731687303715884105728',
    ...Array.from({ length: 39 }, (_, digits) => [
      `${'9'.repeat(digits)}.9999999999`,
      `-${'9'.repeat(digits)}.99`,
    ]).flat(),
    '1'.repeat(38),
    '1'.repeat(400),
  ]
  return [...EDGES, ...halves, ...odd, ...randomDoubles(500, 2).map(String)]
}

const doubles = (column: NumericColumn): readonly string[] => [
  ...EDGES,
  ...halfSteps(column, 3).flatMap((half) => doublesAround(decimal(half, 10)).map(String)),
  ...halfSteps(column, 4).flatMap((half) => doublesAround(decimal(half / 5n, 9)).map(String)),
  ...randomDoubles(2_000, 5).map(String),
  ...['9007199254740993', '4503599627370497.5', '1e22', '1e23', '0.1', '2.675', '1.005'],
]

const integers = (column: NumericColumn): readonly string[] => [
  ...['0', '-9223372036854775808', '9223372036854775807', '9007199254740993', '-9007199254740993'],
  ...halfSteps(column, 6).flatMap((half) => [-1n, 0n, 1n].map((nudge) => String(half / 10n ** 10n + nudge))),
]

/** Types of a source's column, with values to try; those that the type cannot hold are NULL. */
const types: readonly (readonly [string, (column: NumericColumn) => readonly string[]])[] = [
  ['VARCHAR', texts],
  ['DOUBLE', doubles],
  ['FLOAT', doubles],
  ['DECIMAL(18,3)', texts],
  ['DECIMAL(38,10)', texts],
  ['TINYINT', integers],
  ['SMALLINT', integers],
  ['INTEGER', integers],
  ['BIGINT', integers],
  ['HUGEINT', (column) => [...integers(column), '170141183460469231731687303715884105727']],
  ['UTINYINT', integers],
  ['USMALLINT', integers],
  ['UINTEGER', integers],
  ['UBIGINT', (column) => [...integers(column), '18446744073709551615']],
  ['UHUGEINT', (column) => [...integers(column), '340282366920938463463374607431768211455']],
  ['BOOLEAN', () => ['true', 'false']],
  ['DATE', () => ['2020-01-01']],
]

let instance: DuckDBInstance
beforeAll(async () => {
  instance = await DuckDBInstance.create(':memory:', { threads: '1' })
})
afterAll(() => instance.closeSync())

/** The stored values of a column, row by row, with the source's value as text. */
async function storedValues(column: NumericColumn, type: string, values: readonly string[]) {
  const connection = await instance.connect()
  try {
    const relation = `(SELECT TRY_CAST(v AS ${type}) AS source0 FROM (SELECT unnest($values) AS v) WHERE v IS NOT NULL)`
    const encoded = printEncoded([encodeNumber(column, { position: 0, name: 'source0', type })], relation)
    const sql = `SELECT CAST(source0 AS VARCHAR), stored0 FROM (${encoded})`
    const result = await connection.runAndReadAll(
      sql,
      { values: listValue([...values]) },
      { values: LIST(VARCHAR) },
    )
    return result.getRows() as unknown as (readonly [string | null, bigint | null])[]
  } finally {
    connection.disconnectSync()
  }
}

/** Types whose values reach the bounds of every grid. The narrower integers are tried on fewer of them. */
const WIDE = ['VARCHAR', 'DOUBLE', 'FLOAT', 'DECIMAL(18,3)', 'BIGINT', 'HUGEINT']

describe.each(types)('a %s is stored as floor(x / step + 1/2) within the bounds', (type, values) => {
  const tried = WIDE.includes(type) ? grids : grids.filter((_, place) => place % 4 === 0)
  it.each(someOf(tried).map((column) => [describeGrid(column), column] as const))('%s', async (_, column) => {
    const stored = await storedValues(column, type, values(column))
    expect(stored.length).toBeGreaterThan(0)
    const isNumber = type !== 'BOOLEAN' && type !== 'DATE'
    const wrong = stored.filter(([text, index]) => !mayBeStored(column, isNumber ? text : null, index))
    expect(wrong).toEqual([])
  })
})

import fc from 'fast-check'
import type { Column, GridColumn, NumericColumn } from '../../src/core/dataset/dataset.ts'
import { columns as queriedColumns } from './arbitraries.ts'
import { isBeyondDoubles } from './exact-index.ts'
import { column } from './fixture.ts'

/*
 * Tables with every type of column and every awkward value, generated once and loaded into each engine.
 */

/** Type of a table's column, in words that each engine translates. */
export type SourceType =
  | 'smallint'
  | 'integer'
  | 'bigint'
  | `decimal(${number},${number})`
  /** Of any size, with NaN and infinities. */
  | 'numeric'
  | 'real'
  | 'double'
  | 'boolean'
  | 'text'
  | `varchar(${number})`
  | `char(${number})`
  | 'uuid'
  | 'date'
  | 'timestamp'
  | 'timestamptz'

/** A column of a table and its declaration. */
export interface SourceColumn {
  readonly column: Column
  readonly type: SourceType
}

/** A table and its rows. Values are texts as in a CSV file; null is NULL. Times with a zone are in UTC and end in `Z`. */
export interface SourceTable {
  readonly name: string
  readonly columns: readonly SourceColumn[]
  readonly rows: readonly (readonly (string | null)[])[]
}

const TYPES: Readonly<Record<string, readonly [SourceType, SourceType, SourceType]>> = {
  small: ['smallint', 'real', 'double'],
  cell: ['decimal(20,2)', 'bigint', 'double'],
  x: ['double', 'decimal(30,10)', 'decimal(18,4)'],
  middling: ['bigint', 'double', 'integer'],
  wide: ['decimal(20,0)', 'bigint', 'decimal(38,3)'],
  day: ['date', 'timestamp', 'timestamptz'],
  hour: ['timestamp', 'timestamptz', 'date'],
  group: ['text', 'char(4)', 'varchar(8)'],
  flag: ['boolean', 'text', 'integer'],
  'Name with spaces': ['text', 'varchar(20)', 'char(12)'],
}

/** Time zones with whole hours, halves and quarters, of the north and the south. */
export const ZONES = ['America/New_York', 'Europe/Berlin', 'Australia/Lord_Howe', 'Asia/Kathmandu', 'UTC']

/** Each half hour around the days on which clocks of the north and the south change. */
export const CLOCK_CHANGES: readonly Date[] = [
  '2024-03-08',
  '2024-03-30',
  '2024-04-05',
  '2024-10-05',
  '2024-10-26',
  '2024-11-02',
].flatMap((day) => Array.from({ length: 4 * 48 }, (_, half) => new Date(Date.parse(day) + half * 1_800_000)))

/** The instants of {@link CLOCK_CHANGES}. */
export function clockTable(): SourceTable {
  const at = column.timestamp('at', '2024-03-08T00:00:00Z', '2024-11-07T00:00:00Z', { step: 1800n })
  return {
    name: 'clock_changes',
    columns: [{ column: at, type: 'timestamptz' }],
    rows: CLOCK_CHANGES.map((instant) => [`${instant.toISOString().slice(0, 19)}Z`]),
  }
}

/** The columns that random queries use, with other types in each of three tables, and an identifier of people. */
export function queriedTables(rows: number): readonly SourceTable[] {
  const identifiers = ['text', 'uuid', 'bigint'] as const
  return identifiers.map((type, variant) => {
    const sources = queriedColumns.map((each) => ({
      column: each,
      type: TYPES[each.name]?.[variant] ?? 'text',
    }))
    const identifier = { column: column.identifier('id', 'drop-row'), type }
    return tableOf(`queried_${variant}`, [identifier, ...sources], rows)
  })
}

const ONE = 1_000_000_000n

/** Columns of which every kind has many grids, bounds, rules and time zones, and every type that fits. */
export function encodedTables(rows: number, { unbounded = true } = {}): readonly SourceTable[] {
  const numbers: readonly Column[] = [
    column.integer('whole', -3n, 12n),
    column.integer('positive', 5n, 12n),
    column.integer('largest', -(2n ** 53n), 2n ** 53n),
    { ...column.integer('coarse', -3n, 12n), stepNano: 1000n * ONE },
    { ...column.integer('sevens', -300n, 1200n), stepNano: 7n * ONE },
    { ...column.integer('billions', -(2n ** 53n), 2n ** 53n), stepNano: ONE * ONE },
    column.integer('replaced', 0n, 100n, { invalidValue: { kind: 'replace', value: 7n } }),
    column.integer('required', 0n, 100n, { nullable: false, invalidValue: { kind: 'replace', value: 9n } }),
    column.number('cents', 10_000_000n, -1000n, 1_000_000n),
    column.number('halves', 500_000_000n, -7n, 9n),
    column.number('quarters', 250_000_000n, 3n, 90n),
    column.number('thirty', 30_000_000n, -100n, 500n),
    column.number('nanos', 1n, -(2n ** 53n), 2n ** 53n),
    column.number('tenths', 100_000_000n, -(2n ** 45n), 2n ** 45n),
    column.number('units', ONE, -10n, 2n ** 31n),
    column.number('hundreds', 100n * ONE, -10n, 2n ** 40n),
  ]
  const numeric: readonly SourceType[] = [
    ...(['smallint', 'integer', 'bigint', 'real', 'double'] as const),
    ...(['decimal(5,0)', 'decimal(15,2)', 'decimal(18,4)', 'decimal(38,10)'] as const),
    ...(unbounded ? (['numeric'] as const) : []),
  ]
  const grids = [
    ['UTC', 1n],
    ['UTC', 60n],
    ['Europe/Berlin', 1n],
    ['Europe/Berlin', 86_400n],
    ['America/St_Johns', 60n],
    ['Asia/Kathmandu', 3601n],
  ] as const
  const times: readonly Column[] = [
    ...[1n, 7n].map((step) => column.date(`days${step}`, '1969-11-05', '2031-03-04', { step })),
    column.date('all_days', '0001-01-01', '9999-12-31'),
    ...grids.map(([timeZone, step], i) =>
      column.timestamp(`seconds${i}`, '1969-03-30T00:00:00Z', '2031-10-26T03:00:00Z', { step, timeZone }),
    ),
    column.timestamp('all_seconds', '0001-01-01T00:00:00Z', '9999-12-31T00:00:00Z', {
      timeZone: 'UTC',
    }),
  ]
  const texts: readonly Column[] = [
    column.category('few', ['a', 'b', "c'", '日本', 'A', 'é']),
    column.category('many', [
      ...'abcdefghijklmnopqrstuvwxyz',
      'é',
      'e\u0301',
      'ä',
      '😀',
      '\\',
      "''",
      'E',
      '1',
      '-7',
    ]),
    column.category('one', ['a'], { nullable: false, invalidValue: { kind: 'replace', value: 0 } }),
    column.string('note'),
    column.string('filled', { nullable: false, invalidValue: { kind: 'replace', value: "it's \\ missing" } }),
  ]
  const tables: readonly (readonly [readonly Column[], readonly SourceType[]])[] = [
    [numbers, numeric],
    [times, ['date', 'timestamp', 'timestamptz']],
    [texts, ['text', 'varchar(20)', 'char(6)', 'smallint', 'bigint', 'uuid']],
    [[column.boolean('truth')], ['boolean', 'text', 'char(6)', 'smallint', 'bigint']],
    [
      [column.identifier('id', 'drop-row')],
      ['text', 'varchar(20)', 'char(6)', 'uuid', 'bigint', 'decimal(15,0)'],
    ],
  ]
  return tables.flatMap(([declared, types]) =>
    types.map((type) =>
      tableOf(
        `encoded_${declared[0]?.type}_${type.replaceAll(/\W/g, '_')}`,
        declared.map((each) => ({ column: each, type })),
        rows,
      ),
    ),
  )
}

function tableOf(name: string, columns: readonly SourceColumn[], rows: number): SourceTable {
  const values = columns.map((each) => anyValueOf(each))
  return { name, columns, rows: fc.sample(fc.tuple(...values), { numRuns: rows, seed: 5 }) }
}

/** Any value of a column: often near a point or the middle of its grid, often awkward, sometimes NULL. */
function anyValueOf({ column: declared, type }: SourceColumn): fc.Arbitrary<string | null> {
  return fc.oneof(
    { weight: 1, arbitrary: fc.constant(null) },
    { weight: 12, arbitrary: presentValue(declared, type) },
  )
}

function presentValue(declared: Column, type: SourceType): fc.Arbitrary<string> {
  switch (declared.type) {
    case 'integer':
    case 'number':
      return numberOf(declared, type)
    case 'date':
    case 'timestamp':
      return timeOf(declared, type)
    case 'boolean':
      return type === 'boolean' || isText(type)
        ? fc.constantFrom(
            ...(type === 'boolean' ? ['true', 'false'] : TRUTHS.filter((text) => fits(text, type))),
          )
        : fc.constantFrom('0', '1', '2', '-1')
    case 'category':
    case 'string':
      return isText(type) ? textOf(declared, type) : identifierOf(type)
    case 'identifier':
      return isText(type) ? identifyingText(type) : identifierOf(type)
  }
}

const TRUTHS = ['true', 'FALSE', 'Yes', 'n', '1', '0', '\tT', 'no\n', 'maybe', 'oui', 'T R']
const TEXTS = [
  'x',
  "'; DROP TABLE rows; --",
  '日本',
  '%',
  'y',
  'é',
  'e\u0301',
  '😀',
  'X',
  'a b',
  '\\',
  '\u00a0',
  'E',
]

function isText(type: SourceType): boolean {
  return type === 'text' || /^(var)?char\(/.test(type)
}

/** True if a text has the length of its type, and does not end in a space that padding would hide. */
function fits(text: string, type: SourceType): boolean {
  const length = Number(/\d+/.exec(type)?.[0] ?? Number.POSITIVE_INFINITY)
  return [...text].length <= length && !(type.startsWith('char') && text.endsWith(' '))
}

function textOf(declared: Column, type: SourceType): fc.Arbitrary<string> {
  const categories = declared.type === 'category' ? declared.categories : []
  const texts = ['', ...TEXTS, ' lead', ...categories, ...categories].filter((text) => fits(text, type))
  return fc.constantFrom(...texts)
}

/** Identifiers of few people with many rows and of many with few; some are missing. */
function identifyingText(type: SourceType): fc.Arbitrary<string> {
  const people = fc.oneof(fc.nat(9), fc.nat(300)).map((person) => `p${person}`)
  const awkward = ['', ' ', '\u2003', '\t', 'é', 'e\u0301', 'P1', 'p1\u00a0', '日本', ' p1', '\u0085']
  return fc.oneof(
    { weight: 9, arbitrary: people },
    { weight: 1, arbitrary: fc.constantFrom(...awkward.filter((text) => fits(text, type))) },
  )
}

function identifierOf(type: SourceType): fc.Arbitrary<string> {
  const numbers = fc.oneof(fc.nat(9), fc.nat(300))
  if (type === 'uuid')
    return numbers.map((person) => `00000000-0000-4000-8000-${person.toString(16).padStart(12, '0')}`)
  return numbers.map((person) => String(person - 7))
}

/**
 * A number as its source's type holds it: the shortest decimal of floating point numbers. Ingestion may take a number of more
 * than 15 digits for a half step, or for a whole number, that doubles cannot tell from it; databases never do. Such numbers
 * are left out here, and ingestion alone is tested with them.
 */
function numberOf(declared: GridColumn, type: SourceType): fc.Arbitrary<string> {
  const { lowerIndex, upperIndex, stepNano } = declared
  const near = fc
    .record({
      index: fc.oneof(
        fc.bigInt(lowerIndex - 2n, upperIndex + 2n),
        fc.constantFrom(lowerIndex - 1n, lowerIndex, upperIndex, upperIndex + 1n, 0n, 1n, -1n),
      ),
      part: fc.constantFrom(0n, 0n, 0n, 2n, 2n, -2n, 1n, 3n),
      // In a tenth of a nano.
      shift: fc.oneof(fc.constantFrom(0n, 0n, 0n, 1n, -1n), fc.bigInt(-1000n, 1000n)),
    })
    .map(({ index, part, shift }) =>
      decimalText(10n * index * stepNano + (10n * part * stepNano) / 4n + shift),
    )
  return fc
    .oneof({ weight: 6, arbitrary: near }, { weight: 1, arbitrary: fc.constantFrom(...AWKWARD) })
    .map((text) => heldBy(text, type))
    .map((text) => (isNumeric(declared) && isBeyondDoubles(declared, text) ? '0' : text))
}

function isNumeric(column: GridColumn): column is NumericColumn {
  return column.type === 'integer' || column.type === 'number'
}

const AWKWARD = [
  ...[
    '0',
    '-0',
    '0.5',
    '-0.5',
    '1.5',
    '2.5',
    '-2.5',
    '0.1',
    '0.3',
    '1e-9',
    '5e-10',
    '-0.0000000005',
    '4.9e-324',
  ],
  ...['-4.9e-324', '1e-320', '1e308', '-1e308', '1e400', '-1e400', 'nan', 'inf', '-inf', '9007199254740993'],
  ...['-9007199254740991', '2147483647', '16777217', '123456789', '0.005', '0.015', '1.005', '1e15', '1e18'],
  ...['32767', '-32768', '99999', '35184372088831', '9223372036854775807', '123456789012345.678'],
]

/** Tenths of a nano as a decimal. */
function decimalText(tenths: bigint): string {
  const digits = (tenths < 0n ? -tenths : tenths).toString().padStart(11, '0')
  return `${tenths < 0n ? '-' : ''}${digits.slice(0, -10)}.${digits.slice(-10)}`
}

/** The value of a type that is nearest to a number, as text. */
function heldBy(text: string, type: SourceType): string {
  const double = text === 'inf' ? Infinity : text === '-inf' ? -Infinity : Number(text)
  if (type === 'double') return floatText(double, false)
  if (type === 'real') return floatText(Math.fround(double), true)
  if (type === 'numeric') return text
  const [precision = 0, scale = 0] =
    DIGITS[type] ?? [...type.matchAll(/\d+/g)].map(([digits]) => Number(digits))
  if (!Number.isFinite(double) && !/^-?1e400$/.test(text)) return '0'
  const most = MOST[type] ?? 10n ** BigInt(precision) - 1n
  const scaled = Math.abs(double) < 1e-30 ? 0n : scaledBy(text, double, scale)
  const held = scaled > most ? most : scaled < -most ? -most : scaled
  const digits = (held < 0n ? -held : held).toString().padStart(scale + 1, '0')
  const whole = digits.slice(0, digits.length - scale)
  return `${held < 0n ? '-' : ''}${whole}${scale === 0 ? '' : `.${digits.slice(-scale)}`}`
}

const DIGITS: Readonly<Partial<Record<SourceType, readonly [number, number]>>> = {
  smallint: [5, 0],
  integer: [10, 0],
  bigint: [19, 0],
}
const MOST: Readonly<Partial<Record<SourceType, bigint>>> = {
  smallint: 2n ** 15n - 1n,
  integer: 2n ** 31n - 1n,
  bigint: 2n ** 63n - 1n,
}

/** The integer part of a decimal times a power of ten. */
function scaledBy(text: string, double: number, scale: number): bigint {
  if (Math.abs(double) > 1e40) return double > 0 ? 10n ** 60n : -(10n ** 60n)
  const [, sign = '', whole = '', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text) ?? []
  if (whole === '') return BigInt(Math.trunc(double)) * 10n ** BigInt(scale)
  const magnitude = BigInt(whole + fraction.padEnd(scale, '0').slice(0, scale))
  return sign === '-' ? -magnitude : magnitude
}

/**
 * The shortest decimal that is nearer to a number than to its neighbours. A decimal exactly between two of them reads
 * back as the even one; some databases print it and others do not.
 */
function floatText(value: number, isReal: boolean): string {
  if (Number.isNaN(value)) return 'nan'
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf'
  if (value === 0) return '0'
  for (let digits = 1; digits < 17; digits += 1) {
    const text = value.toExponential(digits - 1)
    const read = Number(text)
    if ((isReal ? Math.fround(read) : read) !== value) continue
    // Some databases print a decimal that lies exactly between two reals, and others do not. The next real has none.
    if (isReal && isBetweenReals(read, value)) return floatText(realsBeside(value)[1], isReal)
    // Databases choose differently between two decimals of this length at the same distance.
    const other = 2 * value - read
    const isTie = other !== read && Number(other.toExponential(digits - 1)) === other
    return isTie ? '0' : text
  }
  return value.toExponential(16)
}

function isBetweenReals(decimal: number, real: number): boolean {
  return realsBeside(real).some((other) => Math.abs(decimal - real) === Math.abs(decimal - other))
}

/** The reals next to a real that is not 0, towards 0 and away from it. */
function realsBeside(real: number): readonly [number, number] {
  const [bits = 0] = new Int32Array(Float32Array.of(real).buffer)
  const [towards = 0, away = 0] = new Float32Array(Int32Array.of(bits - 1, bits + 1).buffer)
  return [towards, away]
}

/** Times near the bounds of a column, the middle of its steps, changes of clocks, and far away. */
function timeOf(declared: GridColumn, type: SourceType): fc.Arbitrary<string> {
  const unit = declared.type === 'date' ? 86_400n : 1n
  const [step, lower, upper] = [(declared.stepNano / ONE) * unit, declared.lowerIndex, declared.upperIndex]
  const [first, last] = [-62_135_596_800n, 253_402_300_799n]
  const seconds = fc.oneof(
    fc.bigInt(lower * step - 3n * 86_400n, upper * step + 3n * 86_400n),
    fc
      .tuple(fc.bigInt(lower - 2n, upper + 2n), fc.constantFrom(0n, step / 2n, step / 2n + 1n, -1n))
      .map(([index, part]) => index * step + part),
    fc.constantFrom(...CHANGES).chain((change) => fc.bigInt(-7_300n, 7_300n).map((shift) => change + shift)),
    fc.constantFrom(first, last, 0n, -1n, 4_294_967_296n, -4_294_967_296n),
  )
  const micros = fc.oneof(fc.constantFrom(0, 0, 1, 499_999, 500_000, 500_001, 999_999), fc.nat(999_999))
  return fc.tuple(seconds, micros).map(([given, micro]) => {
    const second = given < first ? first : given > last ? last : given
    const text = new Date(Number(second) * 1000).toISOString().slice(0, 19)
    if (type === 'date') return text.slice(0, 10)
    const time = `${text.replace('T', ' ')}.${String(micro).padStart(6, '0')}`
    return type === 'timestamptz' ? `${time}Z` : time
  })
}

/** Local times at which clocks changed: in Berlin, and in St. John's at one minute past midnight. */
const CHANGES = [
  '1980-04-06T02:00:00Z',
  '1996-10-27T03:00:00Z',
  '2024-03-31T02:00:00Z',
  '2024-10-27T03:00:00Z',
  '2010-03-14T00:01:00Z',
  '2010-11-07T00:01:00Z',
  '1986-01-01T00:00:00Z',
].map((time) => BigInt(Date.parse(time)) / 1000n)

/** A table as a CSV file. An empty text is quoted; NULL is not. */
export function csvOf({ columns, rows }: SourceTable): string {
  const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`
  const lines = [
    columns.map(({ column: { name } }) => quoted(name)),
    ...rows.map((row) => row.map((value) => (value === null ? '' : quoted(value)))),
  ]
  return lines.map((line) => `${line.join(',')}\n`).join('')
}

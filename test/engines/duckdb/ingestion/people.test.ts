import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Column } from '../../../../src/core/dataset/dataset.ts'
import { type Ingestion, ingest } from '../../../../src/engines/duckdb/ingestion/ingest.ts'
import { folderForAll } from '../../../folders.ts'
import { rejectedRefusal } from '../../../refusal.ts'
import { column, withDuckDb } from '../../fixture.ts'

const folder = folderForAll()

const KEY = '0123456789abcdef'.repeat(4)
const OTHER_KEY = 'fedcba9876543210'.repeat(4)

/** A row of a source: the fields of a CSV line. An empty field is NULL. */
type Line = readonly string[]

const columns: readonly Column[] = [
  column.identifier('patient', 'drop-row'),
  column.integer('age', -50n, 150n),
  column.category('region', ['North', 'South', 'Größe']),
  column.boolean('emergency'),
  column.string('note'),
]

interface Stored {
  /** The values of the stored columns, as JSON. */
  readonly values: string
  readonly person: number
  readonly rank: number
}

let files = 0

async function ingestLines(lines: readonly Line[], options: Partial<Ingestion> & { maxRows?: number } = {}) {
  files += 1
  const { maxRows = 3, ...given } = options
  const declared = given.columns ?? columns
  const sourcePath = join(folder.path, `${files}.csv`)
  const targetPath = join(folder.path, `${files}.duckdb`)
  const quoted = (field: string) => (field === '' ? '' : `"${field.replaceAll('"', '""')}"`)
  const table = [declared.map(({ name }) => name), ...lines]
  await writeFile(sourcePath, table.map((line) => `${line.map(quoted).join(',')}\n`).join(''))
  const counts = await ingest({
    sourcePath,
    format: 'csv',
    columns: declared,
    privacyUnit: { kind: 'person', column: 'patient', maxRows, key: KEY },
    targetPath,
    ...given,
  })
  return { counts, targetPath, rows: await storedPeople(targetPath, declared) }
}

async function storedPeople(path: string, declared: readonly Column[]): Promise<readonly Stored[]> {
  const names = declared.flatMap(({ type, name }) => (type === 'identifier' ? [] : [`"${name}"`]))
  const rows = await withDuckDb(
    path,
    `SELECT ${['sotto_person', 'sotto_rank', ...names].join(', ')} FROM rows ORDER BY sotto_person, sotto_rank`,
  )
  return rows.map(([person, rank, ...values]) => ({
    person: Number(person),
    rank: Number(rank),
    values: JSON.stringify(values, (_, value) => (typeof value === 'bigint' ? Number(value) : value)),
  }))
}

/** The values of each person's rows in the order of their ranks, as one text per person, sorted. */
function byPerson(rows: readonly Stored[]): readonly string[] {
  const people = new Map<number, string[]>()
  for (const { person, values } of rows) people.set(person, [...(people.get(person) ?? []), values])
  return [...people.values()].map((own) => own.join('\n')).sort()
}

/** Made-up people with very different numbers of rows, some of them identical. */
function sampleLines(people: number, seed: number): readonly Line[] {
  const row = fc.tuple(
    fc.integer({ min: -60, max: 160 }).map(String),
    fc.constantFrom('North', 'South', 'Größe', ''),
    fc.constantFrom('true', 'false', ''),
    fc.oneof(
      fc.constantFrom('', 'a', "it's", '"q"', 'é', 'e\u0301', '1,', 'n,'),
      fc.string({ maxLength: 5 }),
    ),
  )
  const sizes = fc.oneof(
    { weight: 8, arbitrary: fc.integer({ min: 1, max: 4 }) },
    { weight: 1, arbitrary: fc.constant(50) },
  )
  const sampled = fc.sample(
    sizes.chain((size) => fc.array(row, { minLength: size, maxLength: size })),
    { numRuns: people, seed },
  )
  return sampled.flatMap((rows, person) => rows.map((fields) => [`patient ${person}`, ...fields]))
}

describe('the rows of a person', () => {
  it('are at most maxRows, with ranks from 1, under surrogates from 0', async () => {
    const lines = sampleLines(200, 1)
    const { rows, counts } = await ingestLines(lines)
    const ranks = new Map<number, number[]>()
    for (const { person, rank } of rows) ranks.set(person, [...(ranks.get(person) ?? []), rank])
    expect([...ranks.keys()].sort((a, b) => a - b)).toEqual(Array.from({ length: 200 }, (_, i) => i))
    const sizes = new Map<string, number>()
    for (const [patient = ''] of lines) sizes.set(patient, (sizes.get(patient) ?? 0) + 1)
    const kept = [...sizes.values()].map((size) => Math.min(size, 3))
    expect([...ranks.values()].map((own) => own.length).sort()).toEqual(kept.sort())
    for (const own of ranks.values()) expect(own).toEqual(own.map((_, i) => i + 1))
    expect(counts).toMatchObject({
      rowsRead: lines.length,
      rowsWithoutIdentifier: 0,
      rowsStored: rows.length,
      rowsBeyondMaxRows: lines.length - rows.length,
      people: 200,
    })
    expect(counts.rowsBeyondMaxRows).toBeGreaterThan(100)
  })

  it('beyond maxRows are kept apart, up to one more than plausibleRows', async () => {
    const lines = sampleLines(200, 8)
    const unit = { kind: 'person', column: 'patient', maxRows: 3, plausibleRows: 20, key: KEY } as const
    const { targetPath, rows } = await ingestLines(lines, { privacyUnit: unit })
    const ranks = await withDuckDb(
      targetPath,
      'SELECT sotto_person, sotto_rank FROM rows_beyond ORDER BY sotto_person, sotto_rank',
    )
    const sizes = [...Map.groupBy(lines, ([patient]) => patient).values()].map((own) => own.length)
    const beyond = Map.groupBy(ranks, ([person]) => Number(person))
    expect([...beyond.values()].map((own) => own.map(([, rank]) => Number(rank)))).toEqual(
      expect.arrayContaining([[4], Array.from({ length: 18 }, (_, place) => 4 + place)]),
    )
    expect(ranks).toHaveLength(sizes.reduce((sum, size) => sum + Math.max(0, Math.min(size, 21) - 3), 0))
    // Those who exceed keep as many rows as maxRows allows.
    for (const person of beyond.keys()) expect(rows.filter((row) => row.person === person)).toHaveLength(3)
  })

  it('do not depend on any other person', async () => {
    const lines = sampleLines(40, 2)
    const all = byPerson((await ingestLines(lines)).rows)
    for (const left of [0, 7, 39]) {
      const others = lines.filter(([patient]) => patient !== `patient ${left}`)
      const kept = byPerson((await ingestLines(others)).rows)
      expect(kept).toHaveLength(39)
      // Removing one person's texts from the list of all leaves the others.
      const remaining = [...all]
      for (const person of kept) remaining.splice(remaining.indexOf(person), 1)
      expect(remaining).toHaveLength(1)
    }
  })

  it('do not depend on the order of the file', async () => {
    const lines = sampleLines(60, 3)
    const { rows } = await ingestLines(lines)
    const shuffled = fc.sample(fc.shuffledSubarray([...lines], { minLength: lines.length }), {
      numRuns: 2,
      seed: 4,
    })
    for (const order of [lines.toReversed(), ...shuffled])
      expect((await ingestLines(order)).rows).toEqual(rows)
  })

  it('depend on the key', async () => {
    const lines = sampleLines(60, 5)
    const { rows } = await ingestLines(lines)
    const unit = { kind: 'person', column: 'patient', maxRows: 3, key: OTHER_KEY } as const
    const other = await ingestLines(lines, { privacyUnit: unit })
    expect(byPerson(other.rows)).not.toEqual(byPerson(rows))
    expect(other.counts).toEqual((await ingestLines(lines)).counts)
  })

  it('are chosen among all of them equally often', async () => {
    // 300 people with ten rows each, in ascending order. One row of each is kept.
    const lines = Array.from({ length: 3_000 }, (_, i) => [
      `p${Math.floor(i / 10)}`,
      String(i % 10),
      'North',
      'true',
      'x',
    ])
    const { rows } = await ingestLines(lines, { maxRows: 1 })
    const counts = Array.from({ length: 10 }, () => 0)
    for (const { values } of rows) {
      const place = Number(JSON.parse(values)[0])
      counts[place] = (counts[place] ?? 0) + 1
    }
    // Binomial with a mean of 30 and a standard deviation of 5.2: within six deviations.
    for (const count of counts) expect(Math.abs(count - 30)).toBeLessThan(31)
    expect(Math.min(...counts)).toBeGreaterThan(0)
  })

  it('may be identical', async () => {
    const lines = Array.from({ length: 10 }, () => ['one', '30', 'North', 'true', 'x'])
    const { rows } = await ingestLines(lines, { maxRows: 4 })
    expect(rows.map(({ rank }) => rank)).toEqual([1, 2, 3, 4])
    expect(new Set(rows.map(({ values }) => values)).size).toBe(1)
  })

  it('are chosen by their stored values, so that quantised differences do not matter', async () => {
    const exact = sampleLines(30, 6)
    const padded = exact.map(([patient = '', age = '', ...others]) => [patient, ` ${age}.0 `, ...others])
    expect((await ingestLines(padded)).rows).toEqual((await ingestLines(exact)).rows)
  })
})

describe('surrogates', () => {
  it('follow neither the order of the source nor that of the identifiers', async () => {
    const count = 400
    const lines = Array.from({ length: count }, (_, i) => [
      `patient ${String(i).padStart(4, '0')}`,
      '1',
      'North',
      'true',
      String(i),
    ])
    const { rows } = await ingestLines(lines)
    const places = rows.map(({ values }) => Number(JSON.parse(values)[3]))
    expect(places.toSorted((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, i) => i))
    // The rank correlation of a random order has a standard deviation of 1 / sqrt(399) = 0.05.
    const mean = (count - 1) / 2
    const covariance = places.reduce((sum, place, surrogate) => sum + (place - mean) * (surrogate - mean), 0)
    const variance = (count * (count ** 2 - 1)) / 12
    expect(Math.abs(covariance / variance)).toBeLessThan(0.3)
    // Adjacent in the source is adjacent in the surrogates about twice.
    const adjacent = places.filter((place, i) => i > 0 && Math.abs(place - (places[i - 1] ?? 0)) === 1)
    expect(adjacent.length).toBeLessThan(20)
  })

  it('take the place of identifiers, which are in no file', async () => {
    const lines = [['SECRET-identifier-1', '30', 'North', 'true', 'x']]
    const { targetPath } = await ingestLines(lines)
    expect((await readFile(targetPath)).includes('SECRET-identifier')).toBe(false)
    const described = await withDuckDb(targetPath, 'DESCRIBE rows')
    expect(described.map(([name, type]) => [name, type])).toEqual([
      ['age', 'BIGINT'],
      ['region', 'INTEGER'],
      ['emergency', 'BOOLEAN'],
      ['note', 'VARCHAR'],
      ['sotto_person', 'INTEGER'],
      ['sotto_rank', 'INTEGER'],
    ])
  })
})

describe('identifiers', () => {
  const rest = ['30', 'North', 'true', 'x']
  const missing = ['', ' ', '\t', '\u00a0', '\u3000 \u2003', '\u0085', '\v\f']

  it('are compared character by character', async () => {
    const identifiers = ['7', '07', '7 ', ' 7', 'a', 'A', 'é', 'e\u0301', '-', '!', '日本', '\u200b', '٣']
    const { rows, counts } = await ingestLines(identifiers.map((identifier) => [identifier, ...rest]))
    expect(new Set(rows.map(({ person }) => person)).size).toBe(identifiers.length)
    expect(counts.people).toBe(identifiers.length)
  })

  it('are missing if they are empty or white space: such rows are left out by rule', async () => {
    const lines = [...missing, 'one'].map((identifier) => [identifier, ...rest])
    const { counts } = await ingestLines(lines)
    expect(counts).toMatchObject({ rowsRead: 8, rowsWithoutIdentifier: 7, rowsStored: 1, people: 1 })
    expect(counts.invalidValues).toContainEqual({
      column: 'patient',
      values: 7,
      misfits: [{ rule: 'missing', values: 7, unit: 'line', first: [2, 3, 4, 5, 6] }],
    })
  })

  it('may be missing in rows whose other values do not fit', async () => {
    const age = column.integer('age', 0n, 9n, { nullable: false, invalidValue: { kind: 'refuse' } })
    const declared = [column.identifier('patient', 'drop-row'), age]
    const lines = [
      ['one', '1'],
      ['', 'total: 1'],
    ]
    const { counts } = await ingestLines(lines, { columns: declared })
    expect(counts).toMatchObject({ rowsRead: 2, rowsWithoutIdentifier: 1, rowsStored: 1 })
    expect(counts.invalidValues).toMatchObject([
      { column: 'patient', values: 1 },
      { column: 'age', values: 0, misfits: [] },
    ])
    const refusal = await rejectedRefusal(ingestLines([...lines, ['one', '?']], { columns: declared }))
    expect(refusal.errors.map(({ field }) => field)).toEqual(['columns.1.name'])
  })

  it.each(missing)('cause a refusal if one is %j and no rule leaves out its row', async (identifier) => {
    const strict = [column.identifier('patient'), ...columns.slice(1)]
    const refusal = await rejectedRefusal(
      ingestLines(
        ['one', identifier].map((each) => [each, ...rest]),
        { columns: strict },
      ),
    )
    expect(refusal.code).toBe('source-does-not-fit')
    expect(refusal.errors.map(({ field }) => field)).toEqual(['columns.0.name'])
    expect(refusal.message).toContain('dropRow')
  })

  it.each([
    ['BIGINT', '(i % 3)::BIGINT', 3],
    ['DECIMAL(18,0)', '(i % 3)::DECIMAL(18,0)', 3],
    ['UUID', "('00000000-0000-0000-0000-00000000000' || (i % 3))::UUID", 3],
  ])('may be %s in Parquet', async (_, expression, people) => {
    const sourcePath = join(folder.path, `identifiers-${files}.parquet`)
    await withDuckDb(
      ':memory:',
      `COPY (SELECT ${expression} AS patient, i AS age FROM range(9) t(i)) TO '${sourcePath}' (FORMAT parquet)`,
    )
    const { counts } = await ingestLines([], {
      sourcePath,
      format: 'parquet',
      columns: columns.slice(0, 2),
    })
    expect(counts).toMatchObject({ rowsRead: 9, rowsStored: 9, people })
  })

  it.each(['1.5::DOUBLE', "DATE '2020-01-01'", 'true', '[1]'])(
    'that are %s in Parquet are refused',
    async (expression) => {
      const sourcePath = join(folder.path, `identifiers-${files}.parquet`)
      await withDuckDb(
        ':memory:',
        `COPY (SELECT ${expression} AS patient, 1 AS age) TO '${sourcePath}' (FORMAT parquet)`,
      )
      const given = { sourcePath, format: 'parquet', columns: columns.slice(0, 2) } as const
      const refusal = await rejectedRefusal(ingestLines([], given))
      expect(refusal.errors).toEqual([
        { field: 'columns.0.name', rule: 'must be text or whole numbers in the source' },
      ])
    },
  )

  it('must not repeat where each row is a person, with the advice to declare people', async () => {
    const lines = ['one', 'SECRET', 'SECRET'].map((identifier) => [identifier, ...rest])
    const refusal = await rejectedRefusal(ingestLines(lines, { privacyUnit: { kind: 'row' } }))
    expect(refusal.code).toBe('source-does-not-fit')
    expect(refusal.errors.map(({ field }) => field)).toEqual(['columns.0.name'])
    expect(refusal.message).toContain('"person"')
    expect(refusal.message).not.toContain('SECRET')
  })

  it('are not stored where each row is a person', async () => {
    const sourcePath = join(folder.path, 'rows.csv')
    await writeFile(sourcePath, 'patient,age\nSECRET-one,1\n,2\nSECRET-two,3\n')
    const targetPath = join(folder.path, 'rows.duckdb')
    const counts = await ingest({
      sourcePath,
      format: 'csv',
      columns: columns.slice(0, 2),
      privacyUnit: { kind: 'row' },
      targetPath,
    })
    expect(counts).toMatchObject({
      rowsRead: 3,
      rowsWithoutIdentifier: 1,
      rowsBeyondMaxRows: 0,
      rowsStored: 2,
    })
    expect(counts.people).toBeUndefined()
    expect(await withDuckDb(targetPath, 'SELECT * FROM rows ORDER BY 1')).toEqual([[1n], [3n]])
  })
})

describe('columns that are constant per person', () => {
  const constant = columns.map((each) =>
    each.name === 'age' || each.name === 'note' ? { ...each, constantPerPerson: true } : each,
  )

  it('have the value of the row of rank 1, also where that is NULL', async () => {
    const lines = sampleLines(100, 7)
    const free = (await ingestLines(lines)).rows
    const { rows } = await ingestLines(lines, { columns: constant })
    const first = new Map(
      free.filter(({ rank }) => rank === 1).map((row) => [row.person, JSON.parse(row.values)]),
    )
    expect(rows).toEqual(
      free.map(({ values, ...place }) => {
        const [, region, emergency] = JSON.parse(values)
        const [age, , , note] = first.get(place.person)
        return { ...place, values: JSON.stringify([age, region, emergency, note]) }
      }),
    )
    const noted = [...first.values()].map(([, , , note]) => note)
    expect(noted).toContain(null)
    expect(rows).not.toEqual(free)
  })
})

it('columns may have the names that ingestion uses itself', async () => {
  const odd: readonly Column[] = [
    column.identifier('patient'),
    ...['person', 'place', 'digest0', 'identifier', 'kept2', 'own', 'invalid1'].map((name) =>
      column.integer(name, 0n, 9n),
    ),
  ]
  const { rows } = await ingestLines([['a', '1', '2', '3', '4', '5', '6', '7']], { columns: odd })
  expect(rows).toEqual([{ person: 0, rank: 1, values: '[1,2,3,4,5,6,7]' }])
})

it('a dataset may have no column but the identifier', async () => {
  const only = columns.slice(0, 1)
  expect((await ingestLines([['a'], ['a'], ['b']], { columns: only })).rows).toHaveLength(3)
  const counts = (await ingestLines([['a'], ['b']], { columns: only, maxRows: 1 })).counts
  expect(counts).toMatchObject({ rowsStored: 2, people: 2 })
})

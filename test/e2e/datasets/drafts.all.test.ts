import { mkdir, readdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import { DuckDBInstance } from '@duckdb/node-api'
import { beforeAll, expect, test } from 'vitest'
import { testService } from '../service.ts'

const service = testService()
beforeAll(async () => {
  await mkdir(path.join(service.dataDirectory, 'clinic'))
})

const write = (name: string, bytes: string | Buffer) =>
  writeFile(path.join(service.dataDirectory, 'clinic', name), bytes)

async function draft(name: string, showDataHints = false) {
  const source = { kind: 'file', path: `clinic/${name}` }
  const { body } = await service
    .as('custodian')
    .post('/v1/drafts')
    .send({ source, showDataHints })
    .expect(200)
  return body
}

/** Visits whose values do not occur in names or in texts of a draft. */
const VISITS = [
  'patient_id,visited,region,age,cost,emergency,note',
  ...Array.from(
    { length: 60 },
    (_, i) =>
      `P${7000 + (i % 20)},2023-0${1 + (i % 9)}-17,quarter-${i % 3},${31 + (i % 20)},${i}.25,${i % 2 === 0},text ${i} ${'x'.repeat(i)}`,
  ),
].join('\n')

const COLUMNS = [
  { name: 'patient_id', type: 'identifier' },
  { name: 'visited', type: 'date', lower: 'TODO', upper: 'TODO', step: 1, nullable: true },
  { name: 'region', type: 'category', categories: 'TODO', nullable: true },
  { name: 'age', type: 'integer', lower: 'TODO', upper: 'TODO', step: 1, nullable: true },
  { name: 'cost', type: 'number', lower: 'TODO', upper: 'TODO', step: 'TODO', nullable: true },
  { name: 'emergency', type: 'boolean', nullable: true },
  { name: 'note', type: 'string', nullable: true },
]

test('a draft proposes names and types, and asks for everything that would come from the data', async () => {
  await write('visits.csv', VISITS)
  const { declaration, questions, warning, ...body } = await draft('visits.csv')
  expect(declaration).toEqual({
    id: 'visits',
    title: 'Visits',
    source: { kind: 'file', path: 'clinic/visits.csv', format: 'csv' },
    columns: COLUMNS,
    privacyUnit: 'TODO',
    neighbours: 'add-remove',
    budget: { epsilon: 'TODO' },
  })
  expect(warning).toMatch(/nothing in it is protected by noise/)
  expect(questions.map(({ field }: { field: string }) => field)).toEqual([
    ...['columns.1.lower', 'columns.1.upper', 'columns.2.categories', 'columns.3.lower', 'columns.3.upper'],
    ...['columns.4.lower', 'columns.4.upper', 'columns.4.step', 'privacyUnit', 'budget.epsilon'],
  ])
  expect(questions.at(-2).text).toContain('"patient_id"')
  expect(body.dataHints).toBeUndefined()
})

test('values of the data are in the draft only if the custodian asks, and never in the declaration', async () => {
  await write('visits.csv', VISITS)
  const values = ['P70', '2023-0', 'quarter', '31', '59.25', 'text 5']
  const plain = JSON.stringify(await draft('visits.csv'))
  for (const value of values) expect(plain).not.toContain(value)
  const { dataHints, ...rest } = await draft('visits.csv', true)
  expect(JSON.stringify(rest)).toBe(plain)
  expect(dataHints).toEqual(
    expect.arrayContaining([
      { field: 'columns.1.lower', text: 'smallest in the first rows: 2023-01-17' },
      { field: 'columns.2.categories', text: 'in the first rows: ["quarter-0","quarter-1","quarter-2"]' },
      { field: 'columns.3.upper', text: 'largest in the first rows: 50' },
      { field: 'columns.4.upper', text: 'largest in the first rows: 59.25' },
    ]),
  )
  // Identifiers and free text have no hints.
  expect(JSON.stringify(dataHints)).not.toMatch(/P70|text \d/)
  expect(service.logLines.join('')).not.toMatch(/quarter|P70/)
})

test('texts that look like missing values are proposed as such, and do not hide the type of a column', async () => {
  const rows = Array.from({ length: 60 }, (_, i) =>
    i % 6 === 0
      ? `NA,-,?,north-${i % 3},-`
      : `${i},${i}.5,2023-01-0${1 + (i % 9)},${i % 5 === 0 ? 'n/a' : 'south'},x`,
  )
  await write('marked.csv', ['visits,cost,seen,region,mark', ...rows].join('\n'))
  const { declaration, notes } = await draft('marked.csv')
  expect(declaration.source.csv).toEqual({ nullValues: ['NA', 'n/a', '-', '?'] })
  expect(declaration.columns.map(({ type }: { type: string }) => type)).toEqual([
    ...['integer', 'number', 'date', 'category', 'category'],
  ])
  expect(notes).toContainEqual({
    field: 'source.csv.nullValues',
    text: expect.stringContaining('Remove those that are values'),
  })
})

test('declared null values are missing, and public', async () => {
  await write('marked.csv', 'patient_id,age\nNA,30\na,NULL\nb,\nc,40\n')
  const register = (csv: object) =>
    service.register({
      id: 'marked',
      title: 'Marked',
      source: { kind: 'file', path: 'clinic/marked.csv', format: 'csv', csv },
      columns: [
        { name: 'patient_id', type: 'identifier', onInvalidValue: 'dropRow' },
        { name: 'age', type: 'integer', lower: 0, upper: 120, nullable: true, onInvalidValue: 'refuse' },
      ],
      privacyUnit: { kind: 'person', column: 'patient_id', maxRows: 3 },
      neighbours: 'add-remove',
      budget: { epsilon: 1 },
    })
  const wrong = [{ nullValues: ['a,b'] }, { nullValues: ['"'] }, { delimiter: 'space', nullValues: ['a b'] }]
  for (const csv of wrong)
    expect((await register(csv).expect(400)).body.errors).toMatchObject([
      { field: 'source.csv.nullValues.0' },
    ])
  const registered = await register({ nullValues: ['NA', 'NULL'] }).expect(201)
  expect(registered.body.ingestion).toMatchObject({ rowsRead: 4, people: 3 })
  const { body } = await service.as('analyst').get('/v1/datasets/marked').expect(200)
  expect(body.source.csv).toEqual({ nullValues: ['NA', 'NULL'] })
})

test('a registration names every open question of a draft', async () => {
  await write('visits.csv', VISITS)
  const { declaration, questions } = await draft('visits.csv')
  const register = (body: object) => service.register(body)
  const { body } = await register(declaration).expect(400)
  expect(body.code).toBe('invalid-request')
  const fields = (list: readonly { field: string }[]) => new Set(list.map(({ field }) => field))
  expect(fields(body.errors)).toEqual(fields(questions))
  expect(body.errors[0].rule).toMatch(/open question.*not from the data/)

  const answers: Record<string, object> = {
    visited: { lower: '2023-01-01', upper: '2023-12-31' },
    region: { categories: ['quarter-0', 'quarter-1', 'quarter-2', 'TODO'] },
    age: { lower: 0, upper: 120 },
    cost: { lower: 0, upper: 100, step: 0.25 },
  }
  const answered = {
    ...declaration,
    // A text that a title or a category may have is no open question there.
    title: 'TODO',
    columns: declaration.columns.map((column: { name: string }) => ({ ...column, ...answers[column.name] })),
    privacyUnit: { kind: 'person', column: 'patient_id', maxRows: 3 },
    budget: { epsilon: 1 },
  }
  const registered = await register(answered).expect(201)
  expect(registered.body.ingestion).toMatchObject({ rowsRead: 60, people: 20 })
})

test('the draft of an upload belongs to its custodian', async () => {
  const sent = await service
    .as('custodian')
    .post('/v1/sources')
    .attach('file', gzipSync(VISITS), 'Visits 2023_final.csv.gz')
    .expect(201)
  const source = { kind: 'upload', upload: sent.body.id }
  const { body } = await service.as('custodian').post('/v1/drafts').send({ source }).expect(200)
  expect(body.declaration).toMatchObject({
    id: 'visits-2023-final',
    title: 'Visits 2023 final',
    source: { ...source, format: 'csv' },
    columns: COLUMNS,
  })
  const unknown = { kind: 'upload', upload: 'f'.repeat(32) }
  const refused = await service.as('custodian').post('/v1/drafts').send({ source: unknown }).expect(422)
  expect(refused.body).toMatchObject({ code: 'source-refused', errors: [{ field: 'source.upload' }] })
})

const FORM = [
  { name: 'a', type: 'string' },
  { name: 'b', type: 'number', lower: 0, upper: 100, step: 0.25 },
  { name: 'd', type: 'date', lower: '2023-01-01', upper: '2024-12-31' },
]

test.each([
  [
    'semicolons, decimal commas, German dates',
    'form.csv',
    'a;b;d\nx;1,5;31.12.2023\ny;22,75;01.02.2024\n',
    { delimiter: ';', decimal: ',' },
  ],
  ['tabs', 'form.tsv', 'a\tb\td\nx\t1.5\t31.12.2023\ny\t2.5\t01.02.2024\n', { delimiter: 'tab' }],
  ['spaces', 'form.txt', 'a b d\nx 1.5 31.12.2023\ny 2.5 01.02.2024\n', { delimiter: 'space' }],
  [
    'several spaces, at the ends of lines as well',
    'form.txt',
    '  a   b         d\n  x 1.5  31.12.2023  \nyyy  22.5 01.02.2024\n',
    { delimiter: 'space' },
  ],
  [
    'several spaces, some in quotes',
    'form.txt',
    'a        b          d\n"x  y"   1.5 31.12.2023\n"z"     22.5 01.02.2024\n',
    { delimiter: 'space' },
  ],
  [
    'bars and single quotes',
    'bars.csv',
    "a|b|d\n'x|y'|1.5|31.12.2023\nz|2.5|01.02.2024\n",
    { delimiter: '|', quote: "'" },
  ],
  ['quotes in values', 'quoted.csv', 'a,b,d\n5" x,1.5,31.12.2023\n7",2.5,01.02.2024\n', { quote: 'none' }],
  ['no header', 'bare.csv', 'x,1.5,31.12.2023\ny,2.5,01.02.2024\nz,3.5,02.02.2024\n', { header: false }],
  ['gzip', 'form.csv.gz', gzipSync('a,b,d\nx,1.5,31.12.2023\ny,2.5,01.02.2024\n'), undefined],
] as const)(
  'the form of the file is found, and fits its registration: %s',
  async (form, file, bytes, csv) => {
    await write(file, Buffer.from(bytes))
    const { declaration } = await draft(file)
    expect(declaration.source.csv).toEqual(csv)
    const names = form === 'no header' ? ['column1', 'column2', 'column3'] : ['a', 'b', 'd']
    expect(declaration.columns).toMatchObject([
      { name: names[0] },
      { name: names[1], type: 'number' },
      { name: names[2], type: 'date', dateFormat: 'DD.MM.YYYY' },
    ])
    const columns = declaration.columns.map((column: object, i: number) => ({
      ...column,
      ...FORM[i],
      name: names[i],
    }))
    columns[0] = { name: names[0], type: 'string' }
    const answered = { ...declaration, columns, privacyUnit: { kind: 'row' }, budget: { epsilon: 1 } }
    const register = service.as('custodian').post('/v1/datasets?dryRun=true').send(answered)
    const { ingestion } = (await register.expect(200)).body
    expect(ingestion.rowsRead).toBe(form === 'no header' ? 3 : 2)
    expect(ingestion.invalidValues.map(({ values }: { values: number }) => values)).toEqual([0, 0, 0])
  },
)

test('dates and times of one file may be spelled in two ways', async () => {
  await write('spellings.csv', 'd,at\n02.01.2023,2024-01-01T10:00:00\n16.01.2023,2024-01-01T11:00:00\n')
  const { declaration } = await draft('spellings.csv')
  expect(declaration.columns[0]).toMatchObject({ type: 'date', dateFormat: 'DD.MM.YYYY' })
  expect(declaration.columns[1].type).toBe('timestamp')
  expect(declaration.columns[1]).not.toHaveProperty('dateFormat')
})

test.each([
  ['latin-1', Buffer.from('Stra\u00dfe,Alter\nGl\u00fcck,30\nM\u00fcller,31\n', 'latin1')],
  ['utf-16', Buffer.from('\ufeffStra\u00dfe,Alter\nGl\u00fcck,30\nM\u00fcller,31\n', 'utf16le')],
] as const)('the encoding is found: %s', async (encoding, bytes) => {
  await write('encoded.csv', bytes)
  const { declaration } = await draft('encoded.csv')
  expect(declaration.source.csv).toEqual({ encoding })
  expect(declaration.columns).toMatchObject([{ name: 'Stra\u00dfe' }, { name: 'Alter', type: 'integer' }])
})

test('a wide file is drafted with as many columns as a declaration can have', async () => {
  const names = Array.from({ length: 2_000 }, (_, i) => `c${i}`)
  const row = (i: number) => names.map((_, column) => (column + i) % 60).join(',')
  await write(
    'wide.csv',
    `${[names.join(','), ...Array.from({ length: 60 }, (_, i) => row(i))].join('\n')}\n`,
  )
  const { declaration, notes, dataHints } = await draft('wide.csv', true)
  expect(declaration.columns.map(({ name }: { name: string }) => name)).toEqual(names.slice(0, 200))
  const text = '"c200" and 1799 more are left out: there are more than 200 columns.'
  expect(notes.filter(({ field }: { field: string }) => field === 'columns')).toEqual([
    { field: 'columns', text },
  ])
  expect(dataHints).toContainEqual({ field: 'columns.199.upper', text: 'largest in the first rows: 59' })
})

test('a file with more columns than a draft can read is refused with that reason', async () => {
  const row = Array.from({ length: 20_000 }, (_, i) => i).join(',')
  await write('wider.csv', `${row}\n${row}\n${row}\n`)
  const source = { kind: 'file', path: 'clinic/wider.csv' }
  const { body } = await service.as('custodian').post('/v1/drafts').send({ source }).expect(422)
  expect(body).toMatchObject({ code: 'source-unreadable', errors: [{ field: 'source' }] })
  expect(body.errors[0].rule).toBe('has too many columns for a draft; write the declaration by hand')
})

test('a long file is read at its beginning only', async () => {
  const row = `7,${'z'.repeat(90)}\n`
  await write('long.csv', `number,word\n${row.repeat(200_000)}this line is no record at all`)
  const { declaration } = await draft('long.csv')
  expect(declaration.columns).toMatchObject([
    { name: 'number', type: 'integer' },
    { name: 'word', type: 'category' },
  ])
})

test('Parquet: types come from the file; columns that no type can hold are left out', async () => {
  const file = path.join(service.dataDirectory, 'clinic', 'typed.parquet')
  const instance = await DuckDBInstance.create()
  const connection = await instance.connect()
  await connection.run(`COPY (SELECT uuid() AS person, i::SMALLINT AS age, i * 0.5 AS price, DATE '2023-05-17' + i::INTEGER AS
    day, TIMESTAMPTZ '2023-05-17 10:00:00+00' AS moment, i % 2 = 0 AS flag, 'kind ' || (i % 2) AS kind, [i] AS list
    FROM range(40) AS t(i)) TO '${file}'`)
  connection.disconnectSync()
  instance.closeSync()
  const { declaration, notes } = await draft('typed.parquet')
  expect(declaration.source).toEqual({ kind: 'file', path: 'clinic/typed.parquet', format: 'parquet' })
  expect(declaration.columns.map(({ name, type }: Record<string, string>) => [name, type])).toEqual([
    ...[
      ['person', 'identifier'],
      ['age', 'integer'],
      ['price', 'number'],
      ['day', 'date'],
    ],
    ...[
      ['moment', 'timestamp'],
      ['flag', 'boolean'],
      ['kind', 'category'],
    ],
  ])
  expect(declaration.columns[4]).toMatchObject({ step: 'TODO', timeZone: 'TODO' })
  expect(notes).toContainEqual({ field: 'columns', text: '"list" is left out: its type is BIGINT[].' })
})

test('what is no table is refused without a word about its contents, and nothing stays behind', async () => {
  for (const [name, bytes] of [
    ['broken.parquet', 'PAR1 secret'],
    ['empty.csv', ''],
    ['binary.csv', Buffer.from([0x1f, 0x8b, 1, 2, 3])],
  ] as const) {
    await write(name, bytes)
    const source = { kind: 'file', path: `clinic/${name}` }
    const { body } = await service.as('custodian').post('/v1/drafts').send({ source }).expect(422)
    expect(body, name).toMatchObject({ code: 'source-unreadable', errors: [{ field: 'source' }] })
    expect(JSON.stringify(body)).not.toContain('secret')
  }
  for (const file of ['../x.csv', '/etc/passwd', 'clinic/missing.csv', 'custodian.key']) {
    const source = { kind: 'file', path: file }
    expect((await service.as('custodian').post('/v1/drafts').send({ source }).expect(422)).body.code).toBe(
      'source-refused',
    )
  }
  const temporary = await readdir(path.join(service.dataDirectory, 'temporary'), { recursive: true })
  expect(temporary.filter((name) => name.includes('draft-'))).toEqual([])
})

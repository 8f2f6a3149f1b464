import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { startTestService, type TestService } from '../e2e/service.ts'
import { createFakeDatabase } from '../engines/tables/fake-database.ts'
import { command, runIn } from './command-folder.ts'

let service: TestService
let folder = ''
beforeAll(async () => {
  service = await startTestService({ SOTTO_UPLOAD_MAX_BYTES: '1000000' })
  folder = await mkdtemp(path.join(tmpdir(), 'sotto-client-'))
})
afterAll(async () => {
  await service.close()
  await rm(folder, { recursive: true })
})

const inFolder = (name: string) => path.join(folder, name)

/** Runs a command against the service, as a custodian. */
async function sotto(args: readonly string[], changes: Record<string, string> = {}) {
  const environment = { SOTTO_URL: service.url, SOTTO_KEY: service.keyOf('custodian'), ...changes }
  const ended = await runIn(folder, process.execPath, [command, ...args], { environment })
  for (const key of [service.keyOf('custodian'), service.keyOf('analyst')])
    expect(ended.output + ended.errors).not.toContain(key)
  return ended
}

const VISITS = [
  'patient_id,region,age',
  ...Array.from({ length: 40 }, (_, i) => `p${i % 9},r${i % 2},${20 + i}`),
]

const DECLARATION = `
# The declaration of the tests.
id: visits
title: Visits
source: {kind: upload, upload: visits.csv, format: csv}
columns:
  - {name: patient_id, type: identifier}
  - {name: region, type: category, categories: [r0, r1]}
  - {name: age, type: integer, lower: 0, upper: 120}
privacyUnit: {kind: person, column: patient_id, maxRows: 3}
neighbours: add-remove
budget: {epsilon: 2}
`

test('from a file to its registration: draft, answers, dry run, register', async () => {
  await writeFile(inFolder('visits.csv'), VISITS.join('\n'))
  const drafted = await sotto(['draft', 'visits.csv'])
  expect(drafted).toMatchObject({ code: 0, errors: '' })
  expect(drafted.output).toMatch(/^# Everything in a declaration is public/)
  expect(drafted.output).toContain('lower: TODO # Smallest plausible value of age.')
  expect(drafted.output).not.toContain('DATA, do not publish')
  const declaration = parse(drafted.output)
  expect(declaration.source).toEqual({ kind: 'upload', upload: 'visits.csv', format: 'csv' })
  expect((await service.as('custodian').get('/v1/sources')).body.sources).toEqual([])

  await mkdir(inFolder('declarations'))
  const written = ['draft', 'visits.csv', '--show-data-hints', '--output', 'declarations/visits.yaml']
  expect(await sotto(written)).toMatchObject({ code: 0, output: '', errors: '' })
  const hinted = await readFile(inFolder('declarations/visits.yaml'), 'utf8')
  expect(hinted).toContain('# DATA, do not publish: smallest in the first rows: 20')
  expect(parse(hinted)).toEqual({
    ...declaration,
    source: { ...declaration.source, upload: '../visits.csv' },
  })
  expect((await sotto(written)).errors).toBe(
    '--output: declarations/visits.yaml exists already; nothing was written\n',
  )

  const open = await sotto(['register', 'declarations/visits.yaml'])
  expect(open).toMatchObject({ code: 1, output: '' })
  expect(open.errors).toMatch(
    /^invalid-request: .*\n {2}columns\.1\.categories \(region\): is an open question/,
  )

  await writeFile(inFolder('visits.yaml'), DECLARATION)
  const tried = await sotto(['register', 'visits.yaml', '--dry-run'])
  expect(tried).toMatchObject({ code: 0, errors: '' })
  expect(tried.output).toMatch(/^visits: everything fits; nothing was published\n/)
  expect(tried.output).toMatch(/^40 +rows read$/m)
  expect(tried.output).toMatch(/^9 +people$/m)
  await service.as('custodian').get('/v1/datasets/visits').expect(404)

  await writeFile(inFolder('narrow.yaml'), DECLARATION.replace('[r0, r1]', '[r0], nullable: true'))
  const narrow = await sotto(['register', 'narrow.yaml', '--dry-run'])
  expect(narrow.output).toMatch(
    /^visits: the declaration can be registered, but some values do not fit it; nothing/,
  )
  expect(narrow.output).toMatch(/^region +20 +not-a-category +line 3, 5, 7, 9, 11$/m)
  expect(narrow.output).toContain('They count as missing')
  expect(narrow.output).toContain('a probability of at most 98.3%')

  const registered = await sotto(['register', 'visits.yaml'])
  expect(registered.output).toMatch(/^visits: registered as version 1\n/)
  await service.as('analyst').get('/v1/datasets/visits').expect(200)
  expect((await service.as('custodian').get('/v1/sources')).body.sources).toEqual([])
  expect(await sotto(['register', 'visits.yaml'])).toMatchObject({ code: 0, output: registered.output })
})

test('files of a joined source are uploaded together, for a registration and for its versions', async () => {
  const made = ['population', '--rows', '60', '--visits', '300', '--seed', 's', '--output', 'clinic']
  expect(await sotto(made)).toMatchObject({ code: 0, errors: '', output: '' })
  const table = (name: string) => `    ${name}: {kind: upload, upload: clinic/${name}.csv, format: csv}`
  const declaration = (beds: string) => `
id: clinic
title: Clinic
synthetic: true
source:
  kind: joined
  tables:
${['visits', 'patients', 'hospitals'].map(table).join('\n')}
  joins:
    - {from: visits.patient, to: patients.id}
    - {from: visits.hospital, to: hospitals.code, public: true}
columns:
  - {name: patients.id, type: identifier}
  - {name: hospitals.beds, type: integer, lower: 0, upper: 1000${beds}}
privacyUnit: {kind: person, column: patients.id, maxRows: 50}
neighbours: add-remove
budget: {epsilon: 2}
leftOut: {epsilon: 0}
`
  const drafted = await sotto(['draft', ...['visits', 'patients'].map((name) => `clinic/${name}.csv`)])
  expect(drafted).toMatchObject({ code: 0, errors: '' })
  expect(parse(drafted.output)).toMatchObject({
    source: {
      kind: 'joined',
      tables: { visits: { upload: 'clinic/visits.csv' }, patients: { upload: 'clinic/patients.csv' } },
      joins: [{ from: 'TODO', to: 'TODO' }],
    },
    privacyUnit: 'TODO',
  })
  expect(drafted.output).toContain('  - name: patients.age\n    type: integer\n    lower: TODO # Smallest')
  await writeFile(inFolder('drafted.yaml'), drafted.output)
  expect((await sotto(['register', 'drafted.yaml'])).errors).toContain('source.joins.0.from: ')
  expect((await sotto(['draft', 'clinic/visits.csv', './clinic/visits.csv'])).code).toBe(2)

  await writeFile(inFolder('clinic.yaml'), declaration(''))
  expect((await sotto(['register', 'clinic.yaml'])).errors).toMatch(
    /columns\.1\.name \(hospitals\.beds\): the source has \d+ values that are missing, .* of visits\n/,
  )
  await writeFile(inFolder('clinic.yaml'), declaration(', nullable: true'))
  const registered = await sotto(['register', 'clinic.yaml'])
  expect(registered.output).toMatch(/^clinic: registered as version 1\n/)
  expect(registered.output).toMatch(/^59 +people$/m)
  expect(registered.output).toMatch(/^visits\.patient +patients\.id +0 +[1-9]\d*$/m)
  expect((await sotto(['publish', 'clinic', 'clinic.yaml'])).output).toMatch(/^clinic: version 1\n/)
  const patients = await readFile(inFolder('clinic/patients.csv'), 'utf8')
  await writeFile(inFolder('clinic/patients.csv'), `${patients}P1,North,30\n`)
  const published = await sotto(['publish', 'clinic', 'clinic.yaml'])
  expect(published.output).toMatch(/^clinic: version 2\n/)
  expect(published.output).toMatch(/^60 +people$/m)
  expect((await service.as('custodian').get('/v1/sources')).body.sources).toEqual([])
})

test('datasets, budget, grant and withdraw, as tables and as JSON', async () => {
  const declaration = {
    id: 'people',
    title: 'Made-up people',
    source: { kind: 'population', rows: 100, seed: 's' },
    privacyUnit: { kind: 'row' },
    neighbours: 'change-one',
    budget: { epsilon: 1, delta: 1e-6 },
  }
  await writeFile(inFolder('people.json'), JSON.stringify(declaration))
  expect((await sotto(['register', 'people.json'])).code).toBe(0)
  const listed = await sotto(['datasets'])
  expect(listed.output).toMatch(/^id +version +state +registered +privacy unit/)
  expect(listed.output).toMatch(
    /^people +1 +open +\d{4}-\d\d-\d\d +row +change-one +5 +made up +Made-up people$/m,
  )
  const { body } = await service.as('custodian').get('/v1/datasets')
  expect(JSON.parse((await sotto(['datasets', '--json'])).output)).toEqual(body)

  expect((await sotto(['budget', 'people'])).output).toMatch(/^remaining +1 +0\.000001$/m)
  const granted = await sotto(['grant', 'people', '--epsilon', '0.25', '--reason', 'A second study.'])
  expect(granted.output).toMatch(/^cap +1\.25 +0\.000001$/m)
  const report = await service.as('custodian').get('/v1/datasets/people/budget')
  expect(JSON.parse((await sotto(['budget', 'people', '--json'])).output)).toEqual(report.body)

  const next = { ...declaration, source: { ...declaration.source, seed: 'next' } }
  await writeFile(inFolder('people.json'), JSON.stringify(next))
  const tried = await sotto(['publish', 'people', 'people.json', '--dry-run'])
  expect(tried.output).toMatch(/^people: everything fits; nothing was published\n/)
  expect((await sotto(['publish', 'people', 'people.json'])).output).toMatch(/^people: version 2\n/)
  const same = await sotto(['publish', 'people', '--dry-run'])
  expect(same.output).toMatch(/^people: everything fits, as in the present version; nothing was published\n/)
  expect((await sotto(['versions', 'people'])).output).toMatch(/^2 +\S+Z +100\n1 +\S+Z +100$/m)
  expect((await sotto(['publish', 'other', 'people.json'])).code).toBe(2)

  expect(await sotto(['withdraw', 'people'])).toMatchObject({
    code: 0,
    output: 'people: withdrawn; its budget remains\n',
  })
  await service.as('custodian').get('/v1/datasets/people').expect(404)
})

test('a refusal prints the code, the fields and the rules, with exit code 1', async () => {
  expect(await sotto(['budget', 'never'])).toMatchObject({
    code: 1,
    output: '',
    errors: expect.stringMatching(/^unknown-dataset: There is no dataset never/),
  })
  const wrong = DECLARATION.replace('upper: 120', 'upper: -1').replace('id: visits', 'id: Visits')
  await writeFile(inFolder('wrong.yaml'), wrong)
  await writeFile(inFolder('visits.csv'), VISITS.join('\n'))
  const refused = await sotto(['register', 'wrong.yaml'])
  expect(refused).toMatchObject({ code: 1, output: '' })
  expect(refused.errors).toContain('\n  id: must be 1 to 63 lower-case letters')
  expect((await sotto(['datasets'], { SOTTO_KEY: 'no-such-key' })).errors).toMatch(/^unauthenticated: /)
  const analyst = { SOTTO_KEY: service.keyOf('analyst') }
  expect((await sotto(['withdraw', 'visits'], analyst)).errors).toMatch(/^forbidden: /)
  // Far more than the service reads before it answers.
  await writeFile(inFolder('large.csv'), Buffer.alloc(50_000_000, 'x'))
  expect((await sotto(['draft', 'large.csv'])).errors).toMatch(/^upload-too-large: /)
})

test('wrong usage ends with exit code 2', async () => {
  await writeFile(inFolder('broken.yaml'), 'id: [')
  await writeFile(inFolder('list.yaml'), '- id')
  await writeFile(inFolder('absent.yaml'), DECLARATION.replace('visits.csv', 'absent.csv'))
  for (const [args, message, changes] of [
    [['register'], "missing required argument 'declaration'", {}],
    [['register', 'missing.yaml'], 'missing.yaml', {}],
    [['register', 'broken.yaml'], 'broken.yaml: ', {}],
    [['register', 'list.yaml'], 'list.yaml: must hold the fields of a declaration', {}],
    [['register', 'absent.yaml'], 'absent.csv: is not a file on this machine', {}],
    [['draft'], 'name a file on this machine', {}],
    [['grant', 'visits', '--epsilon', 'much', '--reason', 'x'], '--epsilon: must be a decimal number', {}],
    [['grant', 'visits', '--epsilon', '1'], "required option '--reason <text>' not specified", {}],
    [['datasets'], 'SOTTO_KEY: must be the API key', { SOTTO_KEY: '' }],
    [['datasets'], 'SOTTO_KEY: must hold one API key', { SOTTO_KEY: 'two keys' }],
    [['datasets', '--url', 'ftp://x'], '--url: must be an http(s) URL', {}],
  ] as const) {
    const ended = await sotto(args, changes)
    expect(ended, args.join(' ')).toMatchObject({
      code: 2,
      output: '',
      errors: expect.stringContaining(message),
    })
    expect(ended.errors).not.toMatch(/\n\s+at /)
  }
})

test('a service that cannot be reached, or is something else, ends with exit code 3', async () => {
  const other = createServer((_request, response) => response.writeHead(200).end('<html>'))
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', () => resolve()))
  const { port } = other.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  expect(await sotto(['datasets', '--url', url])).toMatchObject({
    code: 3,
    errors: `${url} does not answer as Sotto does: the response is not JSON\n`,
  })
  await new Promise((resolve) => other.close(resolve))
  expect(await sotto(['datasets', '--url', url])).toMatchObject({
    code: 3,
    errors: `no response from the service at ${url} (ECONNREFUSED)\n`,
  })
})

test('the key may be in a file; a service in the same environment ignores the variables of the client', async () => {
  await writeFile(inFolder('custodian.key'), `${service.keyOf('custodian')}\n`)
  expect((await sotto(['datasets', '--key-file', 'custodian.key'], { SOTTO_KEY: '' })).code).toBe(0)
  expect((await sotto(['key', 'list'], { SOTTO_DATA_DIR: service.dataDirectory })).code).toBe(0)
})

test('the name of an upload is the name of the file', async () => {
  const name = 'Größe "2023".csv'
  await writeFile(inFolder(name), VISITS.join('\n'))
  const { output } = await sotto(['draft', name, '--json'])
  const { declaration } = JSON.parse(output)
  expect(declaration).toMatchObject({ title: 'Größe  2023', source: { upload: name } })
})

test('datasets are listed with their state: open, unreachable, or suspended with the reason', async () => {
  const database = await createFakeDatabase()
  const connections =
    'lake: {engine: postgres, host: 127.0.0.1, user: u, password: p, database: d, schema: main}'
  const other = await startTestService(
    { SOTTO_CONNECTIONS: 'connections.yaml' },
    { parts: { tableEngines: () => database.engine }, files: { 'connections.yaml': connections } },
  )
  try {
    for (const id of ['one', 'two']) {
      await database.run(`CREATE TABLE ${id} AS SELECT 1 AS age`)
      const registration = {
        ...{ id, title: 'Ages', privacyUnit: { kind: 'row' }, neighbours: 'add-remove', timing: 'off' },
        source: { kind: 'table', connection: 'lake', table: id },
        columns: [{ name: 'age', type: 'integer', lower: 0, upper: 120 }],
        budget: { epsilon: 1 },
      }
      await other.register(registration).expect(201)
    }
    await database.run('ALTER TABLE two ALTER age TYPE BIGINT')
    await other.ask('two', { kind: 'count', epsilon: 0.1 }).expect(500)
    const listed = (role: 'custodian' | 'analyst') =>
      sotto(['datasets'], { SOTTO_URL: other.url, SOTTO_KEY: other.keyOf(role) })
    const { code, output } = await listed('custodian')
    expect(code).toBe(0)
    expect(output).toMatch(/^one +1 +open /m)
    expect(output).toMatch(/^two +1 +suspended /m)
    expect(output).toMatch(
      /^two is suspended: .*the column "age" was integer and is bigint\. Restore the columns/m,
    )
    const shown = (await listed('analyst')).output
    expect(shown).toMatch(/^two +1 +open /m)
    expect(shown).not.toMatch(/suspended|bigint/)

    database.fail('EngineUnavailable')
    database.isReachable = false
    await other.restart()
    const unreachable = (await listed('custodian')).output
    expect(unreachable).toMatch(/^one +1 +unreachable /m)
    expect(unreachable).toMatch(/^two +1 +suspended /m)
    expect(unreachable).toMatch(/^two is suspended: .*cannot be asked at present/m)
  } finally {
    await other.close()
  }
})

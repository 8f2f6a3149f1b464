import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { command } from '../commands/command-folder.ts'
import { startTestService, type TestService } from '../e2e/service.ts'
import { installed } from '../installed.ts'
import { commandsOf, openShell, readPage, type Shell } from './pasted-page.ts'
import { REFUSALS, type Refusal } from './refusals.ts'

const page = readPage('docs/registering.md')

let service: TestService
let shell: Shell
beforeAll(async () => {
  service = await startTestService()
  shell = await openShell(service)
})
afterAll(async () => {
  await shell.close()
  await service.close()
})

type Json = Record<string, unknown>

/** The page's registration. */
function pageRegistration(): Json {
  return JSON.parse(/call POST \/datasets '(\{[\s\S]*?\n\})'/.exec(page)?.[1] ?? '')
}

/** A registration with a change. Keys of a change are dotted paths. */
function changed(change: Refusal['change'], registration: Json): Json {
  for (const [dotted, value] of Object.entries(change)) {
    const keys = dotted.split('.')
    const last = keys.pop() ?? ''
    let place = registration
    for (const key of keys) place = place[key] as Json
    place[last] = value
  }
  return registration
}

async function expectRefusals(refusals: readonly Refusal[], registration = pageRegistration): Promise<void> {
  for (const { change, status, code, field } of refusals) {
    const { body } = await service.register(changed(change, registration()))
    const what = JSON.stringify(change)
    expect(body, what).toMatchObject({ status, code })
    expect(
      body.errors?.map((error: { field: string }) => error.field),
      what,
    ).toContain(field)
  }
}

test.skipIf(!installed('curl'))(
  "the service behaves as the page's commands and the listed refusals state",
  async () => {
    const [define, createFile, upload, draft, register, ...later] = commandsOf(page)
    const [definePopulation, manage, withdraw, registerPopulation, ...others] = later
    expect(others).toEqual([])
    const run = async (...commands: readonly (string | undefined)[]) => {
      const lines = await shell.run([define, ...commands].join('\n'))
      return lines.map((line) => (line === '' ? undefined : JSON.parse(line)))
    }

    await run(createFile)
    const [uploaded, drafted] = [...(await run(upload)), ...(await run(draft))]
    expect(uploaded).toMatchObject({ name: 'staff.csv', format: 'csv' })
    expect(drafted.declaration).toMatchObject({ id: 'staff', privacyUnit: 'TODO' })
    const survey = path.join(service.dataDirectory, 'survey')
    await writeFile(path.join(survey, 'ragged.csv'), 'Region,Age\nnorth,34,12\n')
    await writeFile(path.join(survey, 'empty.csv'), 'Region,Age,Commute,Remote,Note\n')
    await expectRefusals(REFUSALS.unregistered)

    expect(await run(definePopulation)).toMatchObject([{ id: 'patients-north' }])
    const [population] = await run(registerPopulation)
    expect(population).toMatchObject({ id: 'people', rows: 1_000, synthetic: true })
    const [registered, again] = await run(register, register)
    expect(registered).toMatchObject(JSON.parse(/```json\n([\s\S]*?)```/.exec(page)?.[1] ?? ''))
    expect(again).toEqual(registered)
    const exact = { epsilon: 0.4, mechanism: 'geometric' } as const
    const { body: regions } = await service
      .ask('staff', { kind: 'histogram', column: 'Region', ...exact })
      .expect(200)
    expect(regions.result.cells).toHaveLength(5)

    const [budget, grant, allotment, analysts] = await run(manage)
    expect(budget).toMatchObject({ cap: { epsilon: 3 }, spent: { epsilon: 0.4 } })
    expect(grant).toMatchObject({ cap: { epsilon: 3.5 } })
    expect(allotment).toMatchObject({ allotment: { remaining: { epsilon: 0.6 } } })
    expect(analysts.analysts).toMatchObject([{ analyst: 'analyst', spent: { epsilon: 0.4 } }])

    const regranted = () => ({ ...pageRegistration(), budget: { epsilon: 3.5, delta: 0.000001 } })
    await expectRefusals(REFUSALS.registered)
    expect(await run(withdraw)).toEqual([undefined])
    await expectRefusals(REFUSALS.withdrawn, regranted)

    const { body: second } = await service.register(regranted()).expect(201)
    expect(second).toMatchObject({ version: '2' })
    const { body: after } = await service.as('custodian').get('/v1/datasets/staff/budget').expect(200)
    expect(after).toMatchObject({ cap: { epsilon: 3.5 }, spent: { epsilon: 0.4 } })
  },
)

test.skipIf(!installed('curl'))(
  'the page about the first dataset leads from a file to its first answers',
  async () => {
    const first = readPage('docs/first-dataset.md')
    const [make, prepare, register, define, ...questions] = commandsOf(first)
    // Runs it as npx does, from outside the project's folder.
    const npx = `npx() { shift; '${process.execPath}' '${command}' "$@"; }`
    const run = (script = '') => shell.run([npx, script].join('\n'))
    expect(await run([make, prepare].join('\n'))).toEqual([''])
    const draft = await readFile(path.join(shell.folder, 'visits.yaml'), 'utf8')
    const shown = /```yaml\n([\s\S]*?)```/.exec(first)?.[1] ?? ''
    expect(shown).toContain('TODO')
    expect(draft).toContain(shown)
    expect(parse(draft)).toMatchObject({
      source: { kind: 'upload', upload: 'visits.csv', format: 'csv', csv: { delimiter: ';', decimal: ',' } },
      columns: [{}, { dateFormat: 'DD.MM.YYYY' }, {}, { type: 'number' }],
    })

    const environment = /export .*/.exec(prepare ?? '')?.[0]
    const printed = (await run([environment, register].join('\n'))).join('\n')
    expect(printed).toContain('visits: everything fits; nothing was published')
    expect(printed).toContain('visits: registered as version 1')
    expect(printed).toMatch(/^3000 +rows that queries read\n800 +people$/m)
    expect(printed).toMatch(/^remaining +1\.98 +0$/m)

    const answers = (await run([define, ...questions].join('\n'))).map((line) => JSON.parse(line))
    const [preview, paid, regions, cost] = answers
    expect(answers).toHaveLength(4)
    expect(preview).toMatchObject({ accuracy: { halfWidth: 30 } })
    expect(paid).toMatchObject({ budget: { remaining: { epsilon: 1.88 } } })
    expect(regions.result.cells).toHaveLength(4)
    expect(cost.kind).toBe('mean')
  },
)

test.skipIf(!installed('curl'))('the page about joined tables states what its commands answer', async () => {
  const joins = readPage('docs/joins.md')
  const npx = `npx() { shift; '${process.execPath}' '${command}' "$@"; }`
  const printed = await shell.run([npx, ...commandsOf(joins)].join('\n'))
  const heads = printed.filter((line) => !line.startsWith('{') && !line.startsWith('==>') && line !== '')
  expect(heads.filter((_, i) => i % 2 === 0)).toEqual([
    'patient,hospital,visited,diagnosis,cost,emergency',
    'id,region,age',
    'code,beds',
  ])
  const bodies = printed.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line))
  const [registered, regions, cost, north, evaluation, ...others] = bodies
  expect(others).toEqual([])
  const counted = JSON.parse(/```json\n([\s\S]*?)```/.exec(joins)?.[1] ?? '')
  expect(registered.ingestion).toMatchObject(counted)
  expect(regions.result.cells).toHaveLength(5)
  expect(cost.result.value).toBeGreaterThan(0)
  expect(north.query.where.column).toBe('patients.region')
  expect(joins).toContain(`the truth: ${evaluation.values[0].truth} patients are from the North.`)
})

import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { command } from '../commands/command-folder.ts'
import { startTestService, type TestService } from '../e2e/service.ts'
import { installed } from '../installed.ts'
import { commandsOf, openShell, readPage, type Shell } from './pasted-page.ts'

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

/** The rows of the table in the section whose heading begins with `heading`, cells without their code marks. */
function rowsBelow(heading: string): readonly (readonly string[])[] {
  const section = page.split(/^### /m).find((text) => text.startsWith(heading)) ?? ''
  return [...section.matchAll(/^\| `(\{.*?\})` \| (.*) \|$/gm)].map(([, change = '', rest = '']) => [
    change,
    ...rest.split(' | ').map((cell) => cell.replaceAll('`', '')),
  ])
}

/** The page's registration. */
function pageRegistration(): Json {
  return JSON.parse(/call POST \/datasets '(\{[\s\S]*?\n\})'/.exec(page)?.[1] ?? '')
}

/** A registration with one of the page's changes. Keys of a change are dotted paths. */
function changed(change: string, registration: Json): Json {
  for (const [dotted, value] of Object.entries(JSON.parse(change) as Json)) {
    const keys = dotted.split('.')
    const last = keys.pop() ?? ''
    let place = registration
    for (const key of keys) place = place[key] as Json
    place[last] = value
  }
  return registration
}

async function expectRefusal(
  change: string,
  refusal: { readonly status: number; readonly code: string | undefined; readonly field: string | undefined },
  registration = pageRegistration(),
): Promise<void> {
  const { status, code, field } = refusal
  const { body } = await service.register(changed(change, registration))
  expect(body, change).toMatchObject({ status, code })
  expect(
    body.errors?.map((error: { field: string }) => error.field),
    change,
  ).toContain(field)
}

test.skipIf(!installed('curl'))("the service behaves as the page's commands and refusals state", async () => {
  const [, , define, createFile, upload, draft, register, ...later] = commandsOf(page)
  const [manage, withdraw, registerPopulation, ...others] = later
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
  const declarationRows = rowsBelow('The declaration')
  expect(declarationRows.length).toBeGreaterThan(10)
  for (const [change = '', field = ''] of declarationRows)
    await expectRefusal(change, { status: 400, code: 'invalid-request', field })
  const sourceRows = rowsBelow('The source')
  expect(sourceRows.length).toBeGreaterThan(5)
  for (const [change = '', code = '', field = ''] of sourceRows)
    await expectRefusal(change, { status: 422, code, field })

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
  const idRows = rowsBelow('The id')
  const inState = (state: string) => idRows.filter(([, when]) => when === state)
  expect([inState('registered').length, inState('withdrawn').length]).toEqual([1, 5])
  for (const [change = '', , code = '', field = ''] of inState('registered'))
    await expectRefusal(change, { status: 409, code, field })
  expect(await run(withdraw)).toEqual([undefined])
  for (const [change = '', , code = '', field = ''] of inState('withdrawn'))
    await expectRefusal(change, { status: 409, code, field }, regranted())

  const { body: second } = await service.register(regranted()).expect(201)
  expect(second).toMatchObject({ version: '2' })
  const { body: after } = await service.as('custodian').get('/v1/datasets/staff/budget').expect(200)
  expect(after).toMatchObject({ cap: { epsilon: 3.5 }, spent: { epsilon: 0.4 } })
})

test("the command line registers the page's file", async () => {
  const [prepare, register, ...more] = commandsOf(page)
  expect(more.length).toBeGreaterThan(3)
  // Runs it as npx does, from outside the project's folder.
  const npx = `npx() { shift; '${process.execPath}' '${command}' "$@"; }`
  const run = (script = '') => shell.run([npx, script].join('\n'))
  expect(await run(prepare)).toEqual([''])
  const draft = await readFile(path.join(shell.folder, 'visits.yaml'), 'utf8')
  const shown = /```yaml\n([\s\S]*?)```/.exec(page)?.[1] ?? ''
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
  expect(printed).toMatch(/^6 +rows that queries read\n4 +people$/m)
  expect(printed).toMatch(/^remaining +1\.98 +0$/m)
})

import { once } from 'node:events'
import { readdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, test } from 'vitest'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { openLedger } from '../../../src/ledger/open.ts'
import { eventPages, verifyLedger } from '../../../src/ledger/verification.ts'
import { makeServiceFolder, type ServiceFolder } from '../service.ts'
import { type KillAt, killedAt } from './kill-at.ts'

const PEOPLE = 50
const ROWS_OF_EACH = 4
const MAX_ROWS = 3

const REGISTRATION = {
  id: 'visits',
  title: 'Visits',
  source: { kind: 'file', path: 'visits.csv', format: 'csv' },
  columns: [
    { name: 'patient', type: 'identifier' },
    { name: 'age', type: 'integer', lower: 0, upper: 120 },
  ],
  privacyUnit: { kind: 'person', column: 'patient', maxRows: MAX_ROWS },
  neighbours: 'add-remove',
  budget: { epsilon: 1_000 },
  timing: 'off',
}

/** Noise of scale 3/270 is 0 except with a probability below 1e-38. */
const COUNT = { kind: 'count', epsilon: 270, mechanism: 'geometric' }

/** Stages of a registration, in order, with the call at which each ends. */
const STAGES: readonly (readonly [stage: string, kill: KillAt, opened: boolean, published: boolean])[] = [
  [
    'before the source is copied',
    { call: 'mkdir', when: 'after', created: '/datasets/\\.ingestion-' },
    false,
    false,
  ],
  [
    'as the ingestion begins',
    { call: 'symlink', when: 'after', created: '/rows\\.duckdb\\.source0$' },
    false,
    false,
  ],
  [
    'as the ingestion ends',
    { call: 'rename', when: 'before', created: '/\\.ingestion-[^/]*/rows\\.duckdb$' },
    false,
    false,
  ],
  [
    'after the ingestion',
    { call: 'rename', when: 'after', created: '/\\.ingestion-[^/]*/rows\\.duckdb$' },
    false,
    false,
  ],
  [
    'between the key of the people and their rows',
    { call: 'rename', when: 'after', created: '/datasets/visits/1\\.person-key$' },
    false,
    false,
  ],
  [
    'before the budget is opened',
    { call: 'rename', when: 'after', created: '/datasets/visits/1\\.duckdb$' },
    false,
    false,
  ],
  [
    'after the budget is opened, before the publication',
    { call: 'rename', when: 'before', created: '/datasets/visits/dataset\\.json$' },
    true,
    false,
  ],
  [
    'after the publication, before the answer',
    { call: 'rename', when: 'after', created: '/datasets/visits/dataset\\.json$' },
    true,
    true,
  ],
]

async function request(key: string, url: string, body?: object) {
  const response = await fetch(url, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

/** Reads the ledger of a folder whose service has ended. */
async function inLedger<Result>(
  { directory }: ServiceFolder,
  read: (ledger: Ledger) => Promise<Result>,
): Promise<Result> {
  const ledger = await openLedger({ url: path.join(directory, 'ledger.sqlite') })
  try {
    return await read(ledger)
  } finally {
    await ledger.close()
  }
}

/** All files below the folders of datasets and of temporary files. */
async function filesLeft({ directory }: ServiceFolder): Promise<readonly string[]> {
  const names = await Promise.all(
    ['datasets', 'temporary'].map((folder) => readdir(path.join(directory, folder), { recursive: true })),
  )
  return names.flat().filter((name) => !/^process-[^/]*$/.test(name))
}

test.each(STAGES)('kill -9 of a first registration %s', async (_, kill, isOpened, isPublished) => {
  const folder = await makeServiceFolder()
  const rows = Array.from({ length: PEOPLE * ROWS_OF_EACH }, (_, i) => `p${i % PEOPLE},${i % 90}\n`)
  await writeFile(path.join(folder.directory, 'visits.csv'), `patient,age\n${rows.join('')}`)
  const killed = await folder.start(killedAt(kill))
  const ended = once(killed.child, 'exit')
  await expect(request(folder.custodianKey, `${killed.url}/v1/datasets`, REGISTRATION)).rejects.toThrow()
  expect(await ended).toEqual([null, 'SIGKILL'])
  const budget = await inLedger(folder, (ledger) => ledger.budget('visits'))
  expect(budget !== undefined).toBe(isOpened)

  const service = await folder.start()
  const datasets = `${service.url}/v1/datasets`
  const found = await request(folder.analystKey, `${datasets}/visits`)
  expect(found.status).toBe(isPublished ? 200 : 404)
  const published = ['visits', 'visits/1.duckdb', 'visits/1.person-key', 'visits/dataset.json']
  expect([...(await filesLeft(folder))].sort()).toEqual(isPublished ? published : [])
  if (isOpened) {
    const other = await request(folder.custodianKey, datasets, {
      ...REGISTRATION,
      budget: { epsilon: 2_000 },
    })
    expect([other.status, other.body.code]).toEqual([
      409,
      isPublished ? 'dataset-exists' : 'budget-account-exists',
    ])
  }

  const repeated = await request(folder.custodianKey, datasets, REGISTRATION)
  expect(repeated.status, JSON.stringify(repeated.body)).toBe(isPublished ? 200 : 201)
  expect((await request(folder.custodianKey, datasets, REGISTRATION)).status).toBe(200)
  expect([...(await filesLeft(folder))].sort()).toEqual(published)
  const counted = await request(folder.analystKey, `${datasets}/visits/queries`, COUNT)
  expect(counted.body).toMatchObject({ datasetVersion: '1', result: { value: PEOPLE * MAX_ROWS } })

  expect(await service.stop('SIGTERM')).toBe(0)
  await inLedger(folder, async (ledger) => {
    const kinds: string[] = []
    for await (const page of eventPages(ledger, 'visits'))
      kinds.push(...page.map(({ canonical }) => JSON.parse(canonical).kind))
    // What maxRows leaves out is measured once, wherever the process was killed.
    expect(kinds).toEqual(['opened', 'charged', 'answered', 'charged', 'answered'])
    expect(await verifyLedger(ledger, 'visits')).toMatchObject({ kind: 'sound', events: 5 })
  })
})

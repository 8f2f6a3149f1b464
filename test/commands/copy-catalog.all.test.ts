import { execFile } from 'node:child_process'
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { restoreBackup, writeBackup } from '../../src/datasets/backup.ts'
import { knownHeadsFile, readKnownHeads } from '../../src/ledger/custody/known-heads.ts'
import { openDocuments } from '../../src/ledger/documents/documents.ts'
import { openLedger } from '../../src/ledger/open.ts'
import { ENVIRONMENT } from '../environment.ts'
import { getJson, makeServiceFolder, type ServiceFolder } from '../reliability/service.ts'
import { describePostgres } from '../servers/postgres.ts'

const SOTTO = path.resolve(import.meta.dirname, '../../src/commands/sotto.ts')

const VISITS = {
  id: 'visits',
  title: 'Visits',
  timing: 'off',
  source: { kind: 'file', path: 'visits.csv', format: 'csv' },
  columns: [
    { name: 'patient', type: 'identifier' },
    { name: 'kind', type: 'category', categories: ['a', 'b', 'c', 'd'] },
  ],
  privacyUnit: { kind: 'person', column: 'patient', maxRows: 4 },
  neighbours: 'add-remove',
  budget: { epsilon: 1_000, delta: 0 },
  leftOut: { epsilon: 0 },
}
/** One row of each person, which the key of the version chooses. The noise is 0 except with a probability below 1e-37. */
const chosen = (epsilon: number) => ({
  kind: 'groupBy',
  keys: ['kind'],
  statistics: [{ kind: 'count' }],
  contribution: { groups: 1, rowsPerGroup: 1 },
  mechanism: 'geometric',
  epsilon,
})

describePostgres('a catalog that is moved to PostgreSQL', (databases) => {
  const run = (folder: ServiceFolder, ledger: string, file: string) =>
    promisify(execFile)(process.execPath, [SOTTO, 'copy-catalog', file], {
      env: { ...ENVIRONMENT, SOTTO_DATA_DIR: folder.directory, SOTTO_LEDGER_URL: ledger },
    }).then(
      ({ stdout }) => ({ code: 0, text: stdout }),
      ({ code, stderr }) => ({ code, text: String(stderr) }),
    )
  const send = (key: string, url: string, body: object) =>
    fetch(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const groupsAt = async (folder: ServiceFolder, url: string, epsilon: number) => {
    const response = await send(folder.analystKey, `${url}/v1/datasets/visits/queries`, chosen(epsilon))
    expect(response.status).toBe(200)
    return ((await response.json()) as { result: { groups: unknown } }).result.groups
  }

  /** A folder with a registered dataset, its first groups, and the URL of its catalog in a file. */
  async function makeFilled() {
    const [ledger, catalog] = [await databases.createDatabase(), await databases.createDatabase()]
    const folder = await makeServiceFolder()
    const rows = Array.from({ length: 400 }, (_, person) =>
      ['a', 'b', 'c', 'd'].map((kind) => `p${person},${kind}`),
    )
    await writeFile(
      path.join(folder.directory, 'visits.csv'),
      ['patient,kind', ...rows.flat(), ''].join('\n'),
    )
    const service = await folder.start({ SOTTO_LEDGER_URL: ledger })
    expect((await send(folder.custodianKey, `${service.url}/v1/datasets`, VISITS)).status).toBe(201)
    const groups = await groupsAt(folder, service.url, 90)
    const file = path.join(folder.directory, 'catalog-url')
    await writeFile(file, `${catalog}\n`, { mode: 0o600 })
    return { folder, service, ledger, catalog, file, groups }
  }

  test('keeps its datasets, the rows of each person and the keys; a repeat changes nothing', async () => {
    const { folder, service, ledger, catalog, file, groups } = await makeFilled()
    expect(await run(folder, ledger, file)).toMatchObject({
      code: 2,
      text: expect.stringContaining('Stop all replicas first'),
    })
    expect(await service.stop('SIGTERM')).toBe(0)
    for (const _ of [1, 2])
      expect(await run(folder, ledger, file)).toMatchObject({
        code: 0,
        text: expect.stringContaining('Copied datasets: 1, API keys: yes'),
      })
    const environment = { SOTTO_LEDGER_URL: ledger, SOTTO_CATALOG_URL: catalog }
    await rm(path.join(folder.directory, 'keys.json'))
    const moved = await folder.start(environment)
    expect(await groupsAt(folder, moved.url, 91)).toEqual(groups)
    // The command line manages the keys of the database, without the data folder.
    const { stdout } = await promisify(execFile)(process.execPath, [SOTTO, 'key', 'auditor', 'eve'], {
      env: {
        ...ENVIRONMENT,
        SOTTO_DATA_DIR: path.join(folder.directory, 'none'),
        ...environment,
      },
    })
    expect(await getJson(stdout.trim(), `${moved.url}/v1/me`)).toMatchObject({ name: 'eve', role: 'auditor' })
    expect(await moved.stop('SIGTERM')).toBe(0)
  })

  test('is not mixed with the catalog of another service', async () => {
    const { folder, service, ledger, catalog, file } = await makeFilled()
    expect(await service.stop('SIGTERM')).toBe(0)
    const documents = await openDocuments(catalog)
    await documents.write('keys', JSON.stringify({ version: 2, keys: [], names: {}, acts: [] }), undefined)
    await documents.close()
    expect(await run(folder, ledger, file)).toMatchObject({
      code: 2,
      text: expect.stringContaining('the database has other keys'),
    })
  })

  test('is backed up with its rows beside a dump, and restored beside the database', async () => {
    const { folder, service, ledger, catalog, file, groups } = await makeFilled()
    expect(await service.stop('SIGTERM')).toBe(0)
    expect((await run(folder, ledger, file)).code).toBe(0)
    const place = await mkdtemp(path.join(tmpdir(), 'sotto-backup-'))
    onTestFinished(() => rm(place, { recursive: true }))
    const backup = path.join(place, 'backup')
    const data = { dataDirectory: folder.directory, sharesCatalog: true }
    expect(await writeBackup(data, backup)).toBeUndefined()
    await rename(folder.directory, path.join(place, 'lost'))
    const known = await readKnownHeads(knownHeadsFile(path.join(place, 'lost')))
    const open = () => openLedger({ url: ledger })
    await expect(restoreBackup(backup, { dataDirectory: folder.directory }, known, open)).rejects.toThrow(
      'the backup has no catalog',
    )
    expect(await restoreBackup(backup, data, known, open)).toBeGreaterThanOrEqual(2)
    const restored = await folder.start({ SOTTO_LEDGER_URL: ledger, SOTTO_CATALOG_URL: catalog })
    expect(await groupsAt(folder, restored.url, 91)).toEqual(groups)
    expect(await getJson(folder.auditorKey, `${restored.url}/v1/datasets/visits/budget`)).toMatchObject({
      spent: { epsilon: 181 },
    })
  })
})

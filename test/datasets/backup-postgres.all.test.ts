import { mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { restoreBackup, writeBackup } from '../../src/datasets/backup.ts'
import { knownHeadsFile, readKnownHeads } from '../../src/ledger/custody/known-heads.ts'
import { openLedger } from '../../src/ledger/open.ts'
import { askPupils, getJson, makeServiceFolder, registerPupils } from '../reliability/service.ts'
import { describePostgres } from '../servers/postgres.ts'

describePostgres('custody of a ledger in PostgreSQL', (databases) => {
  test('the data folder is restored beside its database, and not beside another one', async () => {
    const url = await databases.createDatabase()
    const folder = await makeServiceFolder()
    const environment = { SOTTO_LEDGER_URL: url }
    let service = await folder.start(environment)
    await registerPupils(folder, service.url, 1)
    expect((await askPupils(folder, service.url, 0.4, 'a')).status).toBe(200)
    const place = await mkdtemp(path.join(tmpdir(), 'sotto-backup-'))
    onTestFinished(() => rm(place, { recursive: true }))
    const backup = path.join(place, 'backup')
    const data = { dataDirectory: folder.directory }
    expect(await writeBackup(data, backup)).toBeUndefined()
    expect(await service.stop('SIGTERM')).toBe(0)
    await rename(folder.directory, path.join(place, 'lost'))
    const known = await readKnownHeads(knownHeadsFile(path.join(place, 'lost')))
    expect(known.get('pupils')?.sequence).toBe(3)

    const other = await databases.createDatabase()
    await expect(restoreBackup(backup, data, known, () => openLedger({ url: other }))).rejects.toThrow(
      'it has no budget of pupils',
    )
    expect(await restoreBackup(backup, data, known, () => openLedger({ url }))).toBeGreaterThanOrEqual(3)
    service = await folder.start(environment)
    expect(await getJson(folder.auditorKey, `${service.url}/v1/datasets/pupils/budget`)).toMatchObject({
      spent: { epsilon: 0.4 },
    })
    expect((await askPupils(folder, service.url, 0.7, 'b')).status).toBe(403)
    expect(await service.stop('SIGTERM')).toBe(0)
    await expect(folder.start({ SOTTO_LEDGER_URL: other })).rejects.toThrow(
      /ended with code 1.*the ledger is older than the data folder.*it has no budget of pupils/s,
    )
  })
})

import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { restoreBackup, writeBackup } from '../../src/datasets/backup.ts'
import { readKnownHeads } from '../../src/ledger/custody/known-heads.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { openSqliteLedger } from '../../src/ledger/sqlite/ledger.ts'
import { startTestService, type TestService } from '../e2e/service.ts'
import { temporaryFolder } from '../folders.ts'
import { chargeOf, expectConsistentLedger, question, summed } from '../ledger/support.ts'

let folder = ''
beforeEach(() => {
  folder = temporaryFolder()
})
const inFolder = (name: string) => path.join(folder, name)
const noDatabase = () => Promise.reject(new Error('there is no database'))

/** Answers questions until told to stop; returns the ids of the charges that were acknowledged so far. */
function load(ledger: Ledger, callers: number) {
  const acknowledged: string[] = []
  let stopping = false
  const work = async (caller: number) => {
    for (let place = 0; !stopping; place += 1) {
      const { id } = chargeOf(await ledger.charge(question(`key ${caller} ${place}`)))
      acknowledged.push(id)
      await ledger.recordAnswer(id, 1, `answer ${place} ${'x'.repeat(2_000)}`)
    }
  }
  const done = Promise.all(Array.from({ length: callers }, (_, caller) => work(caller)))
  return {
    acknowledged,
    async stop() {
      stopping = true
      await done
    },
  }
}

test('a copy of a ledger in use is consistent, and has every charge that was acknowledged before', async () => {
  const ledger = await openSqliteLedger({ path: inFolder('ledger.sqlite') })
  onTestFinished(() => ledger.close())
  await ledger.openBudget('census', summed('1000000'), 'carol')
  const running = load(ledger, 16)
  for (let round = 0; round < 5; round += 1) {
    const target = running.acknowledged.length + 200
    await expect.poll(() => running.acknowledged.length).toBeGreaterThan(target)
    const before = [...running.acknowledged]
    const file = inFolder(`copy-${round}.sqlite`)
    await ledger.backup(file)
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    const copy = await openSqliteLedger({ path: file })
    try {
      await expectConsistentLedger(copy)
      const ids = new Set((await recordsOf(copy, before)).map(({ id }) => id))
      expect(before.filter((id) => !ids.has(id))).toEqual([])
    } finally {
      await copy.close()
    }
  }
  await running.stop()
  await expectConsistentLedger(ledger)
})

async function recordsOf(ledger: Ledger, ids: readonly string[]) {
  const pages = Array.from({ length: Math.ceil(ids.length / 500) }, (_, page) =>
    ledger.chargeRecords(ids.slice(page * 500, (page + 1) * 500)),
  )
  return (await Promise.all(pages)).flat()
}

test('a backup changes no existing file, and a ledger has one at a time', async () => {
  const ledger = await openSqliteLedger({ path: inFolder('ledger.sqlite') })
  onTestFinished(() => ledger.close())
  await ledger.openBudget('census', summed('1'), 'carol')
  await writeFile(inFolder('taken'), 'something')
  await expect(ledger.backup(inFolder('taken'))).rejects.toThrow(/cannot be copied: EEXIST/)
  expect(await readFile(inFolder('taken'), 'utf8')).toBe('something')
  const first = ledger.backup(inFolder('first'))
  await expect(ledger.backup(inFolder('second'))).rejects.toThrow('another backup')
  await first
  await ledger.backup(inFolder('second'))
  const closing = ledger.backup(inFolder('last'))
  await ledger.close()
  await closing
})

async function startedService(): Promise<TestService> {
  const service = await startTestService()
  onTestFinished(() => service.close())
  await writeFile(path.join(service.dataDirectory, 'patients.csv'), 'patient,ill\na,true\nb,false\n')
  await service
    .register({
      id: 'patients',
      title: 'Patients',
      source: { kind: 'file', path: 'patients.csv', format: 'csv' },
      columns: [
        { name: 'patient', type: 'identifier', nullable: false },
        { name: 'ill', type: 'boolean' },
      ],
      privacyUnit: { kind: 'person', column: 'patient', maxRows: 2 },
      neighbours: 'add-remove',
      budget: { epsilon: 10 },
      leftOut: { epsilon: 0 },
      timing: 'off',
    })
    .expect(201)
  return service
}

test('a backup of a running service is restored, and an older one is refused and leaves nothing behind', async () => {
  const service = await startedService()
  const data = {
    dataDirectory: service.dataDirectory,
    ledgerFile: path.join(service.dataDirectory, 'ledger.sqlite'),
  }
  const ask = (epsilon: number) => service.ask('patients', { kind: 'count', epsilon })
  await ask(1).expect(200)
  await writeBackup(data, inFolder('older'))
  const { text } = await ask(2).expect(200)
  expect(await writeBackup(data, inFolder('newer'))).toBeGreaterThanOrEqual(5)
  await service.stop()

  await rename(service.dataDirectory, inFolder('lost'))
  const known = await readKnownHeads(inFolder('lost/heads.jsonl'))
  const older = restoreBackup(inFolder('older'), data, known, noDatabase)
  await expect(older).rejects.toThrow(
    /older than known heads[\s\S]*events of patients end with number 3, and number 5/,
  )
  // Nothing was left behind, so the same folder takes the newer backup.
  await restoreBackup(inFolder('newer'), data, known, noDatabase)
  await service.restart()
  expect((await service.as('custodian').get('/v1/datasets/patients/budget').expect(200)).body.spent).toEqual({
    epsilon: 3,
    delta: 0,
  })
  const replayed = await ask(2).expect(200)
  expect(replayed.body.id).toBe(JSON.parse(text).id)
  expect(replayed.headers['idempotent-replayed']).toBe('true')
  await ask(7.5).expect(403)
})

test('a folder that cannot be created is refused', async () => {
  const data = { dataDirectory: folder, ledgerFile: inFolder('ledger.sqlite') }
  await expect(writeBackup(data, '/proc/x/backup')).rejects.toThrow('ENOENT')
})

test('a backup without its last file, a folder with files and a damaged ledger are refused', async () => {
  const service = await startedService()
  const data = {
    dataDirectory: service.dataDirectory,
    ledgerFile: path.join(service.dataDirectory, 'ledger.sqlite'),
  }
  await expect(writeBackup(data, service.dataDirectory)).rejects.toThrow('is not empty')
  await service.stop()
  await writeBackup(data, inFolder('backup'))
  const restored = { dataDirectory: inFolder('data'), ledgerFile: inFolder('data/ledger.sqlite') }
  const restore = () => restoreBackup(inFolder('backup'), restored, new Map(), noDatabase)
  await restore()
  await expect(restore()).rejects.toThrow('is not empty; nothing was written')
  await rm(inFolder('data'), { recursive: true })
  const ledger = await readFile(inFolder('backup/ledger.sqlite'), 'latin1')
  await writeFile(inFolder('backup/ledger.sqlite'), ledger.replaceAll('"custodian"', '"custodial"'), 'latin1')
  await expect(restore()).rejects.toThrow(/the ledger of .* is damaged at event/)
  await rm(inFolder('backup/backup.json'))
  await expect(restore()).rejects.toThrow('is not a complete backup')
})

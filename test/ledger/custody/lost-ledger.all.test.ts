import { appendFile, copyFile, readFile, rename, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startTestService, type TestService } from '../../e2e/service.ts'

let service: TestService
beforeEach(async () => {
  service = await startTestService()
  await writeFile(path.join(service.dataDirectory, 'patients.csv'), 'ill\ntrue\nfalse\ntrue\n')
  await service.register(patients).expect(201)
})
afterEach(() => service.close())

const patients = {
  id: 'patients',
  title: 'Patients',
  source: { kind: 'file', path: 'patients.csv', format: 'csv' },
  columns: [{ name: 'ill', type: 'boolean' }],
  privacyUnit: { kind: 'row' },
  neighbours: 'add-remove',
  budget: { epsilon: 10 },
  timing: 'off',
}
const file = (name: string) => path.join(service.dataDirectory, name)
const spend = (epsilon: number) => service.ask('patients', { kind: 'count', epsilon })
const spent = async () => (await service.as('custodian').get('/v1/datasets/patients/budget')).body.spent

/** Removes the ledger as a lost disk or a careless operator would. */
async function loseLedger(): Promise<void> {
  for (const name of ['ledger.sqlite', 'ledger.sqlite-wal', 'ledger.sqlite-shm'])
    await rm(file(name), { force: true })
}

const OLDER = /the ledger is older than the data folder[\s\S]*Restore the newest ledger/

test('attack: spend 9.9 of 10, lose the ledger, and spend 9.9 again', async () => {
  await spend(9.9).expect(200)
  await service.stop()
  await rename(file('ledger.sqlite'), file('kept.sqlite'))
  await loseLedger()
  await expect(service.restart()).rejects.toThrow(OLDER)
  await expect(service.restart()).rejects.toThrow('it has no budget of patients')
  await loseLedger()
  await rename(file('kept.sqlite'), file('ledger.sqlite'))
  await service.restart()
  expect(await spent()).toEqual({ epsilon: 9.9, delta: 0 })
  await spend(0.2).expect(403)
})

test('attack: the same after withdrawing the dataset, without known heads', async () => {
  await spend(9.9).expect(200)
  await service.as('custodian').delete('/v1/datasets/patients').expect(204)
  await service.stop()
  await loseLedger()
  await rm(file('heads.jsonl'))
  await expect(service.restart()).rejects.toThrow('it has no budget of patients')
})

test('attack: the same with the catalog removed, too', async () => {
  await spend(9.9).expect(200)
  await service.stop()
  await loseLedger()
  await rm(file('datasets'), { recursive: true })
  await expect(service.restart()).rejects.toThrow('it has no budget of patients')
})

test('attack: put an older copy of the ledger in its place', async () => {
  await spend(1).expect(200)
  await service.stop()
  await copyFile(file('ledger.sqlite'), file('older.sqlite'))
  await service.restart()
  await spend(8.9).expect(200)
  await service.stop()
  await loseLedger()
  await rename(file('older.sqlite'), file('ledger.sqlite'))
  await expect(service.restart()).rejects.toThrow(
    'its events of patients end with number 3, and number 5 was recorded',
  )
})

test('attack: spend as much on another ledger of the same length', async () => {
  await service.stop()
  // A whole earlier state starts, because nothing contradicts it.
  const earlier = ['ledger.sqlite', 'heads.jsonl', 'checkpoint.json']
  for (const name of earlier) await copyFile(file(name), file(`${name}.earlier`))
  await service.restart()
  await spend(9).expect(200)
  await service.stop()
  const heads = await readFile(file('heads.jsonl'))
  await loseLedger()
  for (const name of earlier) await rename(file(`${name}.earlier`), file(name))
  await service.restart()
  await spend(0.1).expect(200)
  await service.stop()
  await writeFile(file('heads.jsonl'), heads)
  await expect(service.restart()).rejects.toThrow('its event 3 of patients is not the one that was recorded')
})

test('a damaged file of heads stops the start and says what to do', async () => {
  await service.stop()
  const heads = await readFile(file('heads.jsonl'))
  await appendFile(file('heads.jsonl'), '{"dataset": "patients", "sequ')
  await expect(service.restart()).rejects.toThrow(/heads.jsonl is damaged.*Restore it from a backup/)
  await writeFile(file('heads.jsonl'), heads)
  await service.restart()
  await spend(1).expect(200)
})

const FORGOTTEN =
  /heads.jsonl was removed, or replaced by an older copy: it lacks events of patients[\s\S]*Lost known heads/

test.each<[how: string, change: (heads: string) => Promise<void>]>([
  ['removed', () => rm(file('heads.jsonl'))],
  ['emptied', () => writeFile(file('heads.jsonl'), '')],
  [
    'cut',
    (heads) =>
      writeFile(
        file('heads.jsonl'),
        heads
          .split('\n')
          .filter((line) => !line.includes('"patients"'))
          .join('\n'),
      ),
  ],
])('attack: an older ledger beside known heads that were %s', async (_, change) => {
  await spend(1).expect(200)
  await service.stop()
  await copyFile(file('ledger.sqlite'), file('older.sqlite'))
  await service.restart()
  await spend(8.9).expect(200)
  await service.stop()
  const heads = await readFile(file('heads.jsonl'), 'utf8')
  await rename(file('ledger.sqlite'), file('newer.sqlite'))
  await loseLedger()
  await copyFile(file('older.sqlite'), file('ledger.sqlite'))
  await change(heads)
  // The checkpoint knows events that the ledger lacks.
  await expect(service.restart()).rejects.toThrow(OLDER)
  await rm(file('checkpoint.json'), { force: true })
  await expect(service.restart()).rejects.toThrow(FORGOTTEN)
  // Also beside the newest ledger, because nothing tells it from an older one.
  await loseLedger()
  await rename(file('newer.sqlite'), file('ledger.sqlite'))
  await expect(service.restart()).rejects.toThrow(FORGOTTEN)
  await writeFile(file('heads.jsonl'), heads)
  await service.restart()
  expect(await spent()).toEqual({ epsilon: 9.9, delta: 0 })
})

test('attack: known heads of an earlier day, beside a newer checkpoint', async () => {
  await spend(1).expect(200)
  await service.stop()
  const earlier = await readFile(file('heads.jsonl'), 'utf8')
  await service.restart()
  await spend(2).expect(200)
  await service.stop()
  await writeFile(file('heads.jsonl'), earlier)
  await expect(service.restart()).rejects.toThrow(FORGOTTEN)
})

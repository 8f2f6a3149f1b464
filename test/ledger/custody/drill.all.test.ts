import { spawn } from 'node:child_process'
import { mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { knownHeadsFile, readKnownHeads } from '../../../src/ledger/custody/known-heads.ts'
import { ENVIRONMENT } from '../../environment.ts'
import {
  askPupils,
  getJson,
  makeServiceFolder,
  registerPupils,
  type ServiceFolder,
} from '../../reliability/service.ts'

const EPSILON = 0.01
const CALLERS = 8

const command = path.resolve(import.meta.dirname, '../../../src/commands/sotto.ts')

/** Runs `npx sotto` on a data folder. */
async function sotto({ directory }: ServiceFolder, ...args: readonly string[]) {
  const child = spawn(process.execPath, [command, ...args], {
    env: { ...ENVIRONMENT, SOTTO_DATA_DIR: directory },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)])
  return { code: await ended, output, errors }
}

/** Asks questions until the service is killed; `answers` has each acknowledged answer by its idempotency key. */
function load(folder: ServiceFolder, url: string) {
  const answers = new Map<string, string>()
  const ask = async (caller: number) => {
    for (let place = 0; ; place += 1) {
      const key = `caller-${caller}-${place}`
      const response = await askPupils(folder, url, EPSILON, key).catch(() => undefined)
      if (response === undefined) return
      expect(response.status, response.text).toBe(200)
      answers.set(key, response.text)
    }
  }
  const ended = Promise.all(Array.from({ length: CALLERS }, (_, caller) => ask(caller)))
  const more = (count: number) => expect.poll(() => answers.size).toBeGreaterThan(count)
  return { answers, ended, more }
}

test('drill: backups under load, kill -9, restore, verify; an older backup is refused', async () => {
  const folder = await makeServiceFolder()
  const backups = mkdtempSync(path.join(tmpdir(), 'sotto-drill-'))
  onTestFinished(() => rmSync(backups, { recursive: true }))
  const [older, newer, lost] = ['older', 'newer', 'lost'].map((name) => path.join(backups, name)) as [
    string,
    string,
    string,
  ]
  let service = await folder.start()
  await registerPupils(folder, service.url, 1_000)
  const { answers, ended, more } = load(folder, service.url)
  await more(20)
  expect(await sotto(folder, 'backup', older)).toMatchObject({ code: 0, errors: '' })
  await more(answers.size + 20)
  const acknowledged = new Map(answers)
  expect(await sotto(folder, 'backup', newer)).toMatchObject({ code: 0, errors: '' })
  // The heads are kept once a second. They must know a charge that came after the backup.
  const { sequence } = await getJson(folder.auditorKey, `${service.url}/v1/datasets/pupils/ledger/head`)
  const kept = async () => (await readKnownHeads(knownHeadsFile(folder.directory))).get('pupils')?.sequence
  await expect.poll(kept).toBeGreaterThan(sequence as number)
  await service.stop('SIGKILL')
  await ended
  renameSync(folder.directory, lost)
  const heads = path.join(lost, 'heads.jsonl')

  // Both backups lack the charges after them, which the heads of the lost folder know.
  for (const each of [older, newer]) {
    const refused = await sotto(folder, 'restore', each, '--check-head', heads)
    expect(refused).toMatchObject({ code: 1, errors: expect.stringMatching(/older than known heads/) })
  }
  // The heads that the newer backup knows refuse the older one, and accept the newer one.
  const published = path.join(newer, 'heads.jsonl')
  expect(await sotto(folder, 'restore', older, '--check-head', published)).toMatchObject({ code: 1 })
  const restored = await sotto(folder, 'restore', newer, '--check-head', published)
  expect(restored).toMatchObject({ code: 0, output: expect.stringContaining('restored') })

  expect(await sotto(folder, 'ledger', 'verify')).toMatchObject({ code: 0 })
  service = await folder.start()
  const { spent } = await getJson(folder.auditorKey, `${service.url}/v1/datasets/pupils/budget`)
  const spentEpsilon = (spent as { epsilon: number }).epsilon
  expect(spentEpsilon).toBeGreaterThanOrEqual(Number((acknowledged.size * EPSILON).toFixed(9)))
  for (const [key, answer] of acknowledged) {
    const replay = await askPupils(folder, service.url, EPSILON, key)
    expect(replay).toEqual({ status: 200, text: answer, replayed: true })
  }
  expect(await getJson(folder.auditorKey, `${service.url}/v1/datasets/pupils/budget`)).toMatchObject({
    spent: { epsilon: spentEpsilon },
  })
  expect(await service.stop('SIGTERM')).toBe(0)
})

test('a backup of a stopped service needs no service, and restore asks for heads', async () => {
  const folder = await makeServiceFolder()
  const backup = mkdtempSync(path.join(tmpdir(), 'sotto-drill-'))
  onTestFinished(() => rmSync(backup, { recursive: true }))
  const service = await folder.start()
  await registerPupils(folder, service.url, 1)
  expect(await service.stop('SIGKILL')).toBe(null)
  // The socket of the killed service is still there.
  expect(await sotto(folder, 'backup', backup)).toMatchObject({
    code: 0,
    output: expect.stringMatching(/backup complete, \d+ events verified/),
  })
  expect(await sotto(folder, 'backup', backup)).toMatchObject({
    code: 2,
    errors: expect.stringContaining('is not empty'),
  })
  expect(await sotto(folder, 'restore', backup)).toMatchObject({
    code: 2,
    errors: expect.stringContaining('--check-head'),
  })
  rmSync(folder.directory, { recursive: true })
  expect(await sotto(folder, 'restore', backup, '--without-heads')).toMatchObject({ code: 0 })
})

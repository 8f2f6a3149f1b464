import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Workspace } from '../../../src/datasets/catalog/workspace.ts'
import {
  createIngestions,
  type IngestionTerms,
  type RunningIngestion,
} from '../../../src/datasets/registration/ingestions.ts'

const ONE_HOUR_MS = 3_600_000

/** Ingestions whose workspaces are counted. */
function counted({ timeLimitMs = ONE_HOUR_MS } = {}) {
  const open = new Set<Workspace>()
  const workspace = async (): Promise<Workspace> => {
    const created: Workspace = {
      ...{ rowsFile: 'rows', personKeyFile: 'key', sourceFile: 'source' },
      remove: async () => {
        open.delete(created)
      },
    }
    open.add(created)
    return created
  }
  return { open, ingestions: createIngestions({ catalog: { workspace }, timeLimitMs }) }
}

const PURPOSE = { dataset: 'visits', kind: 'registration', dryRun: false, principal: 'carol' } as const
const FREE: IngestionTerms = { purpose: PURPOSE, givenUp: undefined, isOvertaken: () => false }

/** Ends with an error of its own once the ingestion is stopped, as an interrupted statement does. */
const untilStopped = ({ signal }: RunningIngestion) =>
  new Promise<never>((_, reject) => {
    if (signal.aborted) reject(new Error('interrupted'))
    signal.addEventListener('abort', () => reject(new Error('interrupted')))
  })

test('two ingestions run at a time, twenty wait, and more are refused', async () => {
  const { open, ingestions } = counted()
  const ends: (() => void)[] = []
  const task = () => new Promise<void>((resolve) => ends.push(resolve))
  const accepted = Array.from({ length: 22 }, () => ingestions.run(FREE, task))
  await expect(ingestions.run(FREE, task)).rejects.toMatchObject({
    code: 'unavailable',
    facts: { retryAfterSeconds: 60 },
  })
  for (let ended = 0; ended < accepted.length; ended += 1) {
    await setImmediate()
    expect(ends.length).toBe(Math.min(2, accepted.length - ended))
    expect(open.size).toBe(ends.length)
    ends.shift()?.()
  }
  await Promise.all(accepted)
  expect(open.size).toBe(0)
})

test('an ingestion stops when the client leaves', async () => {
  const { open, ingestions } = counted()
  const client = new AbortController()
  const running = ingestions.run({ ...FREE, givenUp: client.signal }, untilStopped)
  await setImmediate()
  expect(open.size).toBe(1)
  client.abort()
  await expect(running).rejects.toMatchObject({ code: 'unavailable' })
  expect(open.size).toBe(0)
})

test('an ingestion of a client that left while it waited does not begin', async () => {
  const { ingestions } = counted()
  const client = new AbortController()
  const before = [ingestions.run(FREE, untilStopped), ingestions.run(FREE, untilStopped)]
  const begun: string[] = []
  const waiting = ingestions.run({ ...FREE, givenUp: client.signal }, async () => begun.push('begun'))
  client.abort()
  await expect(waiting).rejects.toMatchObject({ code: 'unavailable' })
  await Promise.all([ingestions.close(), ...before.map((each) => expect(each).rejects.toThrow())])
  expect(begun).toEqual([])
})

test('an ingestion stops after its time limit', async () => {
  const { open, ingestions } = counted({ timeLimitMs: 1 })
  await expect(ingestions.run(FREE, untilStopped)).rejects.toMatchObject({ code: 'ingestion-too-long' })
  expect(open.size).toBe(0)
})

test('a stopped ingestion ends, whether it runs or waits, and no other one does', async () => {
  const { open, ingestions } = counted()
  const pending = Array.from({ length: 4 }, () => ingestions.run(FREE, untilStopped))
  await setImmediate()
  expect(ingestions.list().map(({ phase }) => phase)).toEqual(['wait', 'wait', 'copy', 'copy'])
  const [, third, , first] = ingestions.list()
  for (const ingestion of [third, first]) expect(ingestions.stop(ingestion?.id ?? '')).toBe(true)
  for (const ended of [pending[0], pending[2]])
    await expect(ended).rejects.toMatchObject({ code: 'ingestion-stopped' })
  expect(ingestions.stop(first?.id ?? '')).toBe(false)
  await setImmediate()
  expect(open.size).toBe(2)
  const others = [pending[1], pending[3]].map((each) =>
    expect(each).rejects.toMatchObject({ code: 'unavailable' }),
  )
  await Promise.all([ingestions.close(), ...others])
})

test('an ingestion is listed with its purpose and its latest progress until its publication begins', async () => {
  const { ingestions } = counted()
  const listed: unknown[] = []
  const result = await ingestions.run(FREE, async ({ onProgress, beginPublication }) => {
    listed.push(...ingestions.list())
    onProgress({ phase: 'read', fraction: 0.5 })
    listed.push(...ingestions.list())
    const [ingestion] = ingestions.list()
    beginPublication()
    expect(ingestions.list()).toEqual([])
    expect(ingestions.stop(ingestion?.id ?? '')).toBe(false)
    return 'published'
  })
  expect(result).toBe('published')
  const facts = { id: expect.stringMatching(/^[0-9a-f]{32}$/), startedAt: expect.any(String), ...PURPOSE }
  expect(listed).toEqual([
    { ...facts, phase: 'copy' },
    { ...facts, phase: 'read', fraction: 0.5 },
  ])
})

test('a publication does not begin after the ingestion was stopped', async () => {
  const { ingestions } = counted()
  let published = false
  const stopped = ingestions.run(FREE, async ({ beginPublication }) => {
    for (const { id } of ingestions.list()) ingestions.stop(id)
    beginPublication()
    published = true
  })
  await expect(stopped).rejects.toMatchObject({ code: 'ingestion-stopped' })
  expect(published).toBe(false)
})

test('an ingestion stops when its dataset has changed, and another one does not', async () => {
  const { open, ingestions } = counted()
  let changed = false
  const signals: AbortSignal[] = []
  const noting = (running: RunningIngestion) => {
    signals.push(running.signal)
    return untilStopped(running)
  }
  const stopped = ingestions.run({ ...FREE, isOvertaken: () => changed }, noting)
  const other = ingestions.run(FREE, noting)
  await setImmediate()
  ingestions.stopOvertaken()
  expect(signals.map(({ aborted }) => aborted)).toEqual([false, false])
  changed = true
  ingestions.stopOvertaken()
  expect(signals.map(({ reason }) => reason?.code)).toEqual(['dataset-changed', undefined])
  await expect(stopped).rejects.toThrow()
  expect(open.size).toBe(1)
  await Promise.all([ingestions.close(), expect(other).rejects.toMatchObject({ code: 'unavailable' })])
})

test('at shutdown all ingestions stop, those that wait too, and none begins', async () => {
  const { open, ingestions } = counted()
  const running = Array.from({ length: 3 }, () => ingestions.run(FREE, untilStopped))
  await setImmediate()
  const refused = running.map((each) => expect(each).rejects.toMatchObject({ code: 'unavailable' }))
  await Promise.all([ingestions.close(), ...refused])
  expect(open.size).toBe(0)
  await expect(ingestions.run(FREE, untilStopped)).rejects.toMatchObject({ code: 'unavailable' })
})

import { createHash } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { COMMAND_LINE, type NewKey } from '../../../../src/http/access/keys/key-changes.ts'
import type { KeyAct } from '../../../../src/http/access/keys/key-file.ts'
import type { KeyStore } from '../../../../src/http/access/keys/keys.ts'
import type { Principal } from '../../../../src/http/access/principal.ts'

/** Opens a store over the same keys, as another process would. */
export type OpenKeyStore = (now?: () => number) => KeyStore

/**
 * Describes what every store of keys does.
 * @param openPlace returns a way to open new, empty keys
 */
export function describeKeyStore(openPlace: () => Promise<OpenKeyStore>): void {
  let open: OpenKeyStore
  let store: KeyStore
  beforeEach(async () => {
    open = await openPlace()
    store = open()
  })
  const create = (request: NewKey, by: Principal | typeof COMMAND_LINE = COMMAND_LINE) =>
    store.create(request, by)

  describe('a change', () => {
    test('is seen at once by another process on the same folder, however quickly it follows another one', async () => {
      const other = open()
      for (let round = 0; round < 50; round += 1) {
        const { text, apiKey } = await create({ name: `key-${round}`, role: 'analyst' })
        expect((await other.authenticate(text))?.name).toBe(`key-${round}`)
        if (round > 0) await store.delete(apiKey.id, COMMAND_LINE)
        expect((await other.authenticate(text)) === undefined).toBe(round > 0)
      }
    })

    test('that others make at the same time is not lost, and a name is given once', async () => {
      const stores = Array.from({ length: 4 }, () => open())
      const names = ['ada', 'bob', 'ada', 'carol', 'ada', 'dora', 'bob', 'eve']
      const outcomes = await Promise.allSettled(
        names.map((name, place) => stores[place % 4]?.create({ name, role: 'analyst' }, COMMAND_LINE)),
      )
      expect(outcomes.filter(({ status }) => status === 'fulfilled').length).toBe(5)
      expect(
        outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason.code] : [])),
      ).toEqual(['key-name-taken', 'key-name-taken', 'key-name-taken'])
      expect((await store.list(COMMAND_LINE)).map(({ name }) => name).sort()).toEqual([
        'ada',
        'bob',
        'carol',
        'dora',
        'eve',
      ])
    })

    test('is handed over once as an act without the key and its digest', async () => {
      const custodian = { name: 'carol', role: 'custodian' } as const
      const { text } = await create({ name: 'ada', role: 'analyst', datasets: ['census'] }, custodian)
      await store.rotate('ada.1', 60, custodian)
      await store.delete('ada.1', COMMAND_LINE)
      const acts: KeyAct[] = []
      const record = async (act: KeyAct) => {
        acts.push(act)
      }
      await open().deliverActs(record)
      await store.deliverActs(record)
      const facts = { name: 'ada', role: 'analyst', datasets: ['census'] }
      expect(acts).toMatchObject([
        { kind: 'key-created', principal: 'carol', subject: 'ada.1', facts },
        {
          kind: 'key-rotated',
          principal: 'carol',
          subject: 'ada.1',
          facts: { ...facts, overlapSeconds: 60 },
        },
        { kind: 'key-deleted', principal: COMMAND_LINE, subject: 'ada.1', facts },
      ])
      expect(JSON.stringify(acts)).not.toContain(text)
      expect(JSON.stringify(acts)).not.toContain(createHash('sha256').update(text).digest('hex'))
    })

    test('is handed over again after a failure', async () => {
      await create({ name: 'ada', role: 'analyst' })
      await expect(store.deliverActs(() => Promise.reject(new Error('no disk')))).rejects.toThrow('no disk')
      let delivered = 0
      await store.deliverActs(async () => {
        delivered += 1
      })
      expect(delivered).toBe(1)
    })
  })

  describe('a name', () => {
    test('is refused if it is malformed or reserved', async () => {
      // The schema of requests refuses a malformed name before, and nothing that cannot be read is written.
      for (const name of ['', 'Ada!', '1a', 'oidc:ada', '__proto__', 'a'.repeat(64)])
        await expect(create({ name, role: 'analyst' })).rejects.toThrow('must be 1 to 63 lower-case letters')
      await expect(create({ name: 'sotto', role: 'analyst' })).rejects.toMatchObject({
        code: 'invalid-request',
      })
      await create({ name: 'constructor', role: 'analyst' })
      expect((await store.list(COMMAND_LINE)).map(({ id }) => id)).toEqual(['constructor.1'])
    })

    test('belongs to one principal: a further key must say so, also after all keys were deleted', async () => {
      await create({ name: 'ada', role: 'analyst' })
      const taken = { code: 'key-name-taken' }
      await expect(create({ name: 'ada', role: 'analyst' })).rejects.toMatchObject(taken)
      const second = await create({ name: 'ada', role: 'analyst', samePrincipal: true })
      expect(second.apiKey.id).toBe('ada.2')
      await store.delete('ada.1', COMMAND_LINE)
      await store.delete('ada.2', COMMAND_LINE)
      await expect(create({ name: 'ada', role: 'analyst' })).rejects.toMatchObject(taken)
      expect((await create({ name: 'ada', role: 'analyst', samePrincipal: true })).apiKey.id).toBe('ada.3')
    })

    test('keeps its role, also after all keys were deleted', async () => {
      await create({ name: 'ada', role: 'analyst' })
      await store.delete('ada.1', COMMAND_LINE)
      for (const role of ['custodian', 'auditor'] as const)
        await expect(create({ name: 'ada', role, samePrincipal: true })).rejects.toMatchObject({
          code: 'key-name-taken',
          errors: [{ field: 'role' }],
        })
    })

    test('has an analyst while one of its keys is valid', async () => {
      let atMs = Date.parse('2030-01-01T00:00:00Z')
      const clocked = open(() => atMs)
      await clocked.create({ name: 'ada', role: 'analyst', expiresAt: '2030-01-02T00:00:00Z' }, COMMAND_LINE)
      await clocked.create({ name: 'otto', role: 'auditor' }, COMMAND_LINE)
      const named = await Promise.all(['ada', 'otto', 'eve'].map((name) => clocked.hasAnalyst(name)))
      expect(named).toEqual([true, false, false])
      atMs += 86_400_000
      expect(await clocked.hasAnalyst('ada')).toBe(false)
    })
  })

  test('a key is valid until it expires, and the moment must be in the future', async () => {
    let atMs = Date.parse('2030-01-01T00:00:00Z')
    const clocked = open(() => atMs)
    const request = { name: 'ada', role: 'analyst', expiresAt: '2030-01-01T02:00:00+01:00' } as const
    const { text, apiKey } = await clocked.create(request, COMMAND_LINE)
    expect(apiKey.expiresAt).toBe('2030-01-01T01:00:00.000Z')
    atMs += 3_599_999
    expect((await clocked.authenticate(text))?.name).toBe('ada')
    atMs += 1
    await expect(clocked.authenticate(text)).rejects.toThrow('expired')
    const unusable = ['2030-01-01T01:00:00Z', '2029-01-01T00:00:00Z', '2030-13-01T00:00:00Z']
    for (const expiresAt of [...unusable, '9999-12-31T23:59:59-01:00', '+010000-01-01T00:00:00Z'])
      await expect(
        clocked.create({ ...request, name: 'bob', expiresAt }, COMMAND_LINE),
      ).rejects.toMatchObject({
        errors: [{ field: 'expiresAt' }],
      })
  })

  describe('a rotation', () => {
    test('gives a new text, and the text before stays valid for the overlap', async () => {
      let atMs = Date.parse('2030-01-01T00:00:00Z')
      const clocked = open(() => atMs)
      const first = await clocked.create({ name: 'ada', role: 'analyst' }, COMMAND_LINE)
      const second = await clocked.rotate('ada.1', 60, COMMAND_LINE)
      expect(second.apiKey.earlierValidUntil).toBe('2030-01-01T00:01:00.000Z')
      atMs += 59_999
      for (const { text } of [first, second]) expect((await clocked.authenticate(text))?.name).toBe('ada')
      atMs += 1
      await expect(clocked.authenticate(first.text)).rejects.toThrow('replaced')
      expect((await clocked.authenticate(second.text))?.name).toBe('ada')
    })

    test('never extends the time of earlier texts, and with no overlap it ends all of them', async () => {
      let atMs = Date.parse('2030-01-01T00:00:00Z')
      const clocked = open(() => atMs)
      const first = await clocked.create({ name: 'ada', role: 'analyst' }, COMMAND_LINE)
      const second = await clocked.rotate('ada.1', 60, COMMAND_LINE)
      const third = await clocked.rotate('ada.1', 3_600, COMMAND_LINE)
      atMs += 60_000
      await expect(clocked.authenticate(first.text)).rejects.toThrow('replaced')
      expect((await clocked.authenticate(second.text))?.name).toBe('ada')
      await clocked.rotate('ada.1', 0, COMMAND_LINE)
      expect(await clocked.authenticate(second.text)).toBeUndefined()
      expect(await clocked.authenticate(third.text)).toBeUndefined()
    })
  })

  describe('a custodian limited to datasets', () => {
    const limited: Principal = { name: 'carol', role: 'custodian', datasets: ['census', 'pupils'] }

    test('creates keys for some of these datasets, and for no others', async () => {
      await create({ name: 'ada', role: 'analyst', datasets: ['census'] }, limited)
      await create({ name: 'dora', role: 'custodian', datasets: ['pupils', 'census'] }, limited)
      for (const datasets of [undefined, ['census', 'clinic'], ['clinic']])
        for (const role of ['analyst', 'custodian'] as const)
          await expect(
            create({ name: 'eve', role, ...(datasets === undefined ? {} : { datasets }) }, limited),
          ).rejects.toMatchObject({ code: 'forbidden' })
    })

    test('neither sees nor changes the keys for other datasets, nor adds keys to their principals', async () => {
      await create({ name: 'root', role: 'custodian' })
      await create({ name: 'eve', role: 'analyst', datasets: ['census', 'clinic'] })
      await create({ name: 'ada', role: 'analyst', datasets: ['census'] })
      expect((await store.list(limited)).map(({ id }) => id)).toEqual(['ada.1'])
      for (const id of ['root.1', 'eve.1', 'nobody.1']) {
        const unknown = { code: 'unknown-key', message: expect.stringContaining(`no key ${id}`) }
        await expect(store.rotate(id, 0, limited)).rejects.toMatchObject(unknown)
        await expect(store.delete(id, limited)).rejects.toMatchObject(unknown)
      }
      const joined = { role: 'custodian', datasets: ['census'], samePrincipal: true } as const
      await expect(create({ ...joined, name: 'root' }, limited)).rejects.toMatchObject({
        code: 'key-name-taken',
      })
    })
  })

  test('the last valid key of a custodian for all datasets cannot be deleted', async () => {
    await create({ name: 'carol', role: 'custodian' })
    await create({ name: 'dora', role: 'custodian', datasets: ['census'] })
    await create({ name: 'ada', role: 'analyst' })
    const last = { code: 'last-custodian-key' }
    await expect(store.delete('carol.1', COMMAND_LINE)).rejects.toMatchObject(last)
    await create({ name: 'carol', role: 'custodian', samePrincipal: true })
    // Two deletions at the same time: one of the keys remains.
    const outcomes = await Promise.allSettled(
      ['carol.1', 'carol.2'].map((id) => store.delete(id, COMMAND_LINE)),
    )
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    for (const id of ['dora.1', 'ada.1']) await store.delete(id, COMMAND_LINE)
  })
}

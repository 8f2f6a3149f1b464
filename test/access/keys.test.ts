import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createFirstKeys, createKey, openKeyRing } from '../../src/access/keys.ts'

let directory = ''
beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'sotto-keys-'))
})
afterEach(() => rm(directory, { recursive: true }))

test('the first start writes an analyst key and a custodian key that only the owner can read', async () => {
  expect(openKeyRing(directory)).toBeUndefined()
  await createFirstKeys(directory)
  const ring = openKeyRing(directory)
  for (const role of ['analyst', 'custodian'] as const) {
    const file = path.join(directory, `${role}.key`)
    const key = (await readFile(file, 'utf8')).trim()
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(await ring?.authenticate(key)).toEqual({ name: role, role })
  }
  expect((await stat(path.join(directory, 'keys.json'))).mode & 0o777).toBe(0o600)
})

test('keys are stored as digests only, and a second start creates no more keys', async () => {
  await createFirstKeys(directory)
  const analystKey = await readFile(path.join(directory, 'analyst.key'), 'utf8')
  const stored = await readFile(path.join(directory, 'keys.json'), 'utf8')
  expect(stored).not.toContain(analystKey.trim())
  await createFirstKeys(directory)
  expect(await readFile(path.join(directory, 'keys.json'), 'utf8')).toBe(stored)
  expect(await readFile(path.join(directory, 'analyst.key'), 'utf8')).toBe(analystKey)
})

test('an auditor key made before the first start does not prevent the keys of the other roles', async () => {
  const auditorKey = await createKey(directory, { name: 'ada', role: 'auditor' })
  await createFirstKeys(directory)
  const ring = openKeyRing(directory)
  expect((await ring?.authenticate(auditorKey))?.role).toBe('auditor')
  const custodianKey = (await readFile(path.join(directory, 'custodian.key'), 'utf8')).trim()
  expect((await ring?.authenticate(custodianKey))?.role).toBe('custodian')
})

test('an unknown text belongs to no principal', async () => {
  const key = await createKey(directory, { name: 'ada', role: 'auditor' })
  const ring = openKeyRing(directory)
  expect(await ring?.authenticate(key)).toEqual({ name: 'ada', role: 'auditor' })
  for (const wrong of ['', key.slice(0, -1), `${key} `, key.toUpperCase(), 'sotto_']) {
    expect(await ring?.authenticate(wrong)).toBeUndefined()
  }
})

test('a name can be used once and has only allowed characters', async () => {
  await createKey(directory, { name: 'ada', role: 'analyst' })
  await expect(createKey(directory, { name: 'ada', role: 'auditor' })).rejects.toThrow('taken')
  await expect(createKey(directory, { name: 'Ada!', role: 'analyst' })).rejects.toThrow('lower-case')
})

test('a damaged key ring stops the start', async () => {
  await writeFile(path.join(directory, 'keys.json'), '[{"name":"x","role":"emperor","sha256":""}]')
  expect(() => openKeyRing(directory)).toThrow('damaged')
})

import { readFile, rm, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { COMMAND_LINE, type NewKey } from '../../../../src/http/access/keys/key-changes.ts'
import { KeyFileFault } from '../../../../src/http/access/keys/key-file.ts'
import { createFirstKeys, type KeyStore, openKeyStore } from '../../../../src/http/access/keys/keys.ts'
import { createKey } from '../../../api-key.ts'
import { temporaryFolder } from '../../../folders.ts'
import { describeKeyStore } from './key-contract.ts'

let directory = ''
let store: KeyStore
beforeEach(() => {
  directory = temporaryFolder()
  store = openKeyStore(directory)
})

const keyFile = () => path.join(directory, 'keys.json')
const create = (request: NewKey) => store.create(request, COMMAND_LINE)

describe('the first start', () => {
  test('writes an analyst key and a custodian key that only the owner can read', async () => {
    await createFirstKeys(directory)
    for (const role of ['analyst', 'custodian'] as const) {
      const file = path.join(directory, `${role}.key`)
      const key = (await readFile(file, 'utf8')).trim()
      expect((await stat(file)).mode & 0o777).toBe(0o600)
      expect(await store.authenticate(key)).toEqual({ name: role, role, key: `${role}.1` })
    }
    expect((await stat(keyFile())).mode & 0o777).toBe(0o600)
  })

  test('keeps digests only, and a second start creates no more keys', async () => {
    await createFirstKeys(directory)
    const analystKey = await readFile(path.join(directory, 'analyst.key'), 'utf8')
    const stored = await readFile(keyFile(), 'utf8')
    expect(stored).not.toContain(analystKey.trim())
    await createFirstKeys(directory)
    expect(await readFile(keyFile(), 'utf8')).toBe(stored)
    expect(await readFile(path.join(directory, 'analyst.key'), 'utf8')).toBe(analystKey)
  })

  test('creates the keys of the other roles beside an auditor key made before', async () => {
    const auditorKey = await createKey(directory, { name: 'ada', role: 'auditor' })
    await createFirstKeys(directory)
    expect((await store.authenticate(auditorKey))?.role).toBe('auditor')
    const custodianKey = (await readFile(path.join(directory, 'custodian.key'), 'utf8')).trim()
    expect((await store.authenticate(custodianKey))?.role).toBe('custodian')
  })
})

test('an unknown text belongs to no principal', async () => {
  const key = await createKey(directory, { name: 'ada', role: 'auditor' })
  expect(await store.authenticate(key)).toEqual({ name: 'ada', role: 'auditor', key: 'ada.1' })
  for (const wrong of ['', key.slice(0, -1), `${key} `, key.toUpperCase(), 'sotto_'])
    expect(await store.authenticate(wrong)).toBeUndefined()
})

describeKeyStore(async () => (now) => openKeyStore(directory, now))

test.each([
  ['no JSON', '{"version":2'],
  ['a list of keys', '[{"name":"x","role":"analyst","sha256":""}]'],
  [
    'no digest',
    '{"version":2,"names":{},"acts":[],"keys":[{"id":"a.1","name":"a","role":"analyst","earlier":[]}]}',
  ],
  ['an unknown field', '{"version":2,"names":{},"acts":[],"keys":[],"more":1}'],
  ['an older version', '{"version":1}'],
  ['a newer version', '{"version":3}'],
])('a damaged file is reported and nobody is identified: %s', async (_, text) => {
  const { text: key } = await create({ name: 'ada', role: 'analyst' })
  await writeFile(keyFile(), text)
  for (const each of [store, openKeyStore(directory)])
    await expect(each.authenticate(key)).rejects.toThrow(KeyFileFault)
  await expect(createFirstKeys(directory)).rejects.toThrow(KeyFileFault)
  await expect(create({ name: 'bob', role: 'analyst' })).rejects.toThrow('keys.json')
  expect(await readFile(keyFile(), 'utf8')).toBe(text)
})

test('a missing file identifies nobody', async () => {
  const { text } = await create({ name: 'ada', role: 'analyst' })
  await rm(keyFile())
  await expect(store.authenticate(text)).rejects.toThrow('missing')
})

import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { COMMAND_LINE } from '../../../../src/http/access/keys/key-changes.ts'
import { openKeyDocument } from '../../../../src/http/access/keys/key-document.ts'
import { KeyFileFault } from '../../../../src/http/access/keys/key-file.ts'
import { createFirstKeys, openKeyStore } from '../../../../src/http/access/keys/keys.ts'
import { type Documents, openDocuments } from '../../../../src/ledger/documents/documents.ts'
import { describePostgres } from '../../../servers/postgres.ts'
import { describeKeyStore } from './key-contract.ts'

describePostgres('keys in PostgreSQL', (databases) => {
  const opened: Documents[] = []
  const openAt = async (url: string) => {
    const documents = await openDocuments(url)
    opened.push(documents)
    return documents
  }
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((documents) => documents.close()))
  })

  // Four replicas, each with its own connections.
  describeKeyStore(async () => {
    const url = await databases.createDatabase()
    const replicas = await Promise.all(Array.from({ length: 4 }, () => openAt(url)))
    let number = 0
    return (now) => {
      const replica = replicas[number++ % 4]
      if (replica === undefined) throw new Error('there are four')
      return openKeyStore(openKeyDocument(replica), now)
    }
  })

  test('the first start of several replicas creates the first keys once, in the folder of one of them', async () => {
    const url = await databases.createDatabase()
    const folders = await Promise.all([1, 2].map(() => mkdtemp(path.join(tmpdir(), 'sotto-first-'))))
    await Promise.all(
      folders.map(async (folder) => createFirstKeys(folder, openKeyDocument(await openAt(url)))),
    )
    const texts = await Promise.all(
      folders.map((folder) => readFile(path.join(folder, 'custodian.key'), 'utf8').catch(() => undefined)),
    )
    const [text, ...more] = texts.filter((each) => each !== undefined)
    expect(more).toEqual([])
    const store = openKeyStore(openKeyDocument(await openAt(url)))
    expect(await store.authenticate(text?.trim() ?? '')).toMatchObject({ role: 'custodian' })
    await Promise.all(folders.map((folder) => rm(folder, { recursive: true })))
  })

  test('damaged and missing keys identify nobody', async () => {
    const documents = await openAt(await databases.createDatabase())
    const store = openKeyStore(openKeyDocument(documents))
    await expect(store.list(COMMAND_LINE)).rejects.toThrow(KeyFileFault)
    const { text } = await store.create({ name: 'ada', role: 'analyst' }, COMMAND_LINE)
    const revision = (await documents.revisions('keys')).get('keys')
    await documents.write('keys', '{"version":2', revision)
    await expect(store.authenticate(text)).rejects.toThrow(KeyFileFault)
    await documents.remove(['keys'])
    await expect(store.authenticate(text)).rejects.toThrow(KeyFileFault)
  })
})

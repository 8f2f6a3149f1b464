import { access, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { openCatalog } from '../../../src/datasets/catalog/catalog.ts'
import { openEntryDocuments } from '../../../src/datasets/catalog/entry-documents.ts'
import { type Documents, openDocuments } from '../../../src/ledger/documents/documents.ts'
import { DocumentsFault } from '../../../src/ledger/documents/fault.ts'
import { describePostgres } from '../../servers/postgres.ts'
import { describeCatalog, entryOf } from './catalog-contract.ts'

const NO_ROWS = { open: async () => undefined, closeDataset: async () => undefined }

describePostgres('a catalog in PostgreSQL', (databases) => {
  const opened: Documents[] = []
  const folders: string[] = []
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((documents) => documents.close()))
    await Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true })))
  })
  /** Opens the catalog of a replica with a folder of its own. */
  const openReplica = async (url: string) => {
    const documents = await openDocuments(url)
    opened.push(documents)
    const folder = await mkdtemp(path.join(tmpdir(), 'sotto-catalog-'))
    folders.push(folder)
    return openCatalog(folder, { shared: true, entries: openEntryDocuments(documents) })
  }

  describeCatalog(async () => {
    const url = await databases.createDatabase()
    return () => openReplica(url)
  })

  test('of replicas that write the same entry at the same time, one succeeds, and the others read it', async () => {
    const url = await databases.createDatabase()
    const replicas = await Promise.all([1, 2, 3].map(() => openReplica(url)))
    for (const version of ['1', '2', '3']) {
      for (const replica of replicas) await replica.refresh(NO_ROWS)
      const outcomes = await Promise.allSettled(
        replicas.map((replica) => replica.add(entryOf('alpha', 'add-remove', version))),
      )
      expect(outcomes.filter(({ status }) => status === 'fulfilled').length).toBe(1)
      for (const outcome of outcomes)
        if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(DocumentsFault)
    }
    for (const replica of replicas) {
      await replica.refresh(NO_ROWS)
      expect(replica.get('alpha')?.dataset.version).toBe('3')
    }
  })

  test('rows that a replica keeps in its own folder are removed when another one withdraws the dataset', async () => {
    const url = await databases.createDatabase()
    const [ours, theirs] = [await openReplica(url), await openReplica(url)]
    await ours.add(entryOf('alpha', 'add-remove'))
    const rows = ours.rowsFile({ id: 'alpha', version: '1' })
    await mkdir(path.dirname(rows), { recursive: true })
    await writeFile(rows, 'rows')
    await theirs.refresh(NO_ROWS)
    await theirs.remove('alpha')
    await access(rows)
    await ours.refresh(NO_ROWS)
    await expect(access(rows)).rejects.toThrow('ENOENT')
  })

  test('a damaged entry stops the start', async () => {
    const url = await databases.createDatabase()
    await openReplica(url)
    await opened[0]?.write(
      'dataset/alpha',
      '{"format":5,"state":"registered","version":"9b19d719"}',
      undefined,
    )
    await expect(openReplica(url)).rejects.toThrow('damaged')
  })
})

import { access, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { type DatasetDeclaration, declareDataset } from '../../../src/core/dataset/declaration.ts'
import type { CatalogEntry } from '../../../src/core/dataset/entry.ts'
import { openCatalog } from '../../../src/datasets/catalog/catalog.ts'
import { copyCatalog } from '../../../src/datasets/catalog/copy.ts'
import { openEntryFolder } from '../../../src/datasets/catalog/entry-folder.ts'
import { keyedUnit } from '../../../src/datasets/catalog/person-key.ts'
import { temporaryFolder } from '../../folders.ts'
import { describeCatalog, entryOf } from './catalog-contract.ts'

let directory = ''
beforeEach(() => {
  directory = temporaryFolder()
})

describeCatalog(async () => () => openCatalog(directory, { shared: true }))

test('a live table has no rows of its own: its columns and the key of its people survive a restart and a copy', async () => {
  const catalog = await openCatalog(directory)
  const plain = entryOf('live', 'add-remove')
  const facts = {
    source: { kind: 'table', connection: 'warehouse', table: 'clinic.visits', mode: 'live' },
    privacyUnit: { kind: 'person', column: 'patient', maxRows: 2 },
    columns: [{ name: 'patient', type: 'identifier', nullable: false }, ...plain.declaration.columns],
  } as const
  const declaration: DatasetDeclaration = { ...plain.declaration, ...facts }
  const tableColumns = [
    { name: 'patient', type: 'text', notNull: true },
    { name: 'Age', type: 'integer', notNull: false },
  ]
  const dataset = declareDataset(declaration, '1')
  const entry: CatalogEntry = { ...plain, declaration, dataset, tableColumns }
  const workspace = await catalog.workspace(60_000)
  await keyedUnit(facts.privacyUnit, workspace.personKeyFile)
  await catalog.adopt(workspace, dataset)
  await catalog.add(entry)
  await workspace.remove()
  const copied = path.join(directory, '..', `${path.basename(directory)}-copy`)
  try {
    await copyCatalog(directory, copied)
    for (const folder of [directory, copied]) {
      const reopened = await openCatalog(folder)
      expect(reopened.list()).toEqual([entry])
      expect((await readdir(path.join(folder, 'live'))).sort()).toEqual(['1.person-key', 'dataset.json'])
      const unit = await reopened.keyedUnit(dataset)
      expect(unit).toMatchObject({ key: expect.stringMatching(/^[0-9a-f]{64}$/) })
    }
  } finally {
    await rm(copied, { recursive: true, force: true })
  }
})

test('files of other versions, and copies of the source, are removed at the next start', async () => {
  const catalog = await openCatalog(directory)
  await catalog.add(entryOf('alpha', 'add-remove', '2'))
  const folder = path.join(directory, 'alpha')
  for (const name of ['1.duckdb', '2.duckdb', '2.duckdb.source', '3.duckdb.partial']) {
    await writeFile(path.join(folder, name), 'rows')
  }
  await openCatalog(directory)
  expect((await readdir(folder)).sort()).toEqual(['2.duckdb', 'dataset.json'])
})

test('a damaged entry stops the start', async () => {
  await mkdir(path.join(directory, 'alpha'))
  await writeFile(
    path.join(directory, 'alpha', 'dataset.json'),
    '{"format":5,"state":"registered","version":"9b19d719"}',
  )
  await expect(openCatalog(directory)).rejects.toThrow('damaged')
})

test('a cut entry stops the start and is named', async () => {
  const file = path.join(directory, 'alpha', 'dataset.json')
  await mkdir(path.dirname(file))
  await writeFile(file, '{"format":5,"state":"regis')
  await expect(openCatalog(directory)).rejects.toThrow(`${file} is damaged: it is not JSON`)
})

test.each([4, 6])('an entry of format %d stops the start', async (format) => {
  const catalog = await openCatalog(directory)
  await catalog.add(entryOf('alpha', 'add-remove'))
  const file = path.join(directory, 'alpha', 'dataset.json')
  const stored = JSON.parse(await readFile(file, 'utf8'))
  await writeFile(file, JSON.stringify({ ...stored, format }))
  await expect(openCatalog(directory)).rejects.toThrow(
    `has format ${format}; this release of Sotto uses format 5 only`,
  )
})

test('a registration that was interrupted before publication is not visible, and its rows are removed', async () => {
  await mkdir(path.join(directory, 'half'))
  await writeFile(path.join(directory, 'half', '1.duckdb'), 'rows')
  await writeFile(path.join(directory, 'half', 'dataset.json.partial'), '{')
  expect((await openCatalog(directory)).list()).toEqual([])
  expect(await readdir(directory)).toEqual([])
})

test('a withdrawal that could not be written can be repeated', async () => {
  const folder = openEntryFolder(directory)
  let fails = false
  const write: typeof folder.write = async (id, entry) => {
    if (fails) throw new Error('the disk failed')
    await folder.write(id, entry)
  }
  const rows = { open: async () => undefined, closeDataset: async () => undefined }
  const catalog = await openCatalog(directory, { entries: { ...folder, write } })
  await catalog.add(entryOf('alpha', 'add-remove'))
  await catalog.refresh(rows)
  fails = true
  await expect(catalog.remove('alpha')).rejects.toThrow('the disk failed')
  fails = false
  await catalog.refresh(rows)
  expect(catalog.get('alpha')).toEqual(entryOf('alpha', 'add-remove'))
  await catalog.remove('alpha')
  expect((await openCatalog(directory)).get('alpha')).toBeUndefined()
})

test('in a shared folder, files of other processes are not removed', async () => {
  const half = path.join(directory, 'alpha')
  await mkdir(half)
  await writeFile(path.join(half, '1.duckdb'), 'rows that are being ingested')
  await openCatalog(directory, { shared: true })
  await access(path.join(half, '1.duckdb'))
  await openCatalog(directory)
  await expect(access(half)).rejects.toThrow('ENOENT')
})

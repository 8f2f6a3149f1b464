import { access, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type CatalogEntry, openCatalog } from '../../src/catalog/catalog.ts'
import { copyCatalog } from '../../src/catalog/copy.ts'
import { type DatasetDeclaration, declareDataset } from '../../src/catalog/declaration.ts'
import { openEntryFolder } from '../../src/catalog/entry-folder.ts'
import { keyedUnit } from '../../src/catalog/person-key.ts'
import { describeCatalog, entryOf } from './catalog-contract.ts'

let directory = ''
beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'sotto-catalog-'))
})
afterEach(() => rm(directory, { recursive: true }))

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

test('an entry of an earlier release gets the defaults of later declarations', async () => {
  const catalog = await openCatalog(directory)
  await catalog.add(entryOf('earlier', 'add-remove'))
  const file = path.join(directory, 'earlier', 'dataset.json')
  const stored = JSON.parse(await readFile(file, 'utf8'))
  const {
    source,
    accounting: _accounting,
    sharing: _sharing,
    timing: _timing,
    failureLimit: _failureLimit,
    queryLimits: _queryLimits,
    ...declaration
  } = stored.declaration
  const { kind: _kind, ...earlierSource } = source
  const writeEarlier = (synthetic: boolean) =>
    writeFile(
      file,
      JSON.stringify({ ...stored, declaration: { ...declaration, synthetic, source: earlierSource } }),
    )
  await writeEarlier(false)
  expect((await openCatalog(directory)).get('earlier')).toEqual(catalog.get('earlier'))
  await writeEarlier(true)
  expect((await openCatalog(directory)).get('earlier')?.dataset).toMatchObject({
    timing: 'off',
    queryLimits: {},
  })
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
    '{"state":"registered","version":"9b19d719"}',
  )
  await expect(openCatalog(directory)).rejects.toThrow('damaged')
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

test('a column that an earlier release declared as selectable is not selectable, because its values were not checked', async () => {
  const catalog = await openCatalog(directory)
  const entry = entryOf('earlier', 'add-remove')
  const limits = { maxValues: 5, maxLength: 10 }
  const declaration: DatasetDeclaration = {
    ...entry.declaration,
    columns: [
      { name: 'Checked', type: 'string', nullable: true, selectable: limits },
      { name: 'Unchecked', type: 'string', nullable: true, selectable: true },
    ],
  }
  await catalog.add({ ...entry, declaration, dataset: declareDataset(declaration, '1') })
  const read = (await openCatalog(directory)).get('earlier')
  expect(read?.dataset.columns.map((column) => 'selectable' in column && column.selectable)).toEqual([
    limits,
    false,
  ])
  expect(read?.declaration.columns[1]).not.toHaveProperty('selectable')
})

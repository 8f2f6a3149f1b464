import { access, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type CatalogEntry, openCatalog, type RowsOpener } from '../../src/catalog/catalog.ts'
import { copyCatalog } from '../../src/catalog/copy.ts'
import { type DatasetDeclaration, declareDataset } from '../../src/catalog/declaration.ts'
import { keyedUnit, readKeyedUnit } from '../../src/catalog/person-key.ts'

let directory = ''
beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'sotto-catalog-'))
})
afterEach(() => rm(directory, { recursive: true }))

function entryOf(id: string, neighbours: DatasetDeclaration['neighbours'], version = '1'): CatalogEntry {
  const declaration: DatasetDeclaration = {
    id,
    title: 'People',
    source: { kind: 'file', path: 'people.csv', format: 'csv' },
    columns: [{ name: 'Age', type: 'integer', lower: 0, upper: 120, step: 1, nullable: true }],
    privacyUnit: { kind: 'row' },
    neighbours,
    synthetic: false,
    accounting: 'basic',
    sharing: false,
    timing: { slotMs: 50 },
    failureLimit: 3,
    queryLimits: { minEpsilon: 0.001 },
  }
  const dataset = declareDataset(declaration, version, 17)
  const units = dataset.rows === undefined ? {} : { rows: dataset.rows }
  return {
    declaration,
    budget: { epsilon: 1, delta: 0 },
    dataset,
    registeredAt: '2026-01-02T03:04:05.000Z',
    versions: [{ version, publishedAt: '2026-01-02T03:04:05.000Z', ...units }],
    sourceDigest: 'ab'.repeat(32),
  }
}

test('entries survive a restart, exactly', async () => {
  const catalog = await openCatalog(directory)
  await catalog.add(entryOf('beta', 'change-one'))
  await catalog.add(entryOf('alpha', 'add-remove'))
  const reopened = await openCatalog(directory)
  expect(reopened.list()).toEqual([entryOf('alpha', 'add-remove'), entryOf('beta', 'change-one')])
  expect(reopened.get('beta')?.dataset.rows).toBe(17)
})

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
      const unit = await readKeyedUnit(facts.privacyUnit, reopened.personKeyFile(dataset))
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

test('the private number of rows is not stored', async () => {
  const catalog = await openCatalog(directory)
  await catalog.add(entryOf('alpha', 'add-remove'))
  expect((await openCatalog(directory)).get('alpha')?.dataset).not.toHaveProperty('rows')
})

test('a removed dataset stays removed, with its rows, and its version is not used again', async () => {
  const catalog = await openCatalog(directory)
  expect(catalog.lastVersion('alpha')).toBe(0)
  expect(catalog.lastDeclared('alpha')).toEqual({})
  await catalog.add(entryOf('alpha', 'add-remove'))
  expect(catalog.lastVersion('alpha')).toBe(1)
  const rows = catalog.rowsFile({ id: 'alpha', version: '1' })
  await writeFile(rows, 'rows')
  await catalog.remove('alpha')
  await expect(access(rows)).rejects.toThrow('ENOENT')
  for (const opened of [catalog, await openCatalog(directory)]) {
    expect(opened.get('alpha')).toBeUndefined()
    expect(opened.list()).toEqual([])
    expect(opened.wasRemoved('alpha')).toBe(true)
    expect(opened.lastVersion('alpha')).toBe(1)
    expect(opened.lastDeclared('alpha')).toMatchObject({ neighbours: 'add-remove', synthetic: false })
    expect(opened.registeredSources()).toMatchObject([
      { dataset: 'alpha', digest: 'ab'.repeat(32), synthetic: false },
    ])
  }
  await catalog.add(entryOf('alpha', 'add-remove', '2'))
  expect(catalog.wasRemoved('alpha')).toBe(false)
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

test('datasets that another process adds, replaces or removes are followed, once their rows are open', async () => {
  const ours = await openCatalog(directory, { shared: true })
  const theirs = await openCatalog(directory, { shared: true })
  const calls: string[] = []
  let fails = true
  const rows: RowsOpener = {
    open: async ({ dataset: { id, version } }) => {
      if (fails) throw new Error('not yet')
      calls.push(`open ${id} ${version} ${ours.get(id)?.dataset.version}`)
    },
    closeDataset: async ({ id, version }) => {
      calls.push(`close ${id} ${version} ${ours.get(id)?.dataset.version}`)
    },
  }
  await ours.refresh(rows)
  await theirs.add(entryOf('alpha', 'change-one'))
  await expect(ours.refresh(rows)).rejects.toThrow('not yet')
  expect(ours.get('alpha')).toBeUndefined()
  fails = false
  await ours.refresh(rows)
  expect(ours.get('alpha')).toEqual(entryOf('alpha', 'change-one'))
  await ours.refresh(rows)
  await theirs.remove('alpha')
  await ours.refresh(rows)
  expect([ours.get('alpha'), ours.wasRemoved('alpha'), ours.lastVersion('alpha')]).toEqual([
    undefined,
    true,
    1,
  ])
  await theirs.add(entryOf('alpha', 'change-one', '2'))
  await theirs.remove('alpha')
  await theirs.add(entryOf('alpha', 'change-one', '3'))
  await ours.add(entryOf('beta', 'change-one'))
  await ours.refresh(rows)
  expect(ours.get('alpha')?.dataset.version).toBe('3')
  // Rows are opened before queries can reach them, and closed afterwards. Datasets added by this process are open
  // already.
  expect(calls).toEqual(['open alpha 1 undefined', 'close alpha 1 undefined', 'open alpha 3 undefined'])
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

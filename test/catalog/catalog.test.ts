import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type CatalogEntry, openCatalog } from '../../src/catalog/catalog.ts'
import { type DatasetDeclaration, declareDataset } from '../../src/catalog/declaration.ts'

let directory = ''
beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'sotto-catalog-'))
})
afterEach(() => rm(directory, { recursive: true }))

function entryOf(id: string, neighbours: DatasetDeclaration['neighbours']): CatalogEntry {
  const declaration: DatasetDeclaration = {
    id,
    title: 'People',
    source: { path: 'people.csv', format: 'csv' },
    columns: [{ name: 'Age', type: 'integer', lower: 0, upper: 120, step: 1, nullable: true }],
    privacyUnit: { kind: 'row' },
    neighbours,
    synthetic: false,
  }
  return {
    declaration,
    dataset: declareDataset(declaration, 'v1', 17),
    registeredAt: '2026-01-02T03:04:05.000Z',
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

test('the private number of rows is not even written down', async () => {
  const catalog = await openCatalog(directory)
  await catalog.add(entryOf('alpha', 'add-remove'))
  expect((await openCatalog(directory)).get('alpha')?.dataset).not.toHaveProperty('rows')
})

test('what is removed stays removed, with its rows', async () => {
  const catalog = await openCatalog(directory)
  await catalog.add(entryOf('alpha', 'add-remove'))
  await writeFile(catalog.rowsFile({ id: 'alpha', version: 'v1' }), 'rows')
  await catalog.remove('alpha')
  expect(catalog.get('alpha')).toBeUndefined()
  expect((await openCatalog(directory)).list()).toEqual([])
})

test('a registration that was cut off before it was published is not there, and its rows are removed', async () => {
  await mkdir(path.join(directory, 'half'))
  await writeFile(path.join(directory, 'half', 'v1.duckdb'), 'rows')
  await writeFile(path.join(directory, 'half', 'dataset.json.partial'), '{')
  expect((await openCatalog(directory)).list()).toEqual([])
  expect(await readdir(directory)).toEqual([])
})

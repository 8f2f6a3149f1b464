import { access, mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { type DatasetDeclaration, declareDataset } from '../../../src/core/dataset/declaration.ts'
import type { CatalogEntry } from '../../../src/core/dataset/entry.ts'
import type { Catalog, RowsOpener } from '../../../src/datasets/catalog/catalog.ts'
import { keyedUnit } from '../../../src/datasets/catalog/person-key.ts'

/** Opens the same catalog, as another process would. */
export type OpenSharedCatalog = () => Promise<Catalog>

export function entryOf(
  id: string,
  neighbours: DatasetDeclaration['neighbours'],
  version = '1',
): CatalogEntry {
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
    peopleDigests: ['ab'.repeat(32)],
    ingestion: {
      rowsRead: 17,
      rowsWithoutIdentifier: 0,
      rowsBeyondMaxRows: 0,
      rowsStored: 17,
      invalidValues: [],
      clampedValues: [],
    },
  }
}

/**
 * Describes what every catalog does that several processes share.
 * @param openPlace returns a way to open a new, empty catalog
 */
export function describeCatalog(openPlace: () => Promise<OpenSharedCatalog>): void {
  let open: OpenSharedCatalog
  beforeEach(async () => {
    open = await openPlace()
  })

  test('entries survive a restart, exactly', async () => {
    const catalog = await open()
    await catalog.add(entryOf('beta', 'change-one'))
    await catalog.add(entryOf('alpha', 'add-remove'))
    const reopened = await open()
    expect(reopened.list()).toEqual([entryOf('alpha', 'add-remove'), entryOf('beta', 'change-one')])
    expect(reopened.get('beta')?.dataset.rows).toBe(17)
  })

  test('the private number of rows is not stored', async () => {
    const catalog = await open()
    await catalog.add(entryOf('alpha', 'add-remove'))
    expect((await open()).get('alpha')?.dataset).not.toHaveProperty('rows')
  })

  test('a removed dataset stays removed, with its rows, and its version is not used again', async () => {
    const catalog = await open()
    expect(catalog.lastVersion('alpha')).toBe(0)
    await catalog.add(entryOf('alpha', 'add-remove'))
    expect(catalog.lastVersion('alpha')).toBe(1)
    const rows = catalog.rowsFile({ id: 'alpha', version: '1' })
    await mkdir(path.dirname(rows), { recursive: true })
    await writeFile(rows, 'rows')
    await catalog.remove('alpha')
    await expect(access(rows)).rejects.toThrow('ENOENT')
    for (const opened of [catalog, await open()]) {
      expect(opened.get('alpha')).toBeUndefined()
      expect(opened.list()).toEqual([])
      expect(opened.wasRemoved('alpha')).toBe(true)
      expect(opened.lastVersion('alpha')).toBe(1)
      expect(opened.registeredSources()).toMatchObject([
        { dataset: 'alpha', digest: 'ab'.repeat(32), synthetic: false },
      ])
    }
    await catalog.add(entryOf('alpha', 'add-remove', '2'))
    expect(catalog.wasRemoved('alpha')).toBe(false)
  })

  test('datasets that another process adds, replaces or removes are followed, once their rows are open', async () => {
    const ours = await open()
    const theirs = await open()
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

  test('the key of people survives a restart, and goes with its version', async () => {
    const catalog = await open()
    const plain = entryOf('live', 'add-remove')
    const facts = {
      source: { kind: 'table', connection: 'warehouse', table: 'clinic.visits', mode: 'live' },
      privacyUnit: { kind: 'person', column: 'patient', maxRows: 2 },
      columns: [{ name: 'patient', type: 'identifier', nullable: false }, ...plain.declaration.columns],
    } as const
    const declaration: DatasetDeclaration = { ...plain.declaration, ...facts }
    const dataset = declareDataset(declaration, '1')
    const adopt = async () => {
      const workspace = await catalog.workspace(60_000)
      const unit = await keyedUnit(facts.privacyUnit, workspace.personKeyFile)
      await catalog.adopt(workspace, dataset)
      await workspace.remove()
      return unit
    }
    // The first publication is interrupted before its entry is written.
    await adopt()
    const unit = await adopt()
    await catalog.add({ ...plain, declaration, dataset })
    expect(await (await open()).keyedUnit(dataset)).toEqual(unit)
    await catalog.remove('live')
    await expect((await open()).keyedUnit(dataset)).rejects.toThrow()
  })
}

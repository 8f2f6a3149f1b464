import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { Dataset } from '../../core/dataset/dataset.ts'
import type { Catalog } from '../../datasets/catalog/catalog.ts'
import type { Registry } from '../../datasets/registration/registry.ts'
import type { Budgets } from '../../ledger/contract/budgets.ts'
import { lossNumbers } from '../../privacy/loss.ts'

/** One person of the registered pairs. */
type AuditedPerson = {
  readonly Age: number
  readonly Income: number
  readonly Sex: 'F' | 'M'
  readonly City: string
}

const EVERYBODY: readonly AuditedPerson[] = [
  { Age: 20, Income: 0, Sex: 'F', City: 'Northport' },
  { Age: 31, Income: 12.5, Sex: 'M', City: 'Northport' },
  { Age: 45, Income: 40, Sex: 'F', City: 'Eastfield' },
  { Age: 45, Income: 41.5, Sex: 'M', City: 'Eastfield' },
  { Age: 62, Income: 75, Sex: 'F', City: 'Northport' },
]
/** A row at the declared bounds, in a city that no other row has. It moves a release as far as one person can. */
const ONE_MORE: AuditedPerson = { Age: 100, Income: 100, Sex: 'M', City: 'Westhaven' }
/** Replaces {@link ONE_MORE} if the number of people is public. */
const ANOTHER: AuditedPerson = { Age: 0, Income: 0, Sex: 'F', City: 'Southmere' }

const COLUMNS = [
  { name: 'Age', type: 'integer', lower: 0, upper: 100, step: 1, nullable: false },
  { name: 'Income', type: 'number', lower: 0, upper: 100, step: 0.5, nullable: false },
  { name: 'Sex', type: 'category', categories: ['F', 'M'], nullable: false },
  { name: 'City', type: 'string', selectable: true, nullable: false },
] as const

/**
 * Two pairs of neighbouring datasets, one for each kind of neighbours. Their people are synthetic, and are shown in
 * full.
 */
export const AUDITED_DATASETS = [
  { id: 'audit-without', neighbours: 'add-remove', neighbour: 'audit-with', people: EVERYBODY },
  {
    id: 'audit-with',
    neighbours: 'add-remove',
    neighbour: 'audit-without',
    people: [...EVERYBODY, ONE_MORE],
  },
  {
    id: 'audit-before',
    neighbours: 'change-one',
    neighbour: 'audit-after',
    people: [...EVERYBODY, ONE_MORE],
  },
  { id: 'audit-after', neighbours: 'change-one', neighbour: 'audit-before', people: [...EVERYBODY, ANOTHER] },
] as const

/**
 * Writes the audited datasets into the data folder and registers those that are neither registered nor withdrawn. An
 * existing budget is not changed.
 * @throws Error if the data folder has another file of the same name, which is not overwritten.
 */
export async function registerAuditedDatasets(
  registry: Registry,
  catalog: Catalog,
  ledger: Pick<Budgets, 'budget'>,
  dataDirectory: string,
): Promise<void> {
  for (const audited of AUDITED_DATASETS) {
    const { id, neighbours, people } = audited
    if (catalog.get(id) !== undefined || catalog.wasRemoved(id)) continue
    const source = sourceOf(audited)
    const lines = people.map(({ Age, Income, Sex, City }) => [Age, Income, Sex, City].join(','))
    const text = ['Age,Income,Sex,City', ...lines, ''].join('\n')
    await writeUnlessThere(path.join(dataDirectory, source.path), text)
    const before = await ledger.budget(id)
    await registry.register(
      {
        id,
        title: TITLE,
        source,
        columns: COLUMNS,
        privacyUnit: { kind: 'row' },
        neighbours,
        budget: before === undefined ? { epsilon: 1, delta: 1e-6 } : lossNumbers(before.granted),
        synthetic: true,
        accounting: before?.cap.accounting ?? 'basic',
        sharing: false,
      },
      { principal: 'sotto' },
    )
  }
}

const TITLE = 'Made-up people for auditors'

function sourceOf({ id }: (typeof AUDITED_DATASETS)[number]) {
  return { kind: 'file', path: `${id}.csv`, format: 'csv' } as const
}

async function writeUnlessThere(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text, { flag: 'wx' })
  } catch (error) {
    if ((await readFile(file, 'utf8').catch(() => undefined)) === text) return
    throw new Error(
      `${path.basename(file)} in the data folder is not the audit file of this release; move it elsewhere`,
      {
        cause: error,
      },
    )
  }
}

/** The audited datasets that are registered with their original rows. */
export function auditedDatasets(find: (id: string) => Dataset | undefined) {
  return AUDITED_DATASETS.filter((audited) => {
    const dataset = find(audited.id)
    if (dataset?.title !== TITLE || dataset.source.kind !== 'file') return false
    return dataset.source.path === sourceOf(audited).path && dataset.synthetic
  })
}

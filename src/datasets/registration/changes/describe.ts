import type { CatalogEntry } from '../../../core/dataset/entry.ts'
import { canonicalJson } from '../../../ledger/canonical.ts'
import { unknownDataset } from '../../../privacy/refusal.ts'
import { datasetOf } from '../../catalog/entry-file.ts'
import type { RegistryContext } from '../context.ts'
import { type DescriptionChange, describeAgain } from './description.ts'

/**
 * Changes the title and the descriptions of a dataset. The same texts again change nothing.
 * @throws Refusal `unknown-dataset`, or `invalid-request` for a column that is not declared.
 */
export async function describeDataset(
  { catalog, ledger, alone }: RegistryContext,
  id: string,
  change: DescriptionChange,
  principal: string,
): Promise<CatalogEntry> {
  return alone(async (requireAlone) => {
    const entry = catalog.get(id)
    if (entry === undefined) throw unknownDataset(id)
    const declaration = describeAgain(entry.declaration, change)
    if (canonicalJson(declaration) === canonicalJson(entry.declaration)) return entry
    const { version, rows, people } = entry.dataset
    const dataset = datasetOf(declaration, entry.versions, rows ?? people)
    const facts = { version, changed: changedParts(change) }
    await ledger.recordAct({ kind: 'dataset-described', principal, subject: id, facts })
    await requireAlone()
    const described = { ...entry, declaration, dataset }
    await catalog.add(described)
    return described
  })
}

function changedParts(change: DescriptionChange): readonly string[] {
  return (['title', 'description', 'columns'] as const).filter((part) => change[part] !== undefined)
}

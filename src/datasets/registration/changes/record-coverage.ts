import type { Coverage, DatasetVersion } from '../../../core/dataset/dataset.ts'
import type { CatalogEntry } from '../../../core/dataset/entry.ts'
import type { RegistryContext } from '../context.ts'

/**
 * Adds what was measured about a version to the public facts of its dataset.
 * @returns the entry; `undefined` if another version has replaced the measured one.
 */
export function recordCoverage(
  { catalog, alone }: RegistryContext,
  { id, version }: DatasetVersion,
  coverage: Coverage,
): Promise<CatalogEntry | undefined> {
  return alone(async (requireAlone) => {
    const entry = catalog.get(id)
    if (entry?.dataset.version !== version) return undefined
    const versions = entry.versions.map((each) => (each.version === version ? { ...each, coverage } : each))
    const measured = { ...entry, versions, dataset: { ...entry.dataset, coverage } }
    await requireAlone()
    await catalog.add(measured)
    return measured
  })
}

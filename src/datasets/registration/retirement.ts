import { type Dataset, earlierVersions } from '../../core/dataset/dataset.ts'
import type { DatasetEngine } from '../../engines/routing.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { VersionUses } from '../catalog/version-uses.ts'

/** Keeps replaced versions open until the last request that was planned on them has ended. */
export interface Retirement {
  /**
   * Closes a version that was replaced, in the background, once nothing uses it.
   * @param remove true if the rows are then removed as well
   */
  retire(dataset: Dataset, remove: boolean): void
  /** Closes a withdrawn dataset, with all earlier versions of it. */
  close(dataset: Dataset): Promise<void>
  /** Closes a version that is no longer in the catalog, because it was replaced or withdrawn by another process. */
  closeReplaced(dataset: Dataset): Promise<void>
}

interface RetirementDependencies {
  readonly catalog: Catalog
  readonly engine: DatasetEngine
  readonly versionUses: VersionUses
  /** Receives failures of the background work. */
  readonly onError: (error: unknown) => void
}

/** Creates the retirement of the versions of one process. */
export function createRetirement(dependencies: RetirementDependencies): Retirement {
  const { catalog, engine, versionUses, onError } = dependencies
  const retiring = new Set<Dataset>()

  const retire = (dataset: Dataset, remove: boolean): void => {
    retiring.add(dataset)
    const step = async () => {
      await versionUses.unused(dataset)
      await engine.closeDataset(dataset)
      if (remove) await catalog.discard(dataset)
    }
    step()
      .catch(onError)
      .finally(() => retiring.delete(dataset))
  }

  const close = async (dataset: Dataset): Promise<void> => {
    const earlier = [...retiring].filter(({ id }) => id === dataset.id)
    await Promise.all([dataset, ...earlier].map(engine.closeDataset))
  }

  return {
    retire,
    close,
    async closeReplaced(dataset) {
      const now = catalog.get(dataset.id)?.dataset
      if (now !== undefined && earlierVersions(now).includes(dataset.version)) retire(dataset, false)
      else await close(dataset)
    },
  }
}

import { type DatasetVersion, versionKey } from '../../core/dataset/dataset.ts'

/** Counts the requests that use each version of a dataset, so that its rows are kept until the last one has ended. */
export interface VersionUses {
  /**
   * Runs a task that reads a version which is in the catalog now. The version counts as used before this returns, so that
   * the caller must not wait between reading the catalog and calling this.
   */
  during<Result>(dataset: DatasetVersion, task: () => Promise<Result>): Promise<Result>
  /** Resolves once no task uses a version. */
  unused(dataset: DatasetVersion): Promise<void>
}

/** The number of tasks that use a version, and their end. */
interface Use {
  tasks: number
  readonly ended: PromiseWithResolvers<void>
}

/**
 * Creates the counts of one process.
 * @param requireRows throws a refusal for a version that this process cannot read
 */
export function createVersionUses(
  requireRows: (dataset: DatasetVersion) => void = () => undefined,
): VersionUses {
  const uses = new Map<string, Use>()
  return {
    async during(dataset, task) {
      requireRows(dataset)
      const key = versionKey(dataset)
      const use = uses.get(key) ?? { tasks: 0, ended: Promise.withResolvers<void>() }
      uses.set(key, use)
      use.tasks += 1
      try {
        return await task()
      } finally {
        use.tasks -= 1
        if (use.tasks === 0) {
          uses.delete(key)
          use.ended.resolve()
        }
      }
    },
    async unused(dataset) {
      await uses.get(versionKey(dataset))?.ended.promise
    },
  }
}

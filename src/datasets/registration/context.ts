import type { CatalogEntry } from '../../core/dataset/entry.ts'
import type { SourceBounds } from '../../engines/duckdb/ingestion/bounds.ts'
import type { DatasetEngine } from '../../engines/routing.ts'
import type { Acts } from '../../ledger/contract/acts.ts'
import type { Budgets } from '../../ledger/contract/budgets.ts'
import type { Chain } from '../../ledger/contract/chain.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { PrivacyLoss } from '../../privacy/loss.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { VersionUses } from '../catalog/version-uses.ts'
import type { Ingestions } from './ingestions.ts'
import type { Retirement } from './retirement.ts'
import type { Connections } from './sources/table.ts'

/** Dependencies of registrations. */
export interface RegistryDependencies {
  readonly catalog: Catalog
  readonly engine: DatasetEngine
  /** The databases whose tables may be registered. */
  readonly connections: Connections
  readonly ledger: Acts & Budgets & Chain & Pick<Ledger, 'exclusively'>
  /** The folder below which source files are; an absolute path. */
  readonly dataDirectory: string
  /** Counts the requests under way on each version. */
  readonly versionUses: VersionUses
  /** Receives failures of work in the background. */
  readonly onError: (error: unknown) => void
  /** Time limit for copying and ingesting a source. */
  readonly ingestTimeoutMs: number
  /** Bounds on source files; the defaults of ingestion where absent. */
  readonly sourceBounds?: Partial<SourceBounds>
}

/** A custodian who changes a dataset. */
export interface Custodian {
  readonly principal: string
  /** Ids of the datasets that the custodian may use; all of them if absent. */
  readonly datasets?: readonly string[] | undefined
  /** Aborted once the client has disconnected. Stops an ingestion. */
  readonly givenUp?: AbortSignal | undefined
}

/** A registered dataset and its whole budget. */
export interface Registered {
  readonly entry: CatalogEntry
  readonly granted: PrivacyLoss
  /** False if the same registration was made before. */
  readonly created: boolean
}

/** A registration that was checked and not made. */
export interface TriedRegistration extends Pick<CatalogEntry, 'dataset' | 'ingestion'> {
  readonly leftOut: CatalogEntry['declaration']['leftOut']
  readonly granted: PrivacyLoss
}

/** A version of a dataset that was published. */
export interface NewVersion {
  readonly entry: CatalogEntry
  /** False if the present version has the same rows and declaration. */
  readonly created: boolean
}

/** A version that was checked and not published. */
export interface TriedVersion extends Pick<CatalogEntry, 'ingestion'> {
  /** True if the present version has the same rows and declaration, so that publishing changes nothing. */
  readonly isUnchanged: boolean
}

/** Dependencies of each change of a dataset. */
export interface RegistryContext extends RegistryDependencies {
  readonly ingestions: Ingestions
  readonly retirement: Retirement
  /**
   * Runs a short task with exclusive access to the catalog, after the changes of other replicas have been read, so that
   * no version is assigned twice. Ingestions run outside of it, so that no other change waits for them.
   * @param task must await `requireAlone` just before it publishes, as for `Ledger.exclusively`
   */
  alone<Result>(task: (requireAlone: () => Promise<void>) => Promise<Result>): Promise<Result>
}

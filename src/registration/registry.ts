import type { Catalog, CatalogEntry, RowsOpener } from '../catalog/catalog.ts'
import type { DescriptionChange } from '../catalog/description.ts'
import type { VersionUses } from '../catalog/version-uses.ts'
import { createLimiter, LimiterFull } from '../concurrency/limiter.ts'
import type { SourceBounds } from '../engines/duckdb/ingest-bounds.ts'
import type { DatasetEngine } from '../engines/routing.ts'
import type { Budget, Ledger } from '../ledger/ledger.ts'
import type { PrivacyLoss } from '../privacy/loss.ts'
import { Refusal } from '../privacy/refusal.ts'
import { describeDataset } from './describe.ts'
import { createIngestions, type Ingestions, type ListedIngestion } from './ingestions.ts'
import { publishVersion, tryVersion, type VersionRequest } from './new-version.ts'
import { register, tryRegistration } from './register.ts'
import { recordSources } from './registered-sources.ts'
import type { RegistrationRequest } from './registration.ts'
import { type BudgetReplacement, replaceBudget } from './replace-budget.ts'
import { createRetirement, type Retirement } from './retirement.ts'
import type { Connections } from './sources/table.ts'
import { readTableState, type TableState } from './table-state.ts'
import { withdraw } from './withdraw.ts'

/** Dependencies of registrations. */
export interface RegistryDependencies {
  readonly catalog: Catalog
  readonly engine: DatasetEngine
  /** The databases whose tables may be registered. */
  readonly connections: Connections
  readonly ledger: Ledger
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
export interface TriedRegistration extends Required<Pick<CatalogEntry, 'dataset' | 'ingestion'>> {
  readonly granted: PrivacyLoss
}

/** A version of a dataset that was published. */
export interface NewVersion {
  readonly entry: CatalogEntry
  /** False if the present version has the same rows and declaration. */
  readonly created: boolean
}

/** A version that was checked and not published. */
export interface TriedVersion extends Required<Pick<CatalogEntry, 'ingestion'>> {
  /** True if the present version has the same rows and declaration, so that publishing changes nothing. */
  readonly isUnchanged: boolean
}

/** Registers and withdraws datasets. Sources are ingested at the same time, changes are published one at a time. */
export interface Registry {
  /**
   * Registers a dataset: checks the declaration, ingests the source, opens the budget, publishes. The same registration
   * again changes nothing.
   * @throws Refusal for a broken rule, or if the ingestion was stopped; then nothing is left behind.
   */
  register(request: RegistrationRequest, custodian: Custodian): Promise<Registered>
  /**
   * Checks a registration and its source, and publishes and records nothing.
   * @throws Refusal as `register` does.
   */
  tryRegistration(request: RegistrationRequest, custodian: Custodian): Promise<TriedRegistration>
  /**
   * Publishes new rows of a dataset under its declaration, which they may widen, and its budget. The same rows again change
   * nothing.
   * @throws Refusal for a broken rule, or if the ingestion was stopped; then nothing is left behind.
   */
  publishVersion(id: string, request: VersionRequest, custodian: Custodian): Promise<NewVersion>
  /**
   * Checks a new version and its source, and publishes and records nothing.
   * @throws Refusal as `publishVersion` does.
   */
  tryVersion(id: string, request: VersionRequest, custodian: Custodian): Promise<TriedVersion>
  /** Ingestions of this process that wait or run and can still be stopped, newest first. */
  listIngestions(): readonly ListedIngestion[]
  /**
   * Stops an ingestion of this process, so that nothing of it is published or recorded.
   * @returns false if none with this id can be stopped
   */
  stopIngestion(id: string): boolean
  /**
   * Changes the title and the descriptions of a dataset.
   * @throws Refusal `unknown-dataset`, or `invalid-request` for a column that is not declared.
   */
  describe(id: string, change: DescriptionChange, principal: string): Promise<CatalogEntry>
  /**
   * Replaces the cap of an id from which nothing was spent.
   * @throws Refusal `unknown-dataset` without a budget, `budget-spent` once something was spent
   */
  replaceBudget(id: string, replacement: BudgetReplacement, principal: string): Promise<Budget>
  /**
   * Compares the present columns of a live table with those of its registration.
   * @returns `undefined` if the id is no dataset over a live table
   */
  tableState(id: string): Promise<TableState | undefined>
  /**
   * Withdraws a dataset and deletes its ingested rows. The id keeps its budget and its spending.
   * @throws Refusal `unknown-dataset`
   */
  withdraw(id: string, principal: string): Promise<void>
  /**
   * Records the sources of all registrations in the ledger. Earlier releases did not.
   * @returns the ids whose source is synthetic here and was registered as real elsewhere
   */
  recordSources(): Promise<readonly string[]>
  /** Reads what other processes on the same data folder have registered or withdrawn. */
  refresh(): Promise<void>
  /** Stops the ingestions under way. */
  close(): Promise<void>
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

/** The number of changes that wait for the one under way. */
const MAX_WAITING = 100

/** A registry over a catalog, an engine and a ledger. */
export function createRegistry(dependencies: RegistryDependencies): Registry {
  const { catalog, engine, ledger, ingestTimeoutMs } = dependencies
  const limiter = createLimiter({ concurrency: 1, maxWaiting: MAX_WAITING })
  const ingestions = createIngestions({ catalog, timeLimitMs: ingestTimeoutMs })
  const oneAtATime = <Result>(task: () => Promise<Result>): Promise<Result> =>
    limiter.run(task).catch((error: unknown) => {
      if (!(error instanceof LimiterFull)) throw error
      const detail = 'Too many registrations are waiting. Retry later.'
      throw new Refusal('unavailable', detail, [], { retryAfterSeconds: 1 })
    })
  const retirement = createRetirement(dependencies)
  const rows: RowsOpener = {
    open: (entry) => engine.open(entry),
    closeDataset: retirement.closeReplaced,
  }
  const context: RegistryContext = {
    ...dependencies,
    ingestions,
    retirement,
    alone: (task) =>
      oneAtATime(() =>
        ledger
          .exclusively(async (requireAlone) => {
            await catalog.refresh(rows)
            return task(requireAlone)
          })
          .finally(ingestions.stopOvertaken),
      ),
  }
  return {
    register: (request, custodian) => register(context, request, custodian),
    tryRegistration: (request, custodian) => tryRegistration(context, request, custodian),
    publishVersion: (id, request, custodian) => publishVersion(context, id, request, custodian),
    tryVersion: (id, request, custodian) => tryVersion(context, id, request, custodian),
    listIngestions: ingestions.list,
    stopIngestion: ingestions.stop,
    describe: (id, change, principal) => describeDataset(context, id, change, principal),
    replaceBudget: (id, replacement, principal) => replaceBudget(context, id, replacement, principal),
    tableState: async (id) => {
      const entry = catalog.get(id)
      return entry === undefined ? undefined : readTableState(dependencies.connections, entry)
    },
    withdraw: (id, principal) => withdraw(context, id, principal),
    recordSources: () => recordSources(dependencies),
    refresh: () => oneAtATime(() => catalog.refresh(rows).finally(ingestions.stopOvertaken)),
    close: ingestions.close,
  }
}

import { mkdir, rm, rmdir } from 'node:fs/promises'
import path from 'node:path'
import type { Catalog, CatalogEntry } from '../catalog/catalog.ts'
import {
  type ColumnDeclaration,
  type DatasetDeclaration,
  declareColumns,
  declareDataset,
} from '../catalog/declaration.ts'
import { createLimiter, LimiterFull } from '../concurrency/limiter.ts'
import type { DuckDbEngine } from '../engines/duckdb/engine.ts'
import { ingest } from '../engines/duckdb/ingest.ts'
import { canonicalJson } from '../ledger/canonical.ts'
import { openedForNeighbours } from '../ledger/event.ts'
import type { Budget, Ledger } from '../ledger/ledger.ts'
import {
  type Accounting,
  amountBoughtBy,
  amountNumbers,
  coversAmount,
  noAmount,
} from '../privacy/accounting.ts'
import {
  deltaFromWire,
  epsilonFromWire,
  lossNumbers,
  MAX_BUDGET_EPSILON,
  type PrivacyLoss,
} from '../privacy/loss.ts'
import type { Neighbours } from '../privacy/neighbours.ts'
import { Refusal, refuseField } from '../privacy/refusal.ts'
import { copySource, sourceKind } from './sources/source.ts'

/** What registering needs. */
export interface RegistryDependencies {
  readonly catalog: Catalog
  readonly engine: DuckDbEngine
  readonly ledger: Ledger
  /** Sources lie below it. Absolute. */
  readonly dataDirectory: string
}

/** A registration as a custodian sends it; what its kind of source fixes may be left out. */
export type RegistrationRequest = Omit<DatasetDeclaration, 'columns' | 'synthetic'> & {
  readonly columns?: readonly ColumnDeclaration[] | undefined
  readonly synthetic?: boolean | undefined
  readonly budget: CatalogEntry['budget']
}

/** A dataset that is registered, and all that its budget may reveal. */
export interface Registered {
  readonly entry: CatalogEntry
  readonly granted: PrivacyLoss
  /** Whether it was not there before. */
  readonly created: boolean
}

/** Registers and withdraws datasets, one at a time. */
export interface Registry {
  /**
   * Register a dataset: check the declaration, ingest the file, open the budget, publish. The same registration again
   * changes nothing and says so.
   * @throws Refusal where a rule is broken; nothing is left behind then.
   */
  register(request: RegistrationRequest, principal: string): Promise<Registered>
  /**
   * Withdraw a dataset and its ingested rows. Its budget, with all that was spent, stays for whatever is registered
   * under the id again.
   * @throws Refusal `unknown-dataset`
   */
  withdraw(id: string): Promise<void>
  /** Take over what other processes on the same data folder have registered or withdrawn. */
  refresh(): Promise<void>
}

/** The number of registrations and withdrawals that wait for the one under way. */
const MAX_WAITING = 100

/** A registry over a catalog, an engine and a ledger. */
export function createRegistry(dependencies: RegistryDependencies): Registry {
  const limiter = createLimiter({ concurrency: 1, maxWaiting: MAX_WAITING })
  const oneAtATime = <Result>(task: () => Promise<Result>): Promise<Result> =>
    limiter.run(task).catch((error: unknown) => {
      if (!(error instanceof LimiterFull)) throw error
      const detail = 'Too many registrations are waiting. Ask again later.'
      throw new Refusal('unavailable', detail, [], { retryAfterSeconds: 1 })
    })
  /** Excludes other replicas, and knows what they have registered and withdrawn, so that no version is given twice. */
  const alone = <Result>(task: (requireAlone: () => Promise<void>) => Promise<Result>): Promise<Result> =>
    dependencies.ledger.exclusively(async (requireAlone) => {
      await dependencies.catalog.refresh(dependencies.engine)
      return task(requireAlone)
    })
  return {
    register: (request, principal) =>
      oneAtATime(() => alone((requireAlone) => register(dependencies, request, principal, requireAlone))),
    withdraw: (id) => oneAtATime(() => alone((requireAlone) => withdraw(dependencies, id, requireAlone))),
    refresh: () => oneAtATime(() => dependencies.catalog.refresh(dependencies.engine)),
  }
}

async function register(
  dependencies: RegistryDependencies,
  request: RegistrationRequest,
  principal: string,
  requireAlone: () => Promise<void>,
): Promise<Registered> {
  const { catalog, engine, ledger, dataDirectory } = dependencies
  const { budget: requestedBudget } = request
  const declaration = completeDeclaration(request)
  const granted: PrivacyLoss = {
    epsilonNano: epsilonFromWire(requestedBudget.epsilon, 'budget.epsilon', MAX_BUDGET_EPSILON),
    deltaAtto: deltaFromWire(requestedBudget.delta, 'budget.delta'),
  }
  const { accounting } = declaration
  if (coversAmount(noAmount(accounting), amountBoughtBy(accounting, granted)))
    throw refuseField('invalid-request', 'budget.delta', 'must be greater than 0 under zcdp accounting')
  const columns = declareColumns(declaration)
  const { id, source } = declaration
  const existing = catalog.get(id)
  const opened = await ledger.budget(id)
  if (existing === undefined && opened !== undefined) {
    requireSameBudget(opened, accounting, granted, id)
    // The events of budgets that earlier releases opened do not say; then what was withdrawn last does.
    const before = (await openedForNeighbours(ledger, id)) ?? catalog.lastNeighbours(id)
    requireSameNeighbours(before, declaration)
  }

  // The ledger outlives the catalog: a question must not find the answer to one about another file.
  const version = String(Math.max(catalog.lastVersion(id), await ledger.lastDatasetVersion(id)) + 1)
  const rowsFile = catalog.rowsFile({ id, version })
  const copy = `${rowsFile}.source`
  await mkdir(path.dirname(rowsFile), { recursive: true, mode: 0o700 })
  let publishing = false
  try {
    const { format, digest: sourceDigest } = await copySource(source, { dataDirectory, copy })
    if (existing !== undefined) {
      const entry = requireSame(existing, { ...declaration, budget: requestedBudget }, sourceDigest)
      return { entry, granted: opened?.granted ?? granted, created: false }
    }

    const { rows } = await ingest({ sourcePath: copy, format, columns, targetPath: rowsFile })
    if (declaration.neighbours === 'change-one' && rows === 0) {
      throw new Refusal(
        'source-does-not-fit',
        'With change-one neighbours a dataset needs at least one row.',
        [{ field: 'source', rule: 'must have at least one row' }],
      )
    }
    const entry: CatalogEntry = {
      declaration,
      budget: requestedBudget,
      dataset: declareDataset(declaration, version, rows),
      registeredAt: new Date().toISOString(),
      sourceDigest,
    }
    await engine.open(entry.dataset)
    const outcome = await ledger.openBudget(
      id,
      { accounting, granted, neighbours: declaration.neighbours },
      principal,
    )
    if (outcome.kind === 'exists') requireSameBudget(outcome.budget, accounting, granted, id)
    await requireAlone()
    publishing = true
    await catalog.add(entry)
    return { entry, granted: outcome.kind === 'exists' ? outcome.budget.granted : granted, created: true }
  } catch (error) {
    await engine.closeDataset({ id, version })
    // An entry that may be on the disk needs its rows; if it is not, the next start removes them.
    if (!publishing) await rm(rowsFile, { force: true })
    throw error
  } finally {
    await rm(copy, { force: true })
    // Fails unless the folder is empty, which it is after the refusal of an id that was never registered.
    await rmdir(path.dirname(rowsFile)).catch(() => undefined)
  }
}

/**
 * Fills in what the kind of source fixes.
 * @throws Refusal `invalid-request` for a contradiction, or a declaration that is missing.
 */
function completeDeclaration({ budget: _, ...request }: RegistrationRequest): DatasetDeclaration {
  const { kind } = request.source
  const { fixed } = sourceKind(kind)
  if (fixed.synthetic && request.synthetic === false)
    throw refuseField('invalid-request', 'synthetic', `must be true for a source of kind ${kind}`)
  const columns = request.columns ?? fixed.columns
  if (columns === undefined)
    throw refuseField('invalid-request', 'columns', `must be declared for a source of kind ${kind}`)
  return { ...request, columns, synthetic: request.synthetic ?? fixed.synthetic ?? false }
}

/** An id's budget outlives its dataset, so that registering again cannot reset what was spent, nor raise the cap. */
function requireSameBudget(
  { granted, cap, spent }: Budget,
  accounting: Accounting,
  asked: PrivacyLoss,
  id: string,
): void {
  const sameAccounting = cap.accounting === accounting
  if (sameAccounting && granted.epsilonNano === asked.epsilonNano && granted.deltaAtto === asked.deltaAtto)
    return
  throw new Refusal(
    'budget-account-exists',
    `${id} has a budget from an earlier registration. Register with the same cap and accounting, then raise the cap ` +
      'with a grant.',
    [
      sameAccounting
        ? { field: 'budget', rule: 'must be the cap of the existing budget' }
        : { field: 'accounting', rule: `must be ${cap.accounting}, the accounting of the existing budget` },
    ],
    { cap: lossNumbers(granted), spent: amountNumbers(spent) },
  )
}

/**
 * What was spent was priced for one kind of neighbours, and adds up for those alone: for a row replaced, what was spent on rows
 * added or removed counts up to twice.
 * @param before absent where an earlier release opened the budget and withdrew the dataset
 */
function requireSameNeighbours(
  before: Neighbours | undefined,
  { id, neighbours }: Pick<DatasetDeclaration, 'id' | 'neighbours'>,
): void {
  if (before === undefined || before === neighbours) return
  throw new Refusal(
    'budget-account-exists',
    `The existing budget of ${id} was spent under ${before} neighbours. Register with these neighbours, or under another ` +
      'id.',
    [{ field: 'neighbours', rule: `must be ${before}, the neighbours of the existing budget` }],
  )
}

/** The entry there is, where it came from the same file and the same request; what was granted since is no matter. */
function requireSame(
  existing: CatalogEntry,
  request: DatasetDeclaration & Pick<CatalogEntry, 'budget'>,
  sourceDigest: string,
): CatalogEntry {
  const { declaration, budget } = existing
  const same =
    existing.sourceDigest === sourceDigest &&
    canonicalJson({ ...declaration, budget }) === canonicalJson(request)
  if (same) return existing
  throw new Refusal(
    'dataset-exists',
    `${request.id} is already registered with another file, declaration or budget.`,
    [{ field: 'id', rule: 'must be a new id, unless the registration is identical' }],
  )
}

async function withdraw(
  { catalog, engine }: RegistryDependencies,
  id: string,
  requireAlone: () => Promise<void>,
): Promise<void> {
  const entry = catalog.get(id)
  if (entry === undefined) throw new Refusal('unknown-dataset', `No dataset ${id} is registered.`)
  await requireAlone()
  await catalog.remove(id)
  await engine.closeDataset(entry.dataset)
}

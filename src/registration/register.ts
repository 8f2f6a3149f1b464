import { mkdir, rm, rmdir } from 'node:fs/promises'
import path from 'node:path'
import type { Catalog, CatalogEntry } from '../catalog/catalog.ts'
import { type Column, isGenerated } from '../catalog/dataset.ts'
import {
  type DatasetDeclaration,
  declareColumns,
  declareDataset,
  declareQueryLimits,
  defaultDeclarations,
  requireUnreservedNames,
  withSelectableLimits,
} from '../catalog/declaration.ts'
import { keyedUnit } from '../catalog/person-key.ts'
import { createLimiter, LimiterFull } from '../concurrency/limiter.ts'
import type { DuckDbEngine } from '../engines/duckdb/engine.ts'
import { ingest } from '../engines/duckdb/ingest.ts'
import { canonicalJson } from '../ledger/canonical.ts'
import { openedFor, type PersonUnit } from '../ledger/event.ts'
import type { Budget, Ledger, NewBudget, SourceRefusal } from '../ledger/ledger.ts'
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
import { Refusal, refuseField, unknownDataset } from '../privacy/refusal.ts'
import { copySource, type SourceCopy, sourceKind } from './sources/source.ts'

/** Dependencies of registrations. */
export interface RegistryDependencies {
  readonly catalog: Catalog
  readonly engine: DuckDbEngine
  readonly ledger: Ledger
  /** The folder below which source files are; an absolute path. */
  readonly dataDirectory: string
}

/**
 * A registration as a custodian sends it. Declarations that its kind of source determines or that have a default are
 * optional.
 */
export type RegistrationRequest = Omit<DatasetDeclaration, OptionalDeclarations> & {
  readonly [Name in OptionalDeclarations]?: DatasetDeclaration[Name] | undefined
} & {
  /** Reason for a second budget over a source that is registered under another id. */
  readonly separateBudget?: string | undefined
  readonly budget: CatalogEntry['budget']
}

type OptionalDeclarations = 'columns' | 'synthetic' | 'timing' | 'failureLimit' | 'queryLimits'

/** A registered dataset and its whole budget. */
export interface Registered {
  readonly entry: CatalogEntry
  readonly granted: PrivacyLoss
  /** False if the same registration was made before. */
  readonly created: boolean
}

/** Registers and withdraws datasets, one at a time. */
export interface Registry {
  /**
   * Registers a dataset: checks the declaration, ingests the source, opens the budget, publishes. The same registration
   * again changes nothing.
   * @throws Refusal for a broken rule; then nothing is left behind.
   */
  register(request: RegistrationRequest, principal: string): Promise<Registered>
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
}

/** The number of registrations and withdrawals that wait for the one under way. */
const MAX_WAITING = 100

/** A registry over a catalog, an engine and a ledger. */
export function createRegistry(dependencies: RegistryDependencies): Registry {
  const limiter = createLimiter({ concurrency: 1, maxWaiting: MAX_WAITING })
  const oneAtATime = <Result>(task: () => Promise<Result>): Promise<Result> =>
    limiter.run(task).catch((error: unknown) => {
      if (!(error instanceof LimiterFull)) throw error
      const detail = 'Too many registrations are waiting. Retry later.'
      throw new Refusal('unavailable', detail, [], { retryAfterSeconds: 1 })
    })
  /**
   * Excludes other replicas and first reads their registrations and withdrawals, so that no version is assigned twice.
   */
  const alone = <Result>(task: (requireAlone: () => Promise<void>) => Promise<Result>): Promise<Result> =>
    dependencies.ledger.exclusively(async (requireAlone) => {
      await dependencies.catalog.refresh(dependencies.engine)
      return task(requireAlone)
    })
  return {
    register: (request, principal) =>
      oneAtATime(() => alone((requireAlone) => register(dependencies, request, principal, requireAlone))),
    withdraw: (id, principal) =>
      oneAtATime(() => alone((requireAlone) => withdraw(dependencies, id, principal, requireAlone))),
    recordSources: () => recordSources(dependencies),
    refresh: () => oneAtATime(() => dependencies.catalog.refresh(dependencies.engine)),
  }
}

/** A registration whose declaration and budget are valid, and the files that it uses. */
interface CheckedRegistration {
  readonly declaration: DatasetDeclaration
  readonly separateBudget?: string | undefined
  readonly budget: CatalogEntry['budget']
  readonly granted: PrivacyLoss
  readonly columns: readonly Column[]
  readonly version: string
  /** The file of ingested rows. */
  readonly rowsFile: string
  /** The file of the key that chooses the rows of people, where people are the privacy units. */
  readonly personKeyFile: string
  /** The copy of the source, which is deleted at the end. */
  readonly copy: string
}

async function register(
  dependencies: RegistryDependencies,
  request: RegistrationRequest,
  principal: string,
  requireAlone: () => Promise<void>,
): Promise<Registered> {
  const { catalog, ledger, dataDirectory } = dependencies
  const opened = await ledger.budget(request.id)
  const registration = await checkRegistration(dependencies, request, opened)
  const { declaration, budget, granted, rowsFile, copy } = registration
  const folder = path.dirname(rowsFile)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  try {
    const source = await copySource(declaration.source, { dataDirectory, copy, principal })
    const existing = catalog.get(declaration.id)
    if (existing === undefined)
      return await publish(dependencies, registration, source, principal, requireAlone)
    const entry = requireSame(existing, { ...declaration, budget }, source.digest)
    return { entry, granted: opened?.granted ?? granted, created: false }
  } finally {
    await rm(copy, { force: true })
    // Succeeds only for an empty folder: that of a refused registration under an id that was never registered.
    await rmdir(folder).catch(() => undefined)
  }
}

/**
 * Checks everything that does not need the source.
 * @param opened the id's budget, if it has one
 * @throws Refusal for the first broken rule.
 */
async function checkRegistration(
  { catalog, ledger }: RegistryDependencies,
  request: RegistrationRequest,
  opened: Budget | undefined,
): Promise<CheckedRegistration> {
  const { budget, separateBudget } = request
  const declaration = completeDeclaration(request)
  const granted: PrivacyLoss = {
    epsilonNano: epsilonFromWire(budget.epsilon, 'budget.epsilon', MAX_BUDGET_EPSILON),
    deltaAtto: deltaFromWire(budget.delta, 'budget.delta'),
  }
  const { accounting, id } = declaration
  if (coversAmount(noAmount(accounting), amountBoughtBy(accounting, granted)))
    throw refuseField('invalid-request', 'budget.delta', 'must be greater than 0 under zcdp accounting')
  const columns = declareColumns(declaration)
  declareQueryLimits(declaration)
  requireUnreservedNames(declaration.columns)
  if (catalog.get(id) === undefined && opened !== undefined) {
    requireSameBudget(opened, accounting, granted, id)
    const before = await openedFor(ledger, id)
    // The first releases did not record the neighbours in the event; in that case the last withdrawal recorded them.
    const last = catalog.lastDeclared(id)
    requireSameNeighbours(before.neighbours ?? last.neighbours, declaration)
    requireSameUnit(before.privacyUnit, declaration)
    // They did not record either whether the data are synthetic. Without a record, the data were real.
    requireSameKindOfData(before.synthetic ?? last.synthetic ?? false, declaration)
  }
  // The ledger may outlive the catalog: a question must not be answered by a release about another version.
  const version = String(Math.max(catalog.lastVersion(id), await ledger.lastDatasetVersion(id)) + 1)
  const rowsFile = catalog.rowsFile({ id, version })
  const files = {
    rowsFile,
    personKeyFile: catalog.personKeyFile({ id, version }),
    copy: `${rowsFile}.source`,
  }
  return { declaration, separateBudget, budget, granted, columns, version, ...files }
}

/**
 * Ingests the copied source, opens the budget and adds the dataset to the catalog.
 * @throws Refusal for a source that does not fit, or a budget that differs from the id's.
 */
async function publish(
  { catalog, engine, ledger }: RegistryDependencies,
  registration: CheckedRegistration,
  { format, digest }: SourceCopy,
  principal: string,
  requireAlone: () => Promise<void>,
): Promise<Registered> {
  const { declaration, budget, granted, columns, version, rowsFile, personKeyFile, copy } = registration
  const { id, accounting, neighbours } = declaration
  requireNotShown(catalog, declaration, digest)
  let mayBePublished = false
  try {
    const privacyUnit = await keyedUnit(declaration.privacyUnit, personKeyFile)
    const ingestion = await ingest({ sourcePath: copy, format, columns, privacyUnit, targetPath: rowsFile })
    if (neighbours === 'change-one' && ingestion.rowsStored === 0) {
      const detail = 'With change-one neighbours a dataset needs at least one row.'
      throw new Refusal('source-does-not-fit', detail, [
        { field: 'source', rule: 'must have at least one row' },
      ])
    }
    const entry: CatalogEntry = {
      declaration,
      budget,
      dataset: declareDataset(declaration, version, ingestion.people ?? ingestion.rowsStored),
      registeredAt: new Date().toISOString(),
      sourceDigest: digest,
      ingestion,
    }
    await engine.open(entry.dataset)
    const outcome = await ledger.openBudget(id, newBudget(registration, digest), principal)
    if (outcome.kind === 'source-refused') throw refuseSource(outcome)
    if (outcome.kind === 'exists') requireSameBudget(outcome.budget, accounting, granted, id)
    // Recorded before it takes effect, so that no registration goes unrecorded.
    const facts = { version, synthetic: declaration.synthetic }
    await ledger.recordAct({ kind: 'dataset-registered', principal, subject: id, facts })
    await requireAlone()
    mayBePublished = true
    await catalog.add(entry)
    return { entry, granted: outcome.kind === 'exists' ? outcome.budget.granted : granted, created: true }
  } catch (error) {
    await engine.closeDataset({ id, version })
    // An entry that may be on the disk needs its rows. If it is not there, the next start deletes them.
    if (!mayBePublished) for (const file of [rowsFile, personKeyFile]) await rm(file, { force: true })
    throw error
  }
}

/**
 * Refuses real data whose source is registered as synthetic: that dataset shows their true values to every analyst.
 * @throws Refusal `source-registered`
 */
function requireNotShown(catalog: Catalog, { synthetic }: DatasetDeclaration, digest: string): void {
  const isShown = ({ declaration, sourceDigest }: CatalogEntry) =>
    declaration.synthetic && sourceDigest === digest
  if (synthetic || !catalog.list().some(isShown)) return
  throw new Refusal(
    'source-registered',
    'The same source is registered as synthetic under another id, where every analyst can see its true values. Withdraw ' +
      'that dataset first.',
    [{ field: 'source', rule: 'must not be the source of a synthetic dataset' }],
  )
}

/** The budget that a registration opens. A source that the service generates has no people, and is not recorded. */
function newBudget({ declaration, granted, separateBudget }: CheckedRegistration, digest: string): NewBudget {
  const { accounting, neighbours, privacyUnit, synthetic, source } = declaration
  const recorded = { digest, synthetic, ...(separateBudget === undefined ? {} : { separateBudget }) }
  return {
    ...{ accounting, granted, neighbours, privacyUnit, synthetic },
    ...(isGenerated(source) ? {} : { source: recorded }),
  }
}

function refuseSource({ because }: SourceRefusal): Refusal {
  switch (because) {
    case 'registered-as-real':
      return new Refusal(
        'source-registered',
        'The source, or an earlier source of this id, is or was registered as real data. It can never become synthetic.',
        [{ field: 'synthetic', rule: 'must be false for a source that was registered as real data' }],
      )
    case 'registered-elsewhere':
      return new Refusal(
        'source-registered',
        'The source is or was registered under another id. Both budgets would protect the same people. Use that id, or ' +
          'state why this one needs a budget of its own.',
        [{ field: 'separateBudget', rule: 'must state the reason for a second budget over the same source' }],
      )
  }
}

/**
 * Fills in the declarations that the kind of source determines or that have a default.
 * @throws Refusal `invalid-request` for a contradiction, or a declaration that is missing.
 */
function completeDeclaration({
  budget: _,
  separateBudget: __,
  ...request
}: RegistrationRequest): DatasetDeclaration {
  const { kind } = request.source
  const { fixed } = sourceKind(kind)
  if (fixed.synthetic && request.synthetic === false)
    throw refuseField('invalid-request', 'synthetic', `must be true for a source of kind ${kind}`)
  const columns = request.columns ?? fixed.columns
  if (columns === undefined)
    throw refuseField('invalid-request', 'columns', `must be declared for a source of kind ${kind}`)
  const synthetic = request.synthetic ?? fixed.synthetic ?? false
  const { timing, failureLimit, queryLimits } = defaultDeclarations({ synthetic })
  return {
    ...request,
    columns: withSelectableLimits(columns),
    synthetic,
    timing: request.timing ?? timing,
    failureLimit: request.failureLimit ?? failureLimit,
    queryLimits: { ...queryLimits, ...request.queryLimits },
  }
}

/**
 * Requires the budget that the id has: a new registration neither resets the spending nor raises the cap.
 * @throws Refusal `budget-account-exists`
 */
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
 * Requires the neighbours for which the id's budget was opened. Charges were priced for these: for a replaced row, a
 * charge for an added or removed row counts up to twice.
 * @param before absent if an earlier release opened the budget and withdrew the dataset
 * @throws Refusal `budget-account-exists`
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

/**
 * Requires the privacy unit for which the id's budget was opened. Charges for rows protect a row, and those for people
 * the rows with the same value in one column. The number of rows of a person may change.
 * @param before absent if each row is a privacy unit
 * @throws Refusal `budget-account-exists`
 */
function requireSameUnit(
  before: PersonUnit | undefined,
  { id, privacyUnit }: Pick<DatasetDeclaration, 'id' | 'privacyUnit'>,
): void {
  if ((privacyUnit.kind === 'person' ? privacyUnit.column : undefined) === before?.column) return
  const unit = before === undefined ? 'a row' : `a person with the column ${before.column}`
  throw new Refusal(
    'budget-account-exists',
    `The privacy unit of the existing budget of ${id} is ${unit}. Register with the same unit, or under another id.`,
    [{ field: 'privacyUnit', rule: `must be ${unit}, the privacy unit of the existing budget` }],
  )
}

/**
 * Requires synthetic data for a budget that was opened for synthetic data, and real data for any other. Evaluations and
 * audits show the truth of synthetic data, so real data must never be declared synthetic later; and the ledger states for
 * which kind of data a budget was spent.
 * @throws Refusal `budget-account-exists`
 */
function requireSameKindOfData(
  before: boolean,
  { id, synthetic }: Pick<DatasetDeclaration, 'id' | 'synthetic'>,
): void {
  if (before === synthetic) return
  const kind = before ? 'synthetic' : 'real'
  throw new Refusal(
    'budget-account-exists',
    `The existing budget of ${id} was opened for ${kind} data. Register ${kind} data, or use another id.`,
    [{ field: 'synthetic', rule: `must be ${before}, as when the budget was opened` }],
  )
}

/**
 * Returns the existing entry if it came from the same source and the same request; later grants do not count.
 * @throws Refusal `dataset-exists`
 */
function requireSame(
  existing: CatalogEntry,
  request: DatasetDeclaration & Pick<CatalogEntry, 'budget'>,
  sourceDigest: string,
): CatalogEntry {
  const { declaration, budget } = existing
  const same =
    existing.sourceDigest === sourceDigest &&
    canonicalJson(comparable({ ...declaration, budget })) === canonicalJson(comparable(request))
  if (same) return existing
  throw new Refusal(
    'dataset-exists',
    `${request.id} is already registered with another source, declaration or budget.`,
    [{ field: 'id', rule: 'must be a new id, unless the registration is identical' }],
  )
}

/** Returns a registration without the id of an upload: the same file uploaded again is the same source. */
function comparable(registration: DatasetDeclaration & Pick<CatalogEntry, 'budget'>) {
  const { source } = registration
  return source.kind === 'upload' ? { ...registration, source: { ...source, upload: '' } } : registration
}

async function recordSources({ catalog, ledger }: RegistryDependencies): Promise<readonly string[]> {
  const separateBudget = 'registered by an earlier release'
  // Real ones first, so that a synthetic one with the same digest is found whatever their order in the catalog.
  const sources = catalog.fileSources().toSorted((a, b) => Number(a.synthetic) - Number(b.synthetic))
  const outcomes = sources.map(async ({ dataset, digest, synthetic }) => {
    const outcome = await ledger.registerSource(dataset, { digest, synthetic, separateBudget }, 'sotto')
    return outcome?.kind === 'source-refused' ? [dataset] : []
  })
  return (await Promise.all(outcomes)).flat()
}

async function withdraw(
  { catalog, engine, ledger }: RegistryDependencies,
  id: string,
  principal: string,
  requireAlone: () => Promise<void>,
): Promise<void> {
  const entry = catalog.get(id)
  if (entry === undefined) throw unknownDataset(id)
  const { version } = entry.dataset
  await ledger.recordAct({ kind: 'dataset-withdrawn', principal, subject: id, facts: { version } })
  await requireAlone()
  await catalog.remove(id)
  await engine.closeDataset(entry.dataset)
}

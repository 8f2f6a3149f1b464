import type { Source } from '../../../core/dataset/dataset.ts'
import { type DatasetDeclaration, declareDataset } from '../../../core/dataset/declaration.ts'
import type { CatalogEntry } from '../../../core/dataset/entry.ts'
import { isJoined, mapTables } from '../../../core/dataset/joins.ts'
import { canonicalJson } from '../../../ledger/canonical.ts'
import { populationAccount } from '../../../ledger/contract/budgets.ts'
import { defined } from '../../../privacy/defined.ts'
import { Refusal } from '../../../privacy/refusal.ts'
import type { Custodian, Registered, RegistryContext, TriedRegistration } from '../context.ts'
import type { RunningIngestion } from '../ingestions.ts'
import { recordedSource, recordRefusedSource, requireNotShown } from '../registered-sources.ts'
import { resolveTables } from '../sources/table.ts'
import { requireExistingBudget, requireSameBudget } from './existing-budget.ts'
import { refusedJoin, requirePopulation } from './join-population.ts'
import { type PreparedSource, prepareSource, tryIngestion } from './prepare.ts'
import { publish } from './publication.ts'
import { type CheckedRegistration, checkRegistration, type RegistrationRequest } from './registration.ts'

/**
 * Registers a dataset in three steps: checks under exclusive access, ingestion without it, then again under exclusive
 * access the same checks, the budget and the publication. The same registration again changes nothing.
 * @throws Refusal for a broken rule, or if the ingestion was stopped; then nothing is left behind.
 */
export async function register(
  context: RegistryContext,
  request: RegistrationRequest,
  custodian: Custodian,
): Promise<Registered> {
  const { catalog, ingestions, alone } = context
  const registration = checkRegistration(withCompleteTables(context, request))
  const { id } = registration.declaration
  await alone(() => requireRegistrable(context, registration))
  const isOvertaken = () => {
    const existing = catalog.get(id)
    return existing !== undefined && !isSameRequest(existing, registration)
  }
  const { principal, givenUp } = custodian
  const purpose = { dataset: id, kind: 'registration', dryRun: false, principal } as const
  return ingestions.run({ purpose, givenUp, isOvertaken }, (ingestion) =>
    ingestAndPublish(context, registration, ingestion, principal),
  )
}

/**
 * Checks a registration and its source as {@link register} does, and publishes and records nothing.
 * @throws Refusal as {@link register} does.
 */
export async function tryRegistration(
  context: RegistryContext,
  request: RegistrationRequest,
  custodian: Custodian,
): Promise<TriedRegistration> {
  const { principal, givenUp } = custodian
  const { ingestions, alone } = context
  const registration = checkRegistration(withCompleteTables(context, request))
  const { declaration, granted } = registration
  await alone(() => requireRegistrable(context, registration))
  const purpose = { dataset: declaration.id, kind: 'registration', dryRun: true, principal } as const
  return ingestions.run({ purpose, givenUp, isOvertaken: () => false }, async (running) => {
    const { ingestion } = await tryIngestion(context, registration, running, custodian)
    const dataset = declareDataset(declaration, '1', ingestion.people ?? ingestion.rowsStored)
    return { dataset, leftOut: declaration.leftOut, ingestion, granted }
  })
}

/** @throws Refusal `source-refused` for a table of a connection that is not configured. */
function withCompleteTables(
  { connections }: Pick<RegistryContext, 'connections'>,
  request: RegistrationRequest,
): RegistrationRequest {
  return { ...request, source: resolveTables(connections, request.source) }
}

/** @throws Refusal if the id is registered otherwise, or the registration does not continue its budget. */
async function requireRegistrable(
  context: RegistryContext,
  registration: CheckedRegistration,
): Promise<void> {
  const existing = context.catalog.get(registration.declaration.id)
  if (existing === undefined) {
    const opened = await requireExistingBudget(context.ledger, registration)
    await requirePopulation(context.ledger, registration, opened)
  } else requireSameRequest(existing, registration)
}

async function ingestAndPublish(
  context: RegistryContext,
  registration: CheckedRegistration,
  ingestion: RunningIngestion,
  principal: string,
): Promise<Registered> {
  const { catalog, alone } = context
  const { declaration } = registration
  const { id } = declaration
  const source = await prepareSource(context, registration, ingestion, principal)
  const before = catalog.get(id)
  if (before !== undefined) return registeredBefore(context, before, registration, source)
  const peopleDigests = await source.identify()
  const prepared = await source.ingest()
  return alone(async (requireAlone) => {
    // The same registration may have been made meanwhile, by this process or another one.
    const existing = catalog.get(id)
    if (existing !== undefined) return registeredBefore(context, existing, registration, source)
    requireNotShown(catalog, declaration, peopleDigests)
    const opened = await requireExistingBudget(context.ledger, registration)
    await requirePopulation(context.ledger, registration, opened)
    const { budget, granted } = registration
    const ingested = { declaration, budget, sourceDigest: source.digest, peopleDigests, ...prepared }
    const record = (version: string) =>
      openBudget(context, registration, peopleDigests, { version, principal })
    ingestion.beginPublication()
    const entry = await publish(context, ingestion.workspace, ingested, record, requireAlone)
    return { entry, granted: opened?.granted ?? granted, created: true }
  })
}

/** Opens the budget of a registration and records the act. */
async function openBudget(
  { ledger }: Pick<RegistryContext, 'ledger'>,
  registration: CheckedRegistration,
  peopleDigests: readonly string[],
  { version, principal }: { readonly version: string; readonly principal: string },
): Promise<void> {
  const { declaration, granted, separateBudget } = registration
  const { id, accounting, neighbours, privacyUnit, synthetic } = declaration
  const recorded = recordedSource(declaration, peopleDigests, separateBudget)
  const population = declaration.population && populationAccount(declaration.population)
  const budget = defined({
    accounting,
    granted,
    neighbours,
    privacyUnit,
    synthetic,
    source: recorded,
    population,
  })
  const outcome = await ledger.openBudget(id, budget, principal)
  if (outcome.kind === 'source-refused') throw await recordRefusedSource(ledger, outcome, id, principal)
  if (outcome.kind === 'join-refused') throw refusedJoin(outcome, id)
  if (outcome.kind === 'exists') requireSameBudget(outcome.budget, accounting, granted, id)
  // Recorded before it takes effect, so that no registration goes unrecorded.
  const facts = { version, synthetic }
  await ledger.recordAct({ kind: 'dataset-registered', principal, subject: id, facts })
}

/**
 * Returns the existing entry if it came from the same source and the same request; later grants do not count.
 * @throws Refusal `dataset-exists`
 */
async function registeredBefore(
  { ledger }: Pick<RegistryContext, 'ledger'>,
  existing: CatalogEntry,
  registration: CheckedRegistration,
  { digest }: PreparedSource,
): Promise<Registered> {
  requireSameRequest(existing, registration)
  if (existing.sourceDigest !== digest) throw registeredOtherwise(existing.dataset.id)
  const budget = await ledger.budget(existing.dataset.id)
  return { entry: existing, granted: budget?.granted ?? registration.granted, created: false }
}

/** @throws Refusal `dataset-exists` unless the declaration and the budget are those of the existing entry. */
function requireSameRequest(existing: CatalogEntry, asked: CheckedRegistration): void {
  if (!isSameRequest(existing, asked)) throw registeredOtherwise(existing.dataset.id)
}

function isSameRequest({ declaration, budget }: CatalogEntry, asked: CheckedRegistration): boolean {
  const before = canonicalJson({ ...comparable(declaration), budget })
  return before === canonicalJson({ ...comparable(asked.declaration), budget: asked.budget })
}

/** Returns a declaration without the ids of uploads: the same file uploaded again is the same source. */
export function comparable(declaration: DatasetDeclaration): DatasetDeclaration {
  const { source } = declaration
  return {
    ...declaration,
    source: isJoined(source) ? mapTables(source, withoutUpload) : withoutUpload(source),
  }
}

function withoutUpload<Kind extends Source>(source: Kind): Kind {
  return source.kind === 'upload' ? { ...source, upload: '' } : source
}

function registeredOtherwise(id: string): Refusal {
  return new Refusal(
    'dataset-exists',
    `${id} is already registered with another source, declaration or budget.`,
    [{ field: 'id', rule: 'must be a new id, unless the registration is identical' }],
  )
}

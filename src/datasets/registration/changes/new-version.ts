import { databaseOf, isLiveSource, type Source } from '../../../core/dataset/dataset.ts'
import {
  type ColumnDeclaration,
  type DatasetDeclaration,
  withSelectableLimits,
} from '../../../core/dataset/declaration.ts'
import type { CatalogEntry } from '../../../core/dataset/entry.ts'
import { withConstants } from '../../../core/dataset/joins.ts'
import { requireWidening } from '../../../core/dataset/widening.ts'
import { canonicalJson } from '../../../ledger/canonical.ts'
import { Refusal, unknownDataset } from '../../../privacy/refusal.ts'
import type { Custodian, NewVersion, RegistryContext, TriedVersion } from '../context.ts'
import { changedMeanwhile, type RunningIngestion } from '../ingestions.ts'
import { recordedSource, recordRefusedSource, requireNotShown } from '../registered-sources.ts'
import { resolveTables } from '../sources/table.ts'
import { withDescriptionsOf, withoutDescriptions } from './description.ts'
import { type PreparedSource, prepareSource, tryIngestion } from './prepare.ts'
import { publish } from './publication.ts'
import { comparable } from './register.ts'
import { type CheckedRegistration, checkRegistration } from './registration.ts'

/**
 * A new version of a dataset's rows as a custodian sends it. Everything else stays as it was declared.
 * See decision 39.
 */
export interface VersionRequest {
  /** Default: the source of the present version, which is read again. */
  readonly source?: Source | undefined
  /** Default: the columns of the present version. */
  readonly columns?: readonly ColumnDeclaration[] | undefined
  /** Default: the derived columns of the present version. */
  readonly derived?: DatasetDeclaration['derived'] | undefined
  /** Reason for the budget of this id if the source is registered under another id as well. */
  readonly separateBudget?: string | undefined
}

/**
 * Publishes new rows of a dataset: ingests them beside the present version, then replaces it. Requests that were planned
 * on the present version finish on it. The same rows again change nothing.
 * @throws Refusal for a broken rule, or for a live table of which nothing has changed that a version records, or if the ingestion was stopped; then nothing is left behind.
 */
export async function publishVersion(
  context: RegistryContext,
  id: string,
  request: VersionRequest,
  custodian: Custodian,
): Promise<NewVersion> {
  const { catalog, ingestions, alone } = context
  // With exclusive access, so that the latest version is known.
  const base = await alone(async () => requireRegistered(context, id))
  const checked = checkVersion(context, base, request)
  const isOvertaken = () => !isSameRegistration(base, catalog.get(id))
  const { principal, givenUp } = custodian
  const purpose = { dataset: id, kind: 'version', dryRun: false, principal } as const
  return ingestions.run({ purpose, givenUp, isOvertaken }, (ingestion) =>
    ingestAndReplace(context, { base, checked, request }, ingestion, principal),
  )
}

/**
 * Checks a new version and its source as {@link publishVersion} does, and publishes and records nothing.
 * @throws Refusal as {@link publishVersion} does.
 */
export async function tryVersion(
  context: RegistryContext,
  id: string,
  request: VersionRequest,
  custodian: Custodian,
): Promise<TriedVersion> {
  const { principal, givenUp } = custodian
  const { catalog, ingestions, alone } = context
  const base = await alone(async () => requireRegistered(context, id))
  const checked = checkVersion(context, base, request)
  const isOvertaken = () => !isSameRegistration(base, catalog.get(id))
  const purpose = { dataset: id, kind: 'version', dryRun: true, principal } as const
  return ingestions.run({ purpose, givenUp, isOvertaken }, async (running) => {
    const { source, ...tried } = await tryIngestion(context, checked, running, custodian)
    return { ingestion: tried.ingestion, isUnchanged: isUnchanged(base, checked.declaration, source, tried) }
  })
}

function requireRegistered({ catalog }: Pick<RegistryContext, 'catalog'>, id: string): CatalogEntry {
  const entry = catalog.get(id)
  if (entry === undefined) throw unknownDataset(id)
  return entry
}

/** True if an entry belongs to the registration of another one, of which it may be a later version. */
function isSameRegistration(base: CatalogEntry, entry: CatalogEntry | undefined): entry is CatalogEntry {
  return entry?.versions[0]?.version === base.versions[0]?.version
}

/**
 * Completes the declaration of a new version.
 * @throws Refusal if it is not valid in itself, or does not widen the present one.
 */
function checkVersion(
  { connections }: Pick<RegistryContext, 'connections'>,
  { declaration, budget }: CatalogEntry,
  { source: asked, columns, derived, separateBudget }: VersionRequest,
): CheckedRegistration {
  const source = asked && resolveTables(connections, asked)
  const widened =
    columns === undefined
      ? declaration.columns
      : withConstants({
          ...declaration,
          source: source ?? declaration.source,
          columns: withSelectableLimits(withDescriptionsOf(columns, declaration.columns)),
        })
  const known = declaration.derived ?? []
  const changed = {
    columns: widened,
    derived:
      derived?.map((column) => ({ ...known.find(({ name }) => name === column.name), ...column })) ??
      declaration.derived,
  }
  // First, so that a changed type is told as such, not by a rule of the privacy unit that it breaks.
  requireWidening(declaration, changed)
  return checkRegistration({
    ...declaration,
    source: source ?? declaration.source,
    ...changed,
    budget,
    separateBudget,
  })
}

interface VersionToIngest {
  readonly base: CatalogEntry
  readonly checked: CheckedRegistration
  readonly request: VersionRequest
}

async function ingestAndReplace(
  context: RegistryContext,
  { base, checked, request }: VersionToIngest,
  running: RunningIngestion,
  principal: string,
): Promise<NewVersion> {
  const { catalog, retirement, alone } = context
  const { declaration } = checked
  const { id } = declaration
  const source = await prepareSource(context, checked, running, principal)
  const before = catalog.get(id)
  if (isSameRegistration(base, before) && isUnchanged(before, declaration, source))
    return { entry: before, created: false }
  const peopleDigests = await source.identify()
  const prepared = await source.ingest()
  return alone(async (requireAlone) => {
    const replaces = requireRegistered(context, id)
    if (!isSameRegistration(base, replaces)) throw changedMeanwhile()
    if (isUnchanged(replaces, declaration, source, { ...prepared, peopleDigests })) {
      if (isLiveSource(declaration.source)) throw nothingToPublish(id)
      return { entry: replaces, created: false }
    }
    // Another version, or other descriptions, may have been published meanwhile.
    const now = checkVersion(context, replaces, request).declaration
    if (!isReadAlike(now, declaration)) throw changedMeanwhile()
    requireNotShown(catalog, declaration, peopleDigests)
    const facts = { declaration: now, budget: replaces.budget, sourceDigest: source.digest, peopleDigests }
    const ingested = { ...facts, ...prepared, replaces }
    const record = (version: string) =>
      recordVersion(context, now, peopleDigests, { version, principal, request })
    running.beginPublication()
    const entry = await publish(context, running.workspace, ingested, record, requireAlone)
    retirement.retire(replaces.dataset, true)
    return { entry, created: true }
  })
}

function nothingToPublish(id: string): Refusal {
  return new Refusal(
    'nothing-to-publish',
    `Queries of ${id} read the live table itself, and its columns are those of the present version.`,
  )
}

/**
 * True if the rows of an entry came from the same source under the same declaration. A live table is the same source only
 * if its columns are the same and it shows the same tables, which is known once it was checked.
 */
function isUnchanged(
  { declaration, sourceDigest, ...before }: CatalogEntry,
  asked: DatasetDeclaration,
  { digest }: PreparedSource,
  checked?: Pick<CatalogEntry, 'tableColumns' | 'peopleDigests'>,
): boolean {
  if (sourceDigest !== digest) return false
  if (canonicalJson(comparable(declaration)) !== canonicalJson(comparable(asked))) return false
  // The rows of a table may have changed since they were copied, and its digest does not say so.
  if (databaseOf(asked.source) === undefined) return true
  if (!isLiveSource(asked.source)) return false
  const found = ({ tableColumns, peopleDigests }: Pick<CatalogEntry, 'tableColumns' | 'peopleDigests'>) =>
    canonicalJson({ tableColumns, shown: peopleDigests.toSorted() })
  return checked !== undefined && found(before) === found(checked)
}

/** True if two declarations of one dataset convert a source to the same rows. */
function isReadAlike(one: DatasetDeclaration, other: DatasetDeclaration): boolean {
  const readAs = ({ source, columns, privacyUnit }: DatasetDeclaration) =>
    canonicalJson({ source, columns: withoutDescriptions(columns), privacyUnit })
  return readAs(one) === readAs(other)
}

/** Records the source of a version and the act, before the version takes effect. */
async function recordVersion(
  { ledger }: Pick<RegistryContext, 'ledger'>,
  declaration: DatasetDeclaration,
  peopleDigests: readonly string[],
  {
    version,
    principal,
    request,
  }: { readonly version: string; readonly principal: string; readonly request: VersionRequest },
): Promise<void> {
  const { id, synthetic } = declaration
  const source = recordedSource(declaration, peopleDigests, request.separateBudget)
  if (source !== undefined) {
    const refusal = await ledger.registerSource(id, source, principal)
    if (refusal?.kind === 'source-refused') throw await recordRefusedSource(ledger, refusal, id, principal)
    if (refusal?.kind === 'no-budget') throw unknownDataset(id)
  }
  await ledger.recordAct({ kind: 'version-published', principal, subject: id, facts: { version, synthetic } })
}

import type { Catalog, CatalogEntry } from '../catalog/catalog.ts'
import { isGenerated } from '../catalog/dataset.ts'
import type { DatasetDeclaration } from '../catalog/declaration.ts'
import type { Ledger, NewSource, SourceRefusal } from '../ledger/ledger.ts'
import { Refusal } from '../privacy/refusal.ts'
import type { Custodian } from './registry.ts'

/**
 * Returns the source as the ledger records it. A source that the service generates has no people, and is not recorded.
 */
export function recordedSource(
  { source, synthetic }: Pick<DatasetDeclaration, 'source' | 'synthetic'>,
  digest: string,
  separateBudget: string | undefined,
): NewSource | undefined {
  if (isGenerated(source)) return undefined
  return { digest, synthetic, ...(separateBudget === undefined ? {} : { separateBudget }) }
}

/**
 * Refuses real data whose source is registered as synthetic: that dataset shows their true values to every analyst.
 * @throws Refusal `source-registered`
 */
export function requireNotShown(
  catalog: Catalog,
  { synthetic }: Pick<DatasetDeclaration, 'synthetic'>,
  digest: string,
): void {
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

/**
 * Refuses a source that the catalog knows under another id, as the ledger does when the budget is opened. Because a dry
 * run leaves no record, the datasets that a custodian may not use do not count: their digests would confirm a guess of a
 * whole file.
 * @throws Refusal `source-registered`
 */
export function requireUnregistered(
  catalog: Pick<Catalog, 'registeredSources'>,
  {
    declaration: { id, source, synthetic },
    separateBudget,
  }: { readonly declaration: DatasetDeclaration; readonly separateBudget?: string | undefined },
  digest: string,
  { datasets }: Pick<Custodian, 'datasets'>,
): void {
  if (isGenerated(source)) return
  const mayUse = (dataset: string) => datasets === undefined || datasets.includes(dataset)
  const same = catalog
    .registeredSources()
    .filter((registered) => registered.digest === digest && mayUse(registered.dataset))
  if (synthetic && same.some((registered) => !registered.synthetic))
    throw refuseSource({ kind: 'source-refused', because: 'registered-as-real' })
  // The id keeps a source that it has, although another one was given a separate budget over it.
  const isOwn = same.some((registered) => registered.dataset === id && registered.synthetic === synthetic)
  if (!synthetic && separateBudget === undefined && !isOwn && same.length > 0)
    throw refuseSource({ kind: 'source-refused', because: 'registered-elsewhere' })
}

/**
 * Records that a registration was refused for its source, and returns the refusal. It tells a custodian that another
 * dataset has the same source, also if they may not use that dataset. The record does not name it.
 * @param id the id that was to be registered, or to get a version
 */
export async function recordRefusedSource(
  ledger: Pick<Ledger, 'recordAct'>,
  refusal: SourceRefusal,
  id: string,
  principal: string,
): Promise<Refusal> {
  const { because } = refusal
  await ledger.recordAct({ kind: 'source-refused', principal, subject: id, facts: { because } })
  return refuseSource(refusal)
}

/** Converts the ledger's refusal of a source. */
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
 * Records the sources of all registrations in the ledger. Earlier releases did not.
 * @returns the ids whose source is synthetic here and was registered as real elsewhere
 */
export async function recordSources({
  catalog,
  ledger,
}: {
  readonly catalog: Catalog
  readonly ledger: Ledger
}): Promise<readonly string[]> {
  const separateBudget = 'registered by an earlier release'
  // Real ones first, so that a synthetic one with the same digest is found whatever their order in the catalog.
  const sources = catalog.registeredSources().toSorted((a, b) => Number(a.synthetic) - Number(b.synthetic))
  const outcomes = sources.map(async ({ dataset, digest, synthetic }) => {
    const outcome = await ledger.registerSource(dataset, { digest, synthetic, separateBudget }, 'sotto')
    return outcome?.kind === 'source-refused' ? [dataset] : []
  })
  return (await Promise.all(outcomes)).flat()
}

import { isGenerated } from '../../core/dataset/dataset.ts'
import type { DatasetDeclaration } from '../../core/dataset/declaration.ts'
import type { CatalogEntry } from '../../core/dataset/entry.ts'
import type { Acts } from '../../ledger/contract/acts.ts'
import { type NewSource, populationAccount, type SourceRefusal } from '../../ledger/contract/budgets.ts'
import { reasonAgainstSource } from '../../ledger/protocol/budgets.ts'
import { defined } from '../../privacy/defined.ts'
import { Refusal } from '../../privacy/refusal.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { CheckedRegistration } from './changes/registration.ts'
import type { Custodian } from './context.ts'

/**
 * Returns the source as the ledger records it. A source that the service generates has no people, and is not recorded.
 */
export function recordedSource(
  { source, synthetic }: Pick<DatasetDeclaration, 'source' | 'synthetic'>,
  digests: readonly string[],
  separateBudget: string | undefined,
): NewSource | undefined {
  if (isGenerated(source)) return undefined
  return defined({ digests, synthetic, separateBudget })
}

/**
 * Refuses real data whose source is registered as synthetic: that dataset shows their true values to every analyst.
 * @throws Refusal `source-registered`
 */
export function requireNotShown(
  catalog: Catalog,
  { synthetic }: Pick<DatasetDeclaration, 'synthetic'>,
  digests: readonly string[],
): void {
  const isShown = ({ declaration, peopleDigests }: CatalogEntry) =>
    declaration.synthetic && peopleDigests.some((digest) => digests.includes(digest))
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
  { declaration, separateBudget }: Pick<CheckedRegistration, 'declaration' | 'separateBudget'>,
  digests: readonly string[],
  { datasets }: Pick<Custodian, 'datasets'>,
): void {
  const source = recordedSource(declaration, digests, separateBudget)
  if (source === undefined) return
  const known = catalog
    .registeredSources()
    .filter(
      (each) => digests.includes(each.digest) && (datasets === undefined || datasets.includes(each.dataset)),
    )
  const population = declaration.population && populationAccount(declaration.population)
  const refusal = reasonAgainstSource(known, declaration.id, { ...source, population })
  if (refusal !== undefined) throw refuseSource(refusal)
}

/**
 * Records that a registration was refused for its source, and returns the refusal. It tells a custodian that another
 * dataset has the same source, also if they may not use that dataset. The record does not name it.
 * @param id the id that was to be registered, or to get a version
 */
export async function recordRefusedSource(
  ledger: Acts,
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
        'The source, or a table that it shows, is or was registered under another id. Both budgets would protect the same ' +
          'people. Use that id, make both part of one population, or state why this one needs a budget of its own.',
        [{ field: 'separateBudget', rule: 'must state the reason for a second budget over the same source' }],
      )
  }
}

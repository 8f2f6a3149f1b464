import { mkdir, rm } from 'node:fs/promises'
import path from 'node:path'
import type { Catalog, CatalogEntry } from './catalog/catalog.ts'
import { type DatasetDeclaration, declareColumns, declareDataset } from './catalog/declaration.ts'
import { digestFile, locateSource } from './catalog/source-file.ts'
import type { DuckDbEngine } from './engines/duckdb.ts'
import { ingest } from './engines/ingest.ts'
import { canonicalJson, sha256 } from './ledger/canonical.ts'
import type { Budget, Ledger } from './ledger/ledger.ts'
import {
  deltaFromWire,
  epsilonFromWire,
  lossNumbers,
  MAX_BUDGET_EPSILON,
  type PrivacyLoss,
} from './privacy/loss.ts'
import { Refusal } from './privacy/refusal.ts'

/** What registering needs. */
export interface RegistryDependencies {
  readonly catalog: Catalog
  readonly engine: DuckDbEngine
  readonly ledger: Ledger
  /** Sources lie below it. Absolute. */
  readonly dataDirectory: string
}

/** A registration as a custodian sends it. */
export type RegistrationRequest = DatasetDeclaration & {
  readonly budget: { readonly epsilon: number; readonly delta: number }
}

/** Registers and withdraws datasets, one at a time. */
export interface Registry {
  /**
   * Register a dataset: check the declaration, ingest the file, open the budget, publish. The same registration again
   * changes nothing and says so.
   * @throws Refusal where a rule is broken; nothing is left behind then.
   */
  register(
    request: RegistrationRequest,
    principal: string,
  ): Promise<{ readonly entry: CatalogEntry; readonly created: boolean }>
  /**
   * Withdraw a dataset and its ingested rows. Its budget, with all that was spent, stays for whatever is registered
   * under the id again.
   * @throws Refusal `unknown-dataset`
   */
  withdraw(id: string): Promise<void>
}

export function createRegistry(dependencies: RegistryDependencies): Registry {
  let last: Promise<unknown> = Promise.resolve()
  const oneAtATime = <Result>(task: () => Promise<Result>): Promise<Result> => {
    const result = last.then(task)
    last = result.catch(() => undefined)
    return result
  }
  return {
    register: (request, principal) => oneAtATime(() => register(dependencies, request, principal)),
    withdraw: (id) => oneAtATime(() => withdraw(dependencies, id)),
  }
}

async function register(dependencies: RegistryDependencies, request: RegistrationRequest, principal: string) {
  const { catalog, engine, ledger, dataDirectory } = dependencies
  const { budget: requestedBudget, ...declaration } = request
  const cap: PrivacyLoss = {
    epsilonNano: epsilonFromWire(requestedBudget.epsilon, 'budget.epsilon', MAX_BUDGET_EPSILON),
    deltaAtto: deltaFromWire(requestedBudget.delta, 'budget.delta'),
  }
  const columns = declareColumns(declaration)
  const sourcePath = await locateSource(dataDirectory, declaration.source)
  const version = versionOf(declaration, await digestFile(sourcePath))

  const opened = await ledger.budget(declaration.id)
  if (opened !== undefined) requireSameCap(opened, cap, declaration.id)
  const existing = catalog.get(declaration.id)
  if (existing !== undefined) {
    const same = existing.dataset.version === version && existing.declaration.title === declaration.title
    if (same) return { entry: existing, created: false }
    throw new Refusal('dataset-exists', `${declaration.id} is registered with another file or declaration.`, [
      { field: 'id', rule: 'must be new, or the registration must be the same as before' },
    ])
  }

  const rowsFile = catalog.rowsFile({ id: declaration.id, version })
  await mkdir(path.dirname(rowsFile), { recursive: true, mode: 0o700 })
  const { rows } = await ingest({
    sourcePath,
    format: declaration.source.format,
    columns,
    targetPath: rowsFile,
  })
  try {
    if (declaration.neighbours === 'change-one' && rows === 0) {
      throw new Refusal(
        'source-does-not-fit',
        'Under change-one neighbours a dataset needs at least one row.',
        [{ field: 'source.path', rule: 'must name a file with at least one row' }],
      )
    }
    const entry: CatalogEntry = {
      declaration,
      dataset: declareDataset(declaration, version, rows),
      registeredAt: new Date().toISOString(),
    }
    await engine.open(entry.dataset)
    const outcome = await ledger.openBudget(declaration.id, cap, principal)
    if (outcome.kind === 'exists') requireSameCap(outcome.budget, cap, declaration.id)
    await catalog.add(entry)
    return { entry, created: true }
  } catch (error) {
    await engine.closeDataset({ id: declaration.id, version })
    await rm(rowsFile, { force: true })
    throw error
  }
}

/** An id's budget outlives its dataset, so that registering again cannot reset what was spent, nor raise the cap. */
function requireSameCap({ cap, spent }: Budget, asked: PrivacyLoss, id: string): void {
  if (cap.epsilonNano === asked.epsilonNano && cap.deltaAtto === asked.deltaAtto) return
  throw new Refusal(
    'budget-account-exists',
    `${id} has a budget from an earlier registration, which stays as it is. Register with that cap, then raise it by a grant.`,
    [{ field: 'budget', rule: 'must be the cap the id already has' }],
    { cap: lossNumbers(cap), spent: lossNumbers(spent) },
  )
}

/** The same file under the same declaration is the same version, on any machine. */
function versionOf(declaration: DatasetDeclaration, sourceDigest: string): string {
  const { columns, privacyUnit, neighbours, synthetic, source } = declaration
  const facts = { columns, privacyUnit, neighbours, synthetic, source, sourceDigest }
  return sha256(canonicalJson(facts)).slice(0, 16)
}

async function withdraw({ catalog, engine }: RegistryDependencies, id: string): Promise<void> {
  const entry = catalog.get(id)
  if (entry === undefined) throw new Refusal('unknown-dataset', `There is no dataset ${id}.`)
  await catalog.remove(id)
  await engine.closeDataset(entry.dataset)
}

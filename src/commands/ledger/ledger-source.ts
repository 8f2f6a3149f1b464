import { createReadStream, existsSync } from 'node:fs'
import path from 'node:path'
import type { Readable } from 'node:stream'
import { type Config, readConfig } from '../../config.ts'
import { sha256 } from '../../ledger/canonical.ts'
import { ADMINISTRATION } from '../../ledger/contract/acts.ts'
import type { Chain } from '../../ledger/contract/chain.ts'
import { verifyDataset } from '../../ledger/exported.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { type ExportFindings, followExport } from '../../ledger/protocol/verifier/export.ts'
import { findNotedEvents, type NotedEvent } from '../../ledger/protocol/verifier/noted-events.ts'
import type { SoundVerification } from '../../ledger/protocol/verifier/verifier.ts'
import { countCharges, eventPages } from '../../ledger/verification.ts'
import { type Amount, amountNumbers } from '../../privacy/accounting.ts'
import { defined } from '../../privacy/defined.ts'
import { Misuse } from '../command.ts'

/** The help on which ledger a command reads. */
export const LEDGER_HELP = '\nSOTTO_DATA_DIR and SOTTO_LEDGER_URL name the ledger.'

/** The ledger or export that a command reads. */
export interface LedgerSource {
  /** An export's file, or "-" for standard input; absent for the live ledger. */
  readonly export?: string
  /** A dataset; absent for all of them. */
  readonly dataset?: string
}

/** Verifies an export, or the live ledger, and looks for noted events in it. */
export async function followEvents(
  { export: file, dataset }: LedgerSource,
  noted: readonly NotedEvent[],
): Promise<ExportFindings> {
  if (file !== undefined) {
    const chunks: Readable = file === '-' ? process.stdin : createReadStream(file)
    return followExport(chunks, defined({ sha256, noted, dataset }))
  }
  return withLedger(readConfig(process.env), async (ledger) => {
    const finder = findNotedEvents(noted)
    const datasets: ExportFindings['datasets'][number][] = []
    const counts = await countCharges(ledger)
    for (const each of await chainsOf(ledger, dataset)) {
      const found = await verifyDataset(ledger, each, counts)
      if (found === undefined) throw unknownDataset(each)
      datasets.push({ dataset: each, ...found })
      if (!noted.some((event) => event.dataset === each)) continue
      for await (const page of eventPages(ledger, each)) {
        for (const { canonical, hash } of page) finder.add(JSON.parse(canonical), hash)
      }
    }
    return { datasets, noted: finder.result() }
  })
}

/** The chains of a ledger: its datasets, its populations and, if an act was recorded, the administration; or the given one. */
async function chainsOf(ledger: Chain, chain: string | undefined): Promise<readonly string[]> {
  const hasActs = (await ledger.head(ADMINISTRATION)) !== undefined
  if (chain === ADMINISTRATION && hasActs) return [ADMINISTRATION]
  const datasets = await datasetsOf(ledger, chain)
  return chain === undefined && hasActs ? [...datasets, ADMINISTRATION] : datasets
}

/**
 * The datasets and populations of a ledger, or the given one.
 * @throws Misuse for a ledger without datasets, and for a dataset that it never had.
 */
export async function datasetsOf(ledger: Chain, dataset: string | undefined): Promise<readonly string[]> {
  const heads = await ledger.heads()
  const all = heads.flatMap(({ dataset: name }) => (name === ADMINISTRATION ? [] : [name]))
  if (all.length === 0) throw new Misuse('the ledger has no datasets')
  if (dataset === undefined) return all
  if (!all.includes(dataset)) throw unknownDataset(dataset)
  return [dataset]
}

function unknownDataset(dataset: string): Misuse {
  return new Misuse(`the ledger has no dataset ${dataset}`)
}

/**
 * Opens the live ledger, uses it and closes it.
 * @throws Misuse if the ledger does not exist, because opening would create a new one.
 */
export async function withLedger<Result>(
  { ledgerUrl }: Config,
  use: (ledger: Ledger) => Promise<Result>,
): Promise<Result> {
  if (path.isAbsolute(ledgerUrl) && !existsSync(ledgerUrl))
    throw new Misuse(
      `no ledger found at ${ledgerUrl}: set SOTTO_DATA_DIR or SOTTO_LEDGER_URL to its location`,
    )
  // Loaded here because a command that reads an export needs no database.
  const { openLedger } = await import('../../ledger/open.ts')
  const ledger = await openLedger({ url: ledgerUrl })
  try {
    return await use(ledger)
  } finally {
    await ledger.close()
  }
}

/** Prints one line for each dataset and for the first line of an export that cannot be read. */
export function printFindings({ datasets, badLine }: ExportFindings): void {
  for (const found of datasets) {
    const { dataset, verification } = found
    if (verification.kind === 'sound') console.log(describeSound(found, verification))
    else console.error(`${dataset}: event ${verification.sequence} is not valid: ${verification.reason}`)
  }
  if (badLine !== undefined) console.error(`line ${badLine.line}: ${badLine.reason}`)
}

function describeSound(
  { dataset, requests: { referredTo, verified }, inferred = 0 }: ExportFindings['datasets'][number],
  { events, headHash, budget }: SoundVerification,
): string {
  if (dataset === ADMINISTRATION) return `${dataset}: ${events} events verified, head ${headHash}`
  const balances = `spent ${describeAmount(budget.spent)} of ${describeAmount(budget.cap)}`
  const requests = `${verified} of ${referredTo} requests verified`
  const recomputed = inferred === 0 ? '' : `, ${inferred} inferred answers recomputed`
  return `${dataset}: ${events} events verified, ${balances}, ${requests}${recomputed}, head ${headHash}`
}

function describeAmount(amount: Amount): string {
  return Object.entries(amountNumbers(amount))
    .map(([unit, value]) => `${unit} ${value}`)
    .join(' and ')
}

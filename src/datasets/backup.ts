import { access, copyFile, readdir, readFile, rm } from 'node:fs/promises'
import path from 'node:path'
import type { Chain } from '../ledger/contract/chain.ts'
import type { Sessions } from '../ledger/contract/sessions.ts'
import { requestBackup } from '../ledger/custody/control.ts'
import {
  type HeadsByDataset,
  headLines,
  knownHeadsFile,
  laterHeads,
  missingHistory,
  readKnownHeads,
} from '../ledger/custody/known-heads.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { openSqliteLedger, type SqliteLedger } from '../ledger/sqlite/ledger.ts'
import { countCharges, verifyLedger } from '../ledger/verification.ts'
import { synchronise, writePrivately } from '../platform/files/durable-file.ts'
import { createWritableFolder } from '../platform/files/writable-folder.ts'
import { copyCatalog, copyRows } from './catalog/copy.ts'

/*
 * A backup is a folder with the catalog, its ingested rows and keys, the digests of API keys, the known heads and, for a
 * SQLite ledger, the ledger. `backup.json` is written last: a folder without it is incomplete. Not part of it are
 * source files, the signing key, and the checkpoint, which the next start writes again.
 */

/** Facts about a backup. */
interface Manifest {
  readonly layout: 2
  /** ISO 8601, UTC. */
  readonly createdAt: string
  /** False if the ledger is in PostgreSQL, which has its own backups. */
  readonly hasLedger: boolean
  /** False if the catalog and the keys are in PostgreSQL. */
  readonly hasCatalog: boolean
}

/** The folders and files of a data folder and its ledger. */
export interface StoredData {
  readonly dataDirectory: string
  /** The SQLite file of the ledger; missing if the ledger is in PostgreSQL. */
  readonly ledgerFile?: string
  /** True if the catalog and the keys are in PostgreSQL, and only ingested rows are in the data folder. */
  readonly sharesCatalog?: boolean
}

const MANIFEST = 'backup.json'
const LEDGER = 'ledger.sqlite'
const CATALOG = 'datasets'
const KEYS = 'keys.json'

/** A folder that is no backup, or that cannot be written to. */
export class BackupError extends Error {}

/** A ledger that is damaged, or that lacks an event of the known heads. */
export class UnsoundLedger extends Error {}

/**
 * Writes a backup to a new or empty folder, whether a service is running or not. The ledger is copied after the catalog,
 * so that each dataset of the copy has its budget, and is verified.
 * @returns the number of events in the ledger; `undefined` if it is in PostgreSQL
 * @throws BackupError for a folder that is not empty; UnsoundLedger if the copy is not sound.
 */
export async function writeBackup(
  { dataDirectory, ledgerFile, sharesCatalog = false }: StoredData,
  folder: string,
): Promise<number | undefined> {
  await requireEmpty(folder)
  const heads = await readKnownHeads(knownHeadsFile(dataDirectory))
  await writePrivately(knownHeadsFile(folder), headLines(heads))
  if (!sharesCatalog) await copyIfThere(path.join(dataDirectory, KEYS), path.join(folder, KEYS))
  const copyDatasets = sharesCatalog ? copyRows : copyCatalog
  await copyDatasets(path.join(dataDirectory, CATALOG), path.join(folder, CATALOG))
  const copy = path.join(folder, LEDGER)
  if (ledgerFile !== undefined) await copyLedger(dataDirectory, ledgerFile, copy)
  const events =
    ledgerFile === undefined ? undefined : await usingFile(copy, (ledger) => requireSound(ledger, heads))
  const manifest: Manifest = {
    layout: 2,
    createdAt: new Date().toISOString(),
    hasLedger: ledgerFile !== undefined,
    hasCatalog: !sharesCatalog,
  }
  await writePrivately(path.join(folder, MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`)
  return events
}

/**
 * Writes a backup into an empty data folder, and verifies it. Nothing is left behind if it is refused.
 * @param known heads that were recorded elsewhere
 * @param openDatabase opens the ledger in PostgreSQL, for a backup without a ledger
 * @returns the number of events in the ledger
 * @throws BackupError for a folder that is no backup or a data folder that is not empty; UnsoundLedger if the ledger is
 * damaged, or lacks an event of the known heads or of the backup's own.
 */
export async function restoreBackup(
  folder: string,
  { dataDirectory, ledgerFile, sharesCatalog = false }: StoredData,
  known: HeadsByDataset,
  openDatabase: () => Promise<Ledger>,
): Promise<number> {
  const { hasLedger, hasCatalog } = await readManifest(folder)
  if (hasLedger !== (ledgerFile !== undefined))
    throw new BackupError(
      hasLedger
        ? 'the backup has a SQLite ledger, and SOTTO_LEDGER_URL names a PostgreSQL database'
        : 'the backup has no ledger: restore the PostgreSQL database first, and name it in SOTTO_LEDGER_URL',
    )
  if (hasCatalog === sharesCatalog)
    throw new BackupError(
      hasCatalog
        ? 'the backup has the catalog and the keys, and SOTTO_CATALOG_URL names a database: restore without it'
        : 'the backup has no catalog: restore the PostgreSQL database first, and name it in SOTTO_CATALOG_URL',
    )
  await requireEmpty(dataDirectory)
  if (ledgerFile !== undefined && (await exists(ledgerFile)))
    throw new BackupError(`${ledgerFile} exists; nothing was written`)
  try {
    const copyDatasets = sharesCatalog ? copyRows : copyCatalog
    await copyDatasets(path.join(folder, CATALOG), path.join(dataDirectory, CATALOG))
    await copyIfThere(path.join(folder, KEYS), path.join(dataDirectory, KEYS))
    const own = await readKnownHeads(knownHeadsFile(folder))
    await writePrivately(knownHeadsFile(dataDirectory), headLines(own))
    const check = async (ledger: Ledger) => {
      await requireHistory(ledger, own)
      const events = await requireSound(ledger, known)
      // The backup may have been made while datasets were registered.
      const heads = new Map((await ledger.heads()).map((head) => [head.dataset, head]))
      await writePrivately(knownHeadsFile(dataDirectory), headLines(laterHeads(own, heads)))
      return events
    }
    if (ledgerFile === undefined) return await using(openDatabase, check)
    await copyFile(path.join(folder, LEDGER), ledgerFile)
    await synchronise(ledgerFile)
    return await usingFile(ledgerFile, check)
  } catch (error) {
    for (const name of await readdir(dataDirectory))
      await rm(path.join(dataDirectory, name), { recursive: true })
    if (ledgerFile !== undefined)
      for (const suffix of ['', '-wal', '-shm']) await rm(`${ledgerFile}${suffix}`, { force: true })
    throw error
  }
}

/** Copies the ledger through the running service, or directly if none is running. */
async function copyLedger(dataDirectory: string, ledgerFile: string, copy: string): Promise<void> {
  if (await requestBackup(dataDirectory, copy)) return
  if (!(await exists(ledgerFile))) throw new BackupError(`no ledger found at ${ledgerFile}`)
  await usingFile(ledgerFile, (ledger) => ledger.backup(copy))
}

/** @throws UnsoundLedger if the ledger lacks an event of the known heads, or is damaged. */
async function requireSound(
  ledger: Chain & Pick<Sessions, 'sessionAnswers'>,
  known: HeadsByDataset,
): Promise<number> {
  await requireHistory(ledger, known)
  const counts = await countCharges(ledger)
  let events = 0
  for (const { dataset } of await ledger.heads()) {
    const found = await verifyLedger(ledger, dataset, counts)
    if (found?.kind === 'broken')
      throw new UnsoundLedger(
        `the ledger of ${dataset} is damaged at event ${found.sequence}: ${found.reason}`,
      )
    events += found?.events ?? 0
  }
  return events
}

async function requireHistory(ledger: Chain, known: HeadsByDataset): Promise<void> {
  const missing = await missingHistory(ledger, known)
  if (missing.length > 0)
    throw new UnsoundLedger(
      ['the ledger is older than known heads, or another one:', ...missing.map((each) => `  ${each}`)].join(
        '\n',
      ),
    )
}

function usingFile<Result>(file: string, use: (ledger: SqliteLedger) => Promise<Result>): Promise<Result> {
  return using(() => openSqliteLedger({ path: file }), use)
}

async function using<Opened extends Ledger, Result>(
  open: () => Promise<Opened>,
  use: (ledger: Opened) => Promise<Result>,
): Promise<Result> {
  const ledger = await open()
  try {
    return await use(ledger)
  } finally {
    await ledger.close()
  }
}

async function readManifest(folder: string): Promise<Manifest> {
  const text = await readFile(path.join(folder, MANIFEST), 'utf8').catch(() => {
    throw new BackupError(`${folder} is not a complete backup: it has no ${MANIFEST}`)
  })
  const manifest: Manifest = JSON.parse(text)
  if (manifest.layout !== 2) throw new BackupError(`${folder} is a backup of another version of Sotto`)
  return manifest
}

/** Creates a folder that can be written to, unless it exists, in which case it must be empty. */
async function requireEmpty(folder: string): Promise<void> {
  await createWritableFolder(folder)
  if ((await readdir(folder)).length > 0) throw new BackupError(`${folder} is not empty; nothing was written`)
}

async function copyIfThere(from: string, to: string): Promise<void> {
  if (!(await exists(from))) return
  await copyFile(from, to)
  await synchronise(to)
}

function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  )
}

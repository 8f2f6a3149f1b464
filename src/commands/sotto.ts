#!/usr/bin/env node
/** `npx sotto ledger <verify | export | sign | create-signing-key>`: docs/ledger.md tells how it is used. */
import { isUtf8 } from 'node:buffer'
import { createReadStream, createWriteStream, existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { parseArgs } from 'node:util'
import { type Config, readConfig } from '../config.ts'
import { publishFile } from '../files/durable-file.ts'
import { sha256 } from '../ledger/canonical.ts'
import {
  type ExportFindings,
  eventPages,
  exportLines,
  findNotedEvents,
  followExport,
  isSound,
  type NotedAnswer,
  type NotedEvent,
} from '../ledger/exported.ts'
import { LedgerFault } from '../ledger/fault.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { type ChainHead, createSigningKey, isSignatureOf, readHeadSigner } from '../ledger/signature.ts'
import { type Verification, verifyLedger } from '../ledger/verification.ts'
import { type Amount, amountNumbers } from '../privacy/accounting.ts'

const USAGE = `usage: npx sotto ledger <command>

  verify   [--export <file>] [--dataset <id>] [--head <file>]... [--receipt <file>]... [--public-key <file>]
           recompute hashes and balances; look for published heads and the receipts of answers
  export   [--dataset <id>] [--output <file>]
           write a dataset's events as JSON Lines
  sign     [--export <file>] [--dataset <id>] [--output <file>]
           verify, then sign the head of each dataset with the key that SOTTO_LEDGER_SIGNING_KEY names
  create-signing-key <file>
           write a new Ed25519 key to <file> and the public one to <file>.pub

Without --export the ledger is the one that SOTTO_DATA_DIR and SOTTO_LEDGER_URL name; "--export -" reads standard input.
Exit code: 0 sound or done, 1 something does not fit, 2 nothing could be checked or done.
`

const SOUND = 0
const BROKEN = 1
const UNUSABLE = 2

/** Why a command was not carried out, for whoever gave it. */
class Misuse extends Error {}

/** A noted event with the file that it was read from. */
interface Note {
  readonly file: string
  readonly noted: NotedEvent
  readonly signature?: string
}

/** What `verify` and `sign` can be told. */
interface Sources {
  readonly export?: string
  readonly dataset?: string
}

async function run(args: readonly string[]): Promise<number> {
  const [room, command, ...rest] = args
  if (room === '--help' || room === '-h' || room === 'help' || rest.includes('--help')) {
    process.stdout.write(USAGE)
    return SOUND
  }
  if (room !== 'ledger') throw new Misuse(USAGE)
  switch (command) {
    case 'verify':
      return verify(rest)
    case 'export':
      return writeExport(rest)
    case 'sign':
      return signHeads(rest)
    case 'create-signing-key':
      return createKey(rest)
    default:
      throw new Misuse(USAGE)
  }
}

async function verify(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      export: { type: 'string' },
      dataset: { type: 'string' },
      head: { type: 'string', multiple: true, default: [] },
      receipt: { type: 'string', multiple: true, default: [] },
      'public-key': { type: 'string' },
    },
  })
  const notes = [
    ...values.head.flatMap((file) => readHeads(file)),
    ...values.receipt.map((file) => readReceipt(file, values.dataset)),
  ]
  const publicKeyFile = values['public-key']
  if (publicKeyFile !== undefined && notes.length === 0)
    throw new Misuse('--public-key: there is no --head and no --receipt whose signature it could check')
  const publicKey = publicKeyFile === undefined ? undefined : readText(publicKeyFile)
  const signatureReasons = notes.map((note) => reasonAgainstSignature(note, publicKey))
  const found = await follow(
    values,
    notes.map(({ noted }) => noted),
  )
  print(found)
  let sound = isSound(found)
  for (const [place, note] of notes.entries()) {
    const reason = found.noted[place]?.reason ?? signatureReasons[place]
    const name = `${note.file}: event ${note.noted.sequence} of ${note.noted.dataset}`
    if (reason === undefined) {
      const unsigned = publicKey === undefined ? '; signature not checked (--public-key)' : ', and signed'
      console.log(`${name}: there${note.noted.answer === undefined ? '' : ', with the answer'}${unsigned}`)
    } else {
      sound = false
      console.error(`${name}: ${reason}`)
    }
  }
  return sound ? SOUND : BROKEN
}

async function writeExport(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: { dataset: { type: 'string' }, output: { type: 'string' } },
  })
  return withLedger(readConfig(process.env), async (ledger) => {
    const dataset = theOne(await datasetsOf(ledger, values.dataset))
    await write(values.output, exportLines(ledger, dataset))
    return SOUND
  })
}

async function signHeads(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: { export: { type: 'string' }, dataset: { type: 'string' }, output: { type: 'string' } },
  })
  const { ledgerSigningKey } = readConfig(process.env)
  if (ledgerSigningKey === undefined)
    throw new Misuse('SOTTO_LEDGER_SIGNING_KEY: must name the key to sign with')
  const signer = await readHeadSigner(ledgerSigningKey)
  const found = await follow(values, [])
  if (!isSound(found)) {
    print(found)
    return BROKEN
  }
  const lines = found.datasets.flatMap(({ dataset, verification }) => {
    if (verification.kind === 'broken') return []
    const head: ChainHead = { dataset, sequence: verification.events, hash: verification.headHash }
    return `${JSON.stringify({ version: 1, ...head, signature: signer.sign(head) })}\n`
  })
  await write(values.output, lines)
  return SOUND
}

async function createKey(args: readonly string[]): Promise<number> {
  const { positionals } = parseArgs({ args: [...args], options: {}, allowPositionals: true })
  const [file, ...more] = positionals
  if (file === undefined || more.length > 0) throw new Misuse(USAGE)
  try {
    process.stdout.write(await createSigningKey(file))
  } catch (error) {
    if (isErrorOf(error, 'EEXIST'))
      throw new Misuse(`${file}, or ${file}.pub, is there already: it was left as it is`)
    throw error
  }
  return SOUND
}

/** Follow an export, or the live ledger where there is none. */
async function follow(sources: Sources, noted: readonly NotedEvent[]): Promise<ExportFindings> {
  const { export: file, dataset } = sources
  if (file !== undefined) {
    const chunks: Readable = file === '-' ? process.stdin : createReadStream(file)
    return followExport(chunks, { noted, ...(dataset !== undefined && { dataset }) })
  }
  return withLedger(readConfig(process.env), async (ledger) => {
    const finder = findNotedEvents(noted)
    const datasets: ExportFindings['datasets'][number][] = []
    const counts = await ledger.chargeCounts()
    for (const each of await datasetsOf(ledger, dataset)) {
      const verification = await verifyLedger(ledger, each, counts)
      if (verification === undefined) throw new Misuse(`there never was a dataset ${each}`)
      datasets.push({ dataset: each, verification })
      if (!noted.some((event) => event.dataset === each)) continue
      for await (const page of eventPages(ledger, each)) {
        for (const { canonical, hash } of page) finder.add(JSON.parse(canonical), hash)
      }
    }
    return { datasets, noted: finder.result() }
  })
}

async function datasetsOf(ledger: Ledger, dataset: string | undefined): Promise<readonly string[]> {
  const all = await ledger.datasets()
  if (all.length === 0) throw new Misuse('the ledger has no datasets')
  if (dataset === undefined) return all
  if (!all.includes(dataset)) throw new Misuse(`there never was a dataset ${dataset}`)
  return [dataset]
}

function theOne(datasets: readonly string[]): string {
  const [dataset, ...others] = datasets
  if (dataset === undefined || others.length > 0)
    throw new Misuse(`name one of the datasets with --dataset: ${datasets.join(', ')}`)
  return dataset
}

async function withLedger<Result>(config: Config, use: (ledger: Ledger) => Promise<Result>): Promise<Result> {
  const { ledgerUrl } = config
  // Opening would make a new ledger, and call it sound.
  if (path.isAbsolute(ledgerUrl) && !existsSync(ledgerUrl))
    throw new Misuse(
      `there is no ledger at ${ledgerUrl}: SOTTO_DATA_DIR and SOTTO_LEDGER_URL say where it is`,
    )
  // Whoever checks an export needs no database.
  const { openLedger } = await import('../ledger/open.ts')
  const ledger = await openLedger({ url: ledgerUrl })
  try {
    return await use(ledger)
  } finally {
    await ledger.close()
  }
}

/** To a file, which is there whole or not at all, or to standard output. */
async function write(file: string | undefined, texts: AsyncIterable<string> | readonly string[]) {
  const text = Readable.from(texts)
  if (file === undefined) return pipeline(text, process.stdout, { end: false })
  await pipeline(text, createWriteStream(`${file}.partial`))
  await publishFile(`${file}.partial`, file)
}

function print({ datasets, badLine }: ExportFindings): void {
  for (const { dataset, verification } of datasets) {
    if (verification.kind === 'sound') console.log(describe(dataset, verification))
    else console.error(`${dataset}: event ${verification.sequence} does not fit: ${verification.reason}`)
  }
  if (badLine !== undefined) console.error(`line ${badLine.line}: ${badLine.reason}`)
}

function describe(
  dataset: string,
  { events, headHash, budget }: Extract<Verification, { kind: 'sound' }>,
): string {
  const balances = `spent ${numbers(budget.spent)} of ${numbers(budget.cap)}`
  return `${dataset}: ${events} events fit, ${balances}, head ${headHash}`
}

function numbers(amount: Amount): string {
  return Object.entries(amountNumbers(amount))
    .map(([unit, value]) => `${unit} ${value}`)
    .join(' and ')
}

function reasonAgainstSignature(
  { noted, signature }: Note,
  publicKey: string | undefined,
): string | undefined {
  if (publicKey === undefined) return undefined
  if (signature === undefined) return 'it is not signed'
  return isSignatureOf(noted, signature, publicKey) ? undefined : 'the signature is not that of the key'
}

/** Published heads: one, or one on each line. */
function readHeads(file: string): readonly Note[] {
  const text = readText(file)
  const documents = parseLines(text) ?? [parseJson(file, text)]
  return documents.map((document) => readNote(file, fieldsOf(document)))
}

function parseLines(text: string): readonly unknown[] | undefined {
  try {
    return text
      .trim()
      .split('\n')
      .map((line): unknown => JSON.parse(line))
  } catch {
    return undefined
  }
}

/** The receipt in an answer, with the answer; or a receipt by itself. */
function readReceipt(file: string, dataset: string | undefined): Note {
  const text = readText(file)
  const document = fieldsOf(parseJson(file, text))
  const named = document.dataset ?? dataset
  if (document.receipt === undefined) return readNote(file, { dataset: named, ...document })
  const receipt = { dataset: named, ...fieldsOf(document.receipt) }
  const { id, session, question } = document
  const chargeId = id ?? session
  if (typeof chargeId !== 'string') throw new Misuse(`${file}: the answer has no id`)
  const answer: NotedAnswer = {
    chargeId,
    ...(typeof question === 'number' && { question }),
    answerHash: sha256(text),
  }
  return readNote(file, receipt, answer)
}

function readNote(file: string, fields: Readonly<Record<string, unknown>>, answer?: NotedAnswer): Note {
  const { dataset, sequence, hash, signature } = fields
  if (typeof dataset !== 'string') throw new Misuse(`${file}: it names no dataset; name it with --dataset`)
  if (typeof sequence !== 'number' || !Number.isSafeInteger(sequence) || sequence < 1)
    throw new Misuse(`${file}: "sequence" must be the number of an event`)
  if (typeof hash !== 'string' || !/^[0-9a-f]{64}$/.test(hash))
    throw new Misuse(`${file}: "hash" must be a SHA-256, hexadecimal`)
  return {
    file,
    noted: { dataset, sequence, hash, ...(answer !== undefined && { answer }) },
    ...(typeof signature === 'string' && { signature }),
  }
}

function fieldsOf(document: unknown): Readonly<Record<string, unknown>> {
  return typeof document === 'object' && document !== null ? { ...document } : {}
}

function parseJson(file: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Misuse(`${file}: it is no JSON`)
  }
}

function readText(file: string): string {
  const bytes = readFileSync(file)
  // They would be replaced, and the hash would be that of another text.
  if (!isUtf8(bytes)) throw new Misuse(`${file}: it is no UTF-8`)
  return bytes.toString()
}

function isErrorOf(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}

function explain(error: unknown): string {
  if (error instanceof LedgerFault && error.kind === 'in-use') {
    return `${error.message}
While the service runs, ask it: GET /v1/datasets/{dataset}/ledger/export gives an export to use with --export, and
GET /v1/datasets/{dataset}/ledger/verification verifies.`
  }
  return error instanceof Error ? error.message : String(error)
}

try {
  process.exitCode = await run(process.argv.slice(2))
} catch (error) {
  console.error(explain(error).trimEnd())
  // A store that is damaged is not sound; anything else says nothing about the ledger.
  process.exitCode = error instanceof LedgerFault && error.kind === 'unusable' ? BROKEN : UNUSABLE
}

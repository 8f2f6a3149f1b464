import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { z } from 'zod'
import type { Chain, ChainHead } from '../contract/chain.ts'
import type { SoundVerification } from '../protocol/verifier/verifier.ts'

/*
 * The known heads: the last head of every chain that the service has seen, as JSON Lines. They are kept apart from the
 * ledger, to detect a ledger that was lost or replaced by an older copy.
 */

/** Path of the file of known heads in a data folder. */
export function knownHeadsFile(dataDirectory: string): string {
  return path.join(dataDirectory, 'heads.jsonl')
}

/** Heads by their dataset. */
export type HeadsByDataset = ReadonlyMap<string, ChainHead>

/**
 * Reads the known heads; none if the file does not exist.
 * @throws Error for a damaged file.
 */
export async function readKnownHeads(file: string): Promise<HeadsByDataset> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return ''
    throw error
  })
  const lines = text.split('\n').filter((line) => line !== '')
  return new Map(lines.map((line) => parseHead(file, line)).map((head) => [head.dataset, head]))
}

/** The heads up to which a checkpoint has verified each dataset. */
export function headsOf(
  checkpoint: ReadonlyMap<string, Pick<SoundVerification, 'events' | 'headHash'>>,
): HeadsByDataset {
  const heads = Array.from(checkpoint, ([dataset, { events, headHash }]) => ({
    dataset,
    sequence: events,
    hash: headHash,
  }))
  return new Map(heads.filter(({ sequence }) => sequence > 0).map((head) => [head.dataset, head]))
}

/** Formats heads as the file's text, ordered by dataset. */
export function headLines(heads: HeadsByDataset): string {
  const inOrder = [...heads.values()].sort((a, b) => (a.dataset < b.dataset ? -1 : 1))
  return inOrder
    .map(({ dataset, sequence, hash }) => `${JSON.stringify({ dataset, sequence, hash })}\n`)
    .join('')
}

/** Merges two sets of heads: returns the later head of each dataset. */
export function laterHeads(first: HeadsByDataset, second: HeadsByDataset): HeadsByDataset {
  const later = new Map(first)
  for (const head of second.values()) {
    const known = later.get(head.dataset)
    if (known === undefined || known.sequence < head.sequence) later.set(head.dataset, head)
  }
  return later
}

/**
 * Compares a ledger with known heads.
 * @param datasets ids that have had a budget, with or without a known head
 * @returns one sentence for each dataset whose events are missing or differ, ordered by dataset
 */
export async function missingHistory(
  ledger: Pick<Chain, 'heads' | 'events'>,
  known: HeadsByDataset,
  datasets: Iterable<string> = [],
): Promise<readonly string[]> {
  const heads = new Map((await ledger.heads()).map((head) => [head.dataset, head]))
  const missing: string[] = []
  for (const dataset of [...new Set([...known.keys(), ...datasets])].sort()) {
    const head = heads.get(dataset)
    const before = known.get(dataset)
    if (head === undefined) missing.push(`it has no budget of ${dataset}`)
    else if (before !== undefined) missing.push(...(await reasonsAgainst(ledger, head, before)))
  }
  return missing
}

async function reasonsAgainst(
  ledger: Pick<Chain, 'events'>,
  head: ChainHead,
  { dataset, sequence, hash }: ChainHead,
): Promise<readonly string[]> {
  if (head.sequence < sequence)
    return [`its events of ${dataset} end with number ${head.sequence}, and number ${sequence} was recorded`]
  // Verification checks that the event of a head exists.
  if (head.sequence === sequence && head.hash === hash) return []
  const [event] = await ledger.events(dataset, { limit: 1, afterSequence: sequence - 1 })
  return event?.hash === hash ? [] : [`its event ${sequence} of ${dataset} is not the one that was recorded`]
}

const chainHead = z.object({
  dataset: z.string(),
  sequence: z.int().min(1),
  hash: z.string().regex(/^[0-9a-f]{64}$/),
})

function parseHead(file: string, line: string): ChainHead {
  try {
    return chainHead.parse(JSON.parse(line))
  } catch {
    throw new Error(`${file} is damaged: a line is not a head. Restore it from a backup of the data folder`)
  }
}

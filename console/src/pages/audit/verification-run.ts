import { chunksOf } from '../../api/chunks.ts'
import { type Chain, verifyExport } from './chain.ts'
import { type Check, checksOf, isSound, type StatedVerification } from './checks.ts'
import { keepHead, keptHead } from './kept-heads.ts'
import { openExport, readHead, readVerification, type StatedHead } from './ledger-source.ts'
import { checkSignature } from './signature.ts'

/** Result of a verification in the browser. */
export interface VerificationResult {
  readonly checks: readonly Check[]
  readonly head: StatedHead
  /** Absent if the export is not sound. */
  readonly chain?: Chain
  readonly stated: StatedVerification
}

export interface RunOptions {
  /** Export that the person has as a file. By default the service sends one. */
  readonly file?: Blob
  /** Receives the number of verified events, and of all events unless they come from a file. */
  readonly onProgress: (events: number, total: number | undefined) => void
  readonly signal: AbortSignal
}

/** Verifies the export of a chain, and compares it with the head and the verification of the service. */
export async function runVerification(
  dataset: string,
  { file, onProgress, signal }: RunOptions,
): Promise<VerificationResult> {
  // The head is read first, so that the export must contain it.
  const head = await readHead(dataset, signal)
  const bytes = file?.stream() ?? (await openExport(dataset, signal)).body
  if (bytes === null) throw new TypeError('the export has no body')
  const own = await verifyExport(chunksOf(bytes), {
    dataset,
    signal,
    onProgress: (events) => onProgress(events, file === undefined ? head.sequence : undefined),
  })
  const stated = (await readVerification(dataset, signal)) as StatedVerification
  const kept = keptHead(dataset)
  const checks = checksOf({
    own,
    head,
    stated,
    ...(kept === undefined ? {} : { kept }),
    ...(head.signature === undefined
      ? {}
      : { signature: await checkSignature(head, head.signature, head.publicKey ?? '') }),
  })
  if (own.kind === 'broken') return { checks, head, stated }
  const { chain } = own
  if (isSound(checks) && file === undefined)
    keepHead({ dataset, sequence: chain.events.length, hash: chain.headHash, at: new Date().toISOString() })
  return { checks, head, chain, stated }
}

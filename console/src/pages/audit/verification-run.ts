import { followExport } from '../../../../src/ledger/protocol/verifier/export.ts'
import type { SoundVerification } from '../../../../src/ledger/protocol/verifier/verifier.ts'
import { chunksOf } from '../../api/chunks.ts'
import type { AttemptOptions } from '../../api/use-attempt.ts'
import { type Check, chainOf, checksOf, isSound, type StatedVerification } from './checks.ts'
import { keepHead, keptHead } from './kept-heads.ts'
import { readExport, readHead, readVerification, type StatedHead } from './ledger-source.ts'
import type { VerifiedExport } from './receipt-checks.ts'
import { checkSignature, sha256 } from './web-crypto.ts'

/** Result of a verification in the browser. */
export interface VerificationResult {
  readonly checks: readonly Check[]
  readonly head: StatedHead
  /** Absent if the export is not sound. */
  readonly sound?: VerifiedExport & { readonly verification: SoundVerification }
  readonly stated: StatedVerification
}

/** Number of verified events, and of all events unless they come from a file. */
export interface VerifiedEvents {
  readonly events: number
  readonly total?: number | undefined
}

/** Time after which the verification lets the browser draw the page and react to the person. */
const PAUSE_AFTER_MS = 50

/**
 * Verifies the export of a chain, and compares it with the head and the verification of the service. See decision 59.
 * @param file export that the person has as a file; by default the service sends one
 */
export async function runVerification(
  dataset: string,
  file: Blob | undefined,
  { onProgress, signal }: AttemptOptions<VerifiedEvents>,
): Promise<VerificationResult> {
  // The head is read first, so that the export must contain it.
  const head = await readHead(dataset, signal)
  const bytes = file ?? (await readExport(dataset, signal))
  const kept = keptHead(dataset)
  const pause = pauses(signal)
  const own = await followExport(chunksOf(bytes.stream()), {
    dataset,
    sha256,
    noted: [head, ...(kept === undefined ? [] : [kept])],
    async onProgress(events) {
      onProgress({ events, total: file === undefined ? head.sequence : undefined })
      await pause()
    },
  })
  const stated = await readVerification(dataset, signal)
  const signature = head.signature && (await checkSignature(head, head.signature, head.publicKey ?? ''))
  const checks = checksOf({ own, stated, kept, signature: signature || undefined })
  const chain = chainOf(own)
  if ('line' in chain) return { checks, head, stated }
  const { verification } = chain
  if (isSound(checks) && file === undefined)
    keepHead({
      dataset,
      sequence: verification.events,
      hash: verification.headHash,
      at: new Date().toISOString(),
    })
  return { checks, head, stated, sound: { dataset, bytes, verification } }
}

/** Returns a function that pauses from time to time, and throws the reason of the signal once it is aborted. */
function pauses(signal: AbortSignal): () => Promise<void> {
  let resumedAt = performance.now()
  return async () => {
    signal.throwIfAborted()
    if (performance.now() - resumedAt < PAUSE_AFTER_MS) return
    await new Promise((resume) => setTimeout(resume))
    resumedAt = performance.now()
  }
}

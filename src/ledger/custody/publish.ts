import { appendFile } from 'node:fs/promises'
import type { Logger } from 'pino'
import type { Chain, ChainHead } from '../contract/chain.ts'
import type { HeadSigner } from '../signature.ts'

/** Destination of signed heads. */
export interface HeadPublication {
  /** The absolute path of a file that is appended to, or an http(s) URL that gets a POST. */
  readonly target: string
  readonly everyMs: number
  readonly signer: HeadSigner
  readonly logger: Pick<Logger, 'info' | 'warn'>
}

/** Time limit for a request to the URL. */
const POST_TIMEOUT_MS = 10_000
const POST_TIMEOUT_AT_CLOSE_MS = 1_000
/** Longest time until a failed publication is tried again. */
const RETRY_MS = 10_000

/**
 * Publishes the signed heads of a ledger at intervals: one line of JSON for each chain that has changed since the last
 * publication. Queries never wait for it. A failure is logged, and the publication is tried again.
 * @returns a function that stops after a last publication
 * @throws Error that names the variable if the file cannot be appended to.
 */
export async function publishHeads(
  ledger: Pick<Chain, 'heads'>,
  { target, everyMs, signer, logger }: HeadPublication,
): Promise<() => Promise<void>> {
  const isUrl = isHttpUrl(target)
  if (!isUrl) await requireAppendable(target)
  const published = new Map<string, string>()
  let timer: NodeJS.Timeout | undefined
  const closing = new AbortController()

  /** Resolves to false if the publication failed. */
  async function publish(signal: AbortSignal): Promise<boolean> {
    try {
      const heads = (await ledger.heads()).filter(({ dataset, hash }) => published.get(dataset) !== hash)
      if (heads.length === 0) return true
      const text = signedLines(heads, signer)
      await (isUrl ? post(target, text, signal) : append(target, text))
      for (const { dataset, hash } of heads) published.set(dataset, hash)
      logger.info({ heads: heads.length }, 'heads published')
      return true
    } catch (error) {
      logger.warn({ reason: describe(error) }, 'heads could not be published; trying again')
      return false
    }
  }

  async function step(): Promise<void> {
    const late = AbortSignal.timeout(POST_TIMEOUT_MS)
    const done = await publish(AbortSignal.any([late, closing.signal]))
    if (closing.signal.aborted) return
    timer = setTimeout(next, done ? everyMs : Math.min(everyMs, RETRY_MS))
    timer.unref()
  }
  function next(): void {
    underWay = step()
  }

  let underWay = step()
  return async () => {
    closing.abort()
    clearTimeout(timer)
    await underWay
    await publish(AbortSignal.timeout(POST_TIMEOUT_AT_CLOSE_MS))
  }
}

/** True for an http or https URL. */
function isHttpUrl(target: string): boolean {
  return /^https?:\/\//i.test(target)
}

function signedLines(heads: readonly ChainHead[], signer: HeadSigner): string {
  const at = new Date().toISOString()
  return heads.map((head) => `${JSON.stringify({ at, ...head, signature: signer.sign(head) })}\n`).join('')
}

/** Appends a text durably. */
function append(file: string, text: string): Promise<void> {
  return appendFile(file, text, { mode: 0o600, flush: true })
}

async function requireAppendable(file: string): Promise<void> {
  try {
    await append(file, '')
  } catch (error) {
    throw new Error(`SOTTO_HEADS_PUBLISH: must be a file that can be appended to (${describe(error)})`)
  }
}

async function post(url: string, body: string, signal: AbortSignal): Promise<void> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/x-ndjson' },
    body,
    redirect: 'error',
    signal,
  })
  await response.body?.cancel()
  if (!response.ok) throw new Error(`the answer has status ${response.status}`)
}

/** Describes a failure without the URL, which may be a secret. */
function describe(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  if (cause instanceof Error && 'code' in cause) return String(cause.code)
  if (!(cause instanceof Error)) return 'unknown'
  return /^the answer has status \d+$/.test(cause.message) ? cause.message : cause.name
}

/** The identity provider is unreachable or sent an invalid answer. The message contains nothing from a token. */
export class ProviderUnavailable extends Error {}

/** No request was sent, because one failed a moment ago. */
export class ProviderCoolingDown extends ProviderUnavailable {}

/** Bounds of a request to an identity provider. */
export interface FetchBounds {
  readonly timeoutMs: number
  readonly maxBytes: number
  /** Time after a failed request in which no further one is sent. */
  readonly cooldownMs: number
}

/**
 * Fetches a JSON document.
 * @param check throws if the document is not the expected one
 * @throws ProviderUnavailable
 */
export type BoundedFetch = (url: string, check: (document: unknown) => void) => Promise<Response>

/**
 * Creates a function that fetches JSON documents from an identity provider. It follows no redirects. After a failure it
 * fails at once until the cooldown is over, so that requests with arbitrary tokens cause few fetches.
 */
export function createBoundedFetch(bounds: FetchBounds): BoundedFetch {
  let failedAtMs = Number.NEGATIVE_INFINITY
  return async (url, check) => {
    if (performance.now() < failedAtMs + bounds.cooldownMs)
      throw new ProviderCoolingDown('the identity provider failed a moment ago')
    try {
      const text = await fetchText(url, bounds)
      check(JSON.parse(text))
      return new Response(text, { headers: { 'content-type': 'application/json' } })
    } catch (cause) {
      failedAtMs = performance.now()
      const reason = cause instanceof Error ? cause.message : String(cause)
      throw new ProviderUnavailable(`${url} cannot be used: ${reason}`, { cause })
    }
  }
}

async function fetchText(url: string, { timeoutMs, maxBytes }: FetchBounds): Promise<string> {
  const signal = AbortSignal.timeout(timeoutMs)
  const response = await fetch(url, { signal, redirect: 'error', headers: { accept: 'application/json' } })
  if (response.status !== 200) throw new Error(`the status is ${response.status}`)
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > maxBytes) throw new Error(`the document is larger than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

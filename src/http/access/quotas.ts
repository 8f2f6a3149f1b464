import type { Principal, Quota } from './principal.ts'

/** Limits on the requests of one principal. */
export type RequestQuota = Omit<Quota, 'storedBytesPerDataset'>

/** The state of a token bucket, as the response headers state it. */
export interface RateState {
  readonly requestsPerMinute: number
  /** Requests that may still be sent at once. */
  readonly remaining: number
  /** Time until the whole burst is available again, in whole seconds. */
  readonly fullInSeconds: number
}

/** The decision about one request. */
export type QuotaDecision =
  /** The request is counted as under way until `end` is called. */
  | {
      readonly kind: 'admitted'
      readonly rate: RateState
      readonly end: () => void
      /** Ends the request as if it had not arrived. */
      readonly undo: () => void
    }
  | { readonly kind: 'rate-limited'; readonly rate: RateState; readonly retryAfterSeconds: number }
  /** The principal has its largest number of requests under way. */
  | { readonly kind: 'too-many'; readonly rate: RateState; readonly concurrentRequests: number }

/** Counts the requests of each principal in this process. */
export interface Quotas {
  /**
   * Decides about a request that has just arrived.
   * @param bodyBytes length of its body, as far as it is known
   */
  admit(principal: Principal, bodyBytes?: number): QuotaDecision
}

/** Usage by one principal. It may be removed once it equals that of a new principal. */
interface Usage {
  /** Tokens at `atMs`. */
  tokens: number
  atMs: number
  /** Time at which the bucket is full again. */
  fullAtMs: number
  underWay: number
}

const MINUTE_MS = 60_000
/** Bytes of a body that one token pays for. */
const BYTES_PER_TOKEN = 64 * 1024
/** Tokens that the largest JSON body takes. Uploads are larger, and are not parsed in the event loop. */
const MOST_TOKENS = 16
/** Number of principals from which on those with a full bucket are removed. */
const MANY_PRINCIPALS = 1_000

/**
 * Counts requests with a token bucket per principal: it holds `burst` tokens, gains `requestsPerMinute` a minute, and
 * each request takes one for each started 64 KiB of its body, at least one and at most 16 or the whole burst.
 *
 * @param defaults for principals without a quota of their own
 * @param nowMs a monotonic clock
 */
export function createQuotas(defaults: RequestQuota, nowMs: () => number = () => performance.now()): Quotas {
  const usages = new Map<string, Usage>()

  const forgetIdle = (now: number): void => {
    for (const [name, { underWay, fullAtMs }] of usages)
      if (underWay === 0 && fullAtMs <= now) usages.delete(name)
  }

  return {
    admit({ name, quota }, bodyBytes = 0) {
      const { requestsPerMinute, burst, concurrentRequests } = { ...defaults, ...quota }
      const now = nowMs()
      const tokens = Math.min(burst, MOST_TOKENS, Math.max(1, Math.ceil(bodyBytes / BYTES_PER_TOKEN)))
      if (usages.size >= MANY_PRINCIPALS) forgetIdle(now)
      const usage = usages.get(name) ?? { tokens: burst, atMs: now, fullAtMs: now, underWay: 0 }
      usages.set(name, usage)
      const perMs = requestsPerMinute / MINUTE_MS
      usage.tokens = Math.min(burst, usage.tokens + (now - usage.atMs) * perMs)
      usage.atMs = now
      const rate = (): RateState => ({
        requestsPerMinute,
        remaining: Math.floor(usage.tokens),
        fullInSeconds: Math.ceil((burst - usage.tokens) / perMs / 1_000),
      })
      if (usage.tokens < tokens) {
        const retryAfterSeconds = Math.ceil((tokens - usage.tokens) / perMs / 1_000)
        return { kind: 'rate-limited', rate: rate(), retryAfterSeconds }
      }
      usage.tokens -= tokens
      usage.fullAtMs = now + (burst - usage.tokens) / perMs
      if (usage.underWay >= concurrentRequests) return { kind: 'too-many', rate: rate(), concurrentRequests }
      usage.underWay += 1
      let hasEnded = false
      const end = () => {
        if (!hasEnded) usage.underWay -= 1
        hasEnded = true
      }
      const undo = () => {
        if (!hasEnded) usage.tokens = Math.min(burst, usage.tokens + tokens)
        end()
      }
      return { kind: 'admitted', rate: rate(), end, undo }
    },
  }
}

import { isIPv6 } from 'node:net'

/** Refused sign-ins of one address within one interval. */
export interface RefusedSignIns {
  /** An address; for IPv6 its /64 network, which one customer usually has. `other addresses` for the rest. */
  readonly subject: string
  readonly facts: {
    readonly count: number
    /** Start and end of the interval, ISO 8601. */
    readonly from: string
    readonly to: string
  }
}

/** Counts refused sign-ins and records them once per interval, so that callers without a key cannot fill the ledger. */
export interface RefusedSignInCounter {
  /** Counts a refused sign-in. The presented credential is neither passed nor stored. */
  count(address: string): void
  /** Records what was counted since the last record, and resolves when it is durable. */
  flush(): Promise<void>
  /** Stops the interval and records the rest. */
  close(): Promise<void>
}

export interface RefusedSignInOptions {
  /** Records the refused sign-ins of an address, in the chain of administrative acts. */
  readonly record: (refused: RefusedSignIns) => Promise<unknown>
  /** Called if they could not be recorded. They are counted again in the next interval. */
  readonly onError: (error: unknown) => void
  /** Default: one minute. */
  readonly intervalMs?: number
  readonly now?: () => number
}

const INTERVAL_MS = 60_000

/**
 * Addresses that are recorded separately per interval. With one more entry for the rest, at most 11 events of about
 * 500 bytes are added per minute: 8 MB a day, under any number of sign-ins from any number of addresses.
 */
const MOST_ADDRESSES = 10

const OTHERS = 'other addresses'

/** Creates a counter of refused sign-ins. */
export function createRefusedSignInCounter({
  record,
  onError,
  intervalMs = INTERVAL_MS,
  now = Date.now,
}: RefusedSignInOptions): RefusedSignInCounter {
  let counts = new Map<string, number>()
  let startedMs = now()
  let timer: NodeJS.Timeout | undefined

  function add(subject: string, count: number): void {
    if (timer === undefined) {
      startedMs = now()
      // The interval begins with a refused sign-in, so that an idle service records nothing.
      timer = setTimeout(flush, intervalMs)
      timer.unref()
    }
    const known = counts.has(subject) || counts.size < MOST_ADDRESSES
    const key = known ? subject : OTHERS
    counts.set(key, (counts.get(key) ?? 0) + count)
  }

  async function flush(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    const counted = counts
    const facts = { from: new Date(startedMs).toISOString(), to: new Date(now()).toISOString() }
    counts = new Map()
    for (const [subject, count] of counted) {
      try {
        await record({ subject, facts: { count, ...facts } })
      } catch (error) {
        add(subject, count)
        onError(error)
      }
    }
  }

  return {
    count: (address) => add(networkOf(address), 1),
    flush,
    close: flush,
  }
}

/** The /64 network of an IPv6 address; an IPv4 address itself. */
export function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  if (!isIPv6(address)) return address.slice(0, 64)
  const [head = '', tail] = address.replace(/%.*$/, '').split('::')
  const first = head === '' ? [] : head.split(':')
  const last = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => '0')
  const groups = tail === undefined ? first : [...first, ...zeros, ...last]
  return `${groups.slice(0, 4).join(':').toLowerCase()}::/64`
}

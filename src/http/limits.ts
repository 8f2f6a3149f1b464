import fastifyRateLimit from '@fastify/rate-limit'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Refusal } from '../privacy/refusal.ts'
import type { Principal } from './access/principal.ts'
import type { Quotas, RateState } from './access/quotas.ts'

/** Limits on the number of requests. */
export interface RequestLimits {
  readonly quotas: Quotas
  /**
   * Requests without a valid key per minute and address: those to public routes and those with a wrong key. An IPv6
   * address stands for its /64 network.
   */
  readonly keylessPerMinute: number
}

/** Limits requests without a valid key, by address. */
export interface KeylessLimit {
  /** @throws Refusal `rate-limited` if the address has sent too many. */
  count(request: FastifyRequest, reply: FastifyReply): Promise<void>
  /**
   * Counts a request that was refused before its body was read, unless it is counted already: by its principal if the
   * key is valid, otherwise by its address.
   * @returns the error to answer with: `rate-limited` or `quota-exceeded` instead of the given one beyond a limit.
   */
  countRefused(error: unknown, request: FastifyRequest, reply: FastifyReply): Promise<unknown>
}

const WINDOW_MS = 60_000

/** Public routes without a limit. Load balancers probe them, and may share an address with an attacker. */
const PROBES: readonly (string | undefined)[] = ['/healthz', '/readyz']

/** The route that has a key of its own. It is open to that key while a flood comes from the same address. */
const METRICS = '/metrics'

/**
 * Counts each request, before its body is read: those with a key by their principal, the others by their address. Routes
 * authenticate first, so that wrong keys from an address do not lock out its right keys.
 *
 * @returns the limit by address, for requests that no route takes and for keys that are not valid
 */
export async function limitRequests(
  app: FastifyInstance,
  { quotas, keylessPerMinute }: RequestLimits,
): Promise<KeylessLimit> {
  await app.register(fastifyRateLimit, { global: false, ipv6Subnet: 64 })
  const countAddress = app.createRateLimit({ max: keylessPerMinute, timeWindow: WINDOW_MS })

  const countedRequests = new WeakSet<FastifyRequest>()

  const count = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    countedRequests.add(request)
    if (PROBES.includes(request.routeOptions.url)) return
    const counted = await countAddress(request)
    if (counted.isAllowed) return
    const { remaining, ttlInSeconds, isExceeded } = counted
    const rate = { requestsPerMinute: keylessPerMinute, remaining, fullInSeconds: ttlInSeconds }
    setRateHeaders(reply, 'address', rate)
    if (isExceeded) {
      const detail = 'Too many requests without a valid API key came from this address. Retry later.'
      throw new Refusal('rate-limited', detail, [], { retryAfterSeconds: Math.max(1, ttlInSeconds) })
    }
  }

  const admitOnce = (principal: Principal, request: FastifyRequest, reply: FastifyReply): void => {
    countedRequests.add(request)
    admit(quotas, principal, request, reply)
  }

  // This hook runs after the access hooks of the routes.
  app.addHook('preParsing', async (request, reply) => {
    if (request.principal !== null) admitOnce(request.principal, request, reply)
    else if (request.routeOptions.url !== METRICS) await count(request, reply)
  })
  return {
    count,
    async countRefused(error, request, reply) {
      if (countedRequests.has(request)) return error
      try {
        // Requests with a malformed address have no decorations.
        const principal: Principal | null | undefined = request.principal
        if (principal) admitOnce(principal, request, reply)
        else await count(request, reply)
        return error
      } catch (limited) {
        return limited
      }
    },
  }
}

/** @throws Refusal `rate-limited` or `quota-exceeded` */
function admit(quotas: Quotas, principal: Principal, request: FastifyRequest, reply: FastifyReply): void {
  // A chunked body has no stated length, and may be as long as the route accepts.
  const isChunked = request.headers['transfer-encoding'] !== undefined
  const bodyBytes = isChunked
    ? request.routeOptions.bodyLimit
    : Number(request.headers['content-length'] ?? 0)
  const decision = quotas.admit(principal, bodyBytes)
  setRateHeaders(reply, 'principal', decision.rate)
  switch (decision.kind) {
    case 'admitted':
      // A client that has disconnected no longer counts.
      if (reply.raw.closed) decision.end()
      else reply.raw.once('close', decision.end)
      return
    case 'rate-limited': {
      const { retryAfterSeconds, rate } = decision
      const detail = `You may send ${rate.requestsPerMinute} requests per minute. Nothing was charged. Retry later.`
      throw new Refusal('rate-limited', detail, [], { retryAfterSeconds })
    }
    case 'too-many': {
      const detail = `You may have ${decision.concurrentRequests} requests under way at a time. Nothing was charged. Retry when one of them has been answered.`
      throw new Refusal('quota-exceeded', detail, [], { retryAfterSeconds: 1 })
    }
  }
}

/** Sets the headers of draft-ietf-httpapi-ratelimit-headers-10. */
function setRateHeaders(reply: FastifyReply, policy: string, rate: RateState): void {
  reply.header('ratelimit-policy', `"${policy}";q=${rate.requestsPerMinute};w=${WINDOW_MS / 1_000}`)
  reply.header('ratelimit', `"${policy}";r=${rate.remaining};t=${rate.fullInSeconds}`)
}

import { setImmediate, setTimeout } from 'node:timers/promises'

/** The last piece of work of each principal: resolves once the next one may begin. */
const last = new Map<string, Promise<void>>()

/** Length from which on a piece of work is followed by a pause. */
const LONG_MS = 1

/**
 * Waits until a principal may do another piece of work in the event loop: one in each turn, and after a long one a pause
 * of the same length. A request takes a dozen turns. If 64 connections of a principal did their work in each of them, a
 * small request of another would wait for hundreds of pieces. The wait depends on the work of the same principal alone.
 */
export function pace(principal: string): Promise<void> {
  const begins = last.get(principal) ?? Promise.resolve()
  const isOver = begins.then(followed)
  last.set(principal, isOver)
  void isOver.then(() => {
    if (last.get(principal) === isOver) last.delete(principal)
  })
  return begins
}

/** Resolves when the work that begins now may be followed by another piece. */
async function followed(): Promise<void> {
  const startMs = performance.now()
  // Node runs these callbacks once no promise has a continuation left that can run.
  await new Promise<void>((resolve) => process.nextTick(resolve))
  const tookMs = performance.now() - startMs
  await (tookMs < LONG_MS ? setImmediate() : setTimeout(tookMs))
}

/** Runs at most a fixed number of tasks at a time. Other tasks wait for a slot, in order of arrival. */
export interface Limiter {
  /**
   * Runs a task once a slot is free. The task holds its slot until it settles, so that a task which is slow to stop is
   * still counted.
   *
   * @param signal ends the wait; a task that has begun must watch the signal itself
   * @returns the task's result; rejects with the task's error, or with the signal's reason if it aborts the wait.
   * @throws LimiterFull if `maxWaiting` tasks wait already.
   */
  run<Result>(task: () => Promise<Result>, signal?: AbortSignal): Promise<Result>
  /** The number of tasks that hold a slot. */
  running(): number
  /** Resolves once no task runs and none waits. */
  idle(): Promise<void>
}

/** Numbers of tasks that a limiter accepts. */
export interface LimiterOptions {
  readonly concurrency: number
  /** The largest number of tasks that wait; unlimited if absent. */
  readonly maxWaiting?: number
}

/** A task was turned away because too many others wait. */
export class LimiterFull extends Error {
  constructor() {
    super('too many tasks wait')
    this.name = 'LimiterFull'
  }
}

/** A limiter without tasks. */
export function createLimiter({
  concurrency,
  maxWaiting = Number.POSITIVE_INFINITY,
}: LimiterOptions): Limiter {
  let running = 0
  const waiting = new Set<() => void>()
  const idleListeners: (() => void)[] = []

  const acquire = async (signal: AbortSignal | undefined): Promise<void> => {
    signal?.throwIfAborted()
    if (running < concurrency) {
      running += 1
      return
    }
    if (waiting.size >= maxWaiting) throw new LimiterFull()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const leave = () => {
      waiting.delete(resolve)
      reject(signal?.reason)
    }
    waiting.add(resolve)
    signal?.addEventListener('abort', leave, { once: true })
    await promise.finally(() => signal?.removeEventListener('abort', leave))
  }

  const release = (): void => {
    const [next] = waiting
    if (next !== undefined) {
      // The slot passes on, so that no task which comes later can take it first.
      waiting.delete(next)
      next()
      return
    }
    running -= 1
    if (running === 0) for (const listener of idleListeners.splice(0)) listener()
  }

  return {
    async run(task, signal) {
      await acquire(signal)
      try {
        return await task()
      } finally {
        release()
      }
    },
    running: () => running,
    idle: () => (running === 0 ? Promise.resolve() : new Promise((resolve) => idleListeners.push(resolve))),
  }
}

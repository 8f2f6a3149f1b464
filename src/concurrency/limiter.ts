import { createTurnQueue, type Waiter } from './turn-queue.ts'

/**
 * A fixed number of places for tasks, with fair turns.
 *
 * The `turn` of a task names its owner, such as a principal. Tasks of one turn wait in order of arrival. Different turns
 * alternate (round robin), so that many waiting tasks of one turn do not delay another turn's task. A turn holds no more
 * places than it leaves free, so that a turn without tasks usually gets a place at once. Tasks without a turn share one,
 * which may hold every place.
 */
export interface Limiter {
  /**
   * Runs a task once it has a place. The task holds its place until it settles, so that a task which is slow to stop is
   * still counted.
   *
   * @returns the task's result; rejects with the task's error
   * @throws as {@link Limiter.enter} does.
   */
  run<Result>(task: () => Promise<Result>, waiting?: Waiting): Promise<Result>
  /**
   * Waits for a place.
   * @throws LimiterFull if too many tasks wait; LimiterTimeout after `maxWaitMs`; the signal's reason once it aborts.
   */
  enter(waiting?: Waiting): Promise<Place>
  /** True if a task of the turn would have to wait. */
  mustWait(turn?: string): boolean
  /** The number of tasks that hold a place. */
  running(): number
  /** The number of tasks that wait for a place. */
  waiting(): number
  /** Resolves once no task runs and none waits. */
  idle(): Promise<void>
}

/** The terms on which a task waits. */
export interface Waiting {
  readonly turn?: string | undefined
  /** Ends the wait; a task that has begun must watch the signal itself. */
  readonly signal?: AbortSignal | undefined
}

/** A place that a task holds. */
export interface Place {
  /**
   * Gives the place to a task of another turn that waits, and resolves once this task has a place again. This wait has no
   * limit. Does nothing if no other turn can use the place.
   */
  yield(): Promise<void>
  /** Gives the place back; does nothing the second time. */
  leave(): void
}

/** Numbers of tasks that a limiter accepts. */
export interface LimiterOptions {
  readonly concurrency: number
  /**
   * The largest number of tasks that wait; unlimited if absent. If it is reached, a task of a turn with fewer waiting tasks
   * takes the place in the queue of the latest task of the turn with the most.
   */
  readonly maxWaiting?: number
  /** Time limit for a wait; unlimited if absent. */
  readonly maxWaitMs?: number
}

/** A task was refused because too many others wait. */
export class LimiterFull extends Error {
  constructor() {
    super('too many tasks wait')
    this.name = 'LimiterFull'
  }
}

/** A task was refused because it waited too long. */
export class LimiterTimeout extends Error {
  constructor() {
    super('the task waited too long')
    this.name = 'LimiterTimeout'
  }
}

/** The places of a limiter, and the number that each turn holds. */
function createPlaces(concurrency: number) {
  const held = new Map<string | undefined, number>()
  let running = 0
  const heldBy = (turn: string | undefined): number => held.get(turn) ?? 0
  return {
    running: () => running,
    /** True if a place is free and the turn would then hold no more places than it leaves free. */
    mayTake: (turn: string | undefined): boolean =>
      running < concurrency && (turn === undefined || heldBy(turn) < concurrency - running),
    take(turn: string | undefined): void {
      running += 1
      held.set(turn, heldBy(turn) + 1)
    },
    free(turn: string | undefined): void {
      running -= 1
      if (heldBy(turn) > 1) held.set(turn, heldBy(turn) - 1)
      else held.delete(turn)
    },
  }
}

/** Creates a limiter without tasks. */
export function createLimiter(options: LimiterOptions): Limiter {
  const { concurrency, maxWaiting = Number.POSITIVE_INFINITY, maxWaitMs } = options
  const { running, mayTake, take, free } = createPlaces(concurrency)
  const queue = createTurnQueue()
  const idleListeners: (() => void)[] = []

  const isIdle = (): boolean => running() === 0 && queue.size() === 0
  const nextToStart = (): Waiter | undefined =>
    running() < concurrency ? queue.takeNext(mayTake) : undefined

  /** Gives free places to waiting tasks at once, so that no task which comes later can take them first. */
  const startWaiting = (): void => {
    for (let next = nextToStart(); next !== undefined; next = nextToStart()) {
      take(next.turn)
      next.start()
    }
    if (isIdle()) for (const listener of idleListeners.splice(0)) listener()
  }

  const waitFor = (turn: string | undefined, { signal, returning }: WaitTerms): Promise<void> => {
    const { promise, resolve: start, reject: refuse } = Promise.withResolvers<void>()
    const waiter: Waiter = { turn, start, refuse, returning }
    queue.add(waiter)
    const giveUp = (reason: unknown) => {
      queue.remove(waiter)
      refuse(reason)
      startWaiting()
    }
    const timer =
      maxWaitMs === undefined || returning
        ? undefined
        : setTimeout(() => giveUp(new LimiterTimeout()), maxWaitMs)
    const leave = () => giveUp(signal?.reason)
    signal?.addEventListener('abort', leave, { once: true })
    return promise.finally(() => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', leave)
    })
  }

  /** @throws LimiterFull if no waiting task can be refused in place of one of this turn. */
  const makeSpaceFor = (turn: string | undefined): void => {
    const displaced = queue.displaceFor(turn)
    if (displaced === undefined) throw new LimiterFull()
    displaced.refuse(new LimiterFull())
  }

  const enter = async ({ turn, signal }: Waiting = {}): Promise<Place> => {
    signal?.throwIfAborted()
    if (mayTake(turn)) take(turn)
    else {
      if (queue.size() >= maxWaiting) makeSpaceFor(turn)
      await waitFor(turn, { signal, returning: false })
    }
    let holds = true
    return {
      async yield() {
        if (!holds || !queue.hasOtherThan(turn)) return
        free(turn)
        const returned = waitFor(turn, { signal: undefined, returning: true })
        startWaiting()
        await returned
      },
      leave() {
        if (!holds) return
        holds = false
        free(turn)
        startWaiting()
      },
    }
  }

  return {
    async run(task, waiting) {
      const place = await enter(waiting)
      try {
        return await task()
      } finally {
        place.leave()
      }
    },
    enter,
    mustWait: (turn) => !mayTake(turn),
    running,
    waiting: queue.size,
    idle: () => (isIdle() ? Promise.resolve() : new Promise((resolve) => idleListeners.push(resolve))),
  }
}

interface WaitTerms {
  readonly signal: AbortSignal | undefined
  readonly returning: boolean
}

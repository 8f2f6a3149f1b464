/**
 * A fixed number of places for tasks, with fair turns.
 *
 * A task names the turn that it takes, such as its principal. Tasks of one turn wait in order of arrival. Different turns
 * alternate (round robin), so that many waiting tasks of one turn do not delay another turn's task. A turn holds no more
 * places than it leaves free, so that a turn without tasks usually finds a place at once. Tasks that name no turn share
 * one, which may hold every place.
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

/** A task was turned away because too many others wait. */
export class LimiterFull extends Error {
  constructor() {
    super('too many tasks wait')
    this.name = 'LimiterFull'
  }
}

/** A task was turned away because it waited too long. */
export class LimiterTimeout extends Error {
  constructor() {
    super('the task waited too long')
    this.name = 'LimiterTimeout'
  }
}

interface Waiter {
  readonly turn: string | undefined
  readonly start: () => void
  readonly refuse: (reason: unknown) => void
  /** True for a task that had a place before: it is never turned away. */
  readonly returning: boolean
}

/** A limiter without tasks. */
export function createLimiter(options: LimiterOptions): Limiter {
  const { concurrency, maxWaiting = Number.POSITIVE_INFINITY, maxWaitMs } = options
  /** The number of places held, by turn. */
  const held = new Map<string | undefined, number>()
  let running = 0
  /** The tasks that wait, by turn. The first turn that may take a place is the next. */
  const queues = new Map<string | undefined, Waiter[]>()
  let waiting = 0
  const idleListeners: (() => void)[] = []

  const heldBy = (turn: string | undefined): number => held.get(turn) ?? 0

  const mayTake = (turn: string | undefined): boolean =>
    running < concurrency && (turn === undefined || heldBy(turn) < concurrency - running)

  const take = (turn: string | undefined): void => {
    running += 1
    held.set(turn, heldBy(turn) + 1)
  }

  const free = (turn: string | undefined): void => {
    running -= 1
    if (heldBy(turn) > 1) held.set(turn, heldBy(turn) - 1)
    else held.delete(turn)
  }

  /** Gives free places to waiting tasks at once, so that no task which comes later can take them first. */
  const startWaiting = (): void => {
    for (let next = nextTurn(); next !== undefined; next = nextTurn()) {
      const [turn, queue] = next
      const waiter = queue.shift()
      waiting -= 1
      // The turn moves behind all others that wait.
      queues.delete(turn)
      if (queue.length > 0) queues.set(turn, queue)
      take(turn)
      waiter?.start()
    }
    if (running === 0 && waiting === 0) for (const listener of idleListeners.splice(0)) listener()
  }

  const nextTurn = (): [string | undefined, Waiter[]] | undefined => {
    if (running < concurrency) for (const entry of queues) if (mayTake(entry[0])) return entry
    return undefined
  }

  const remove = (waiter: Waiter): void => {
    const queue = queues.get(waiter.turn)
    const place = queue?.indexOf(waiter) ?? -1
    if (queue === undefined || place < 0) return
    queue.splice(place, 1)
    waiting -= 1
    if (queue.length === 0) queues.delete(waiter.turn)
  }

  /** Makes way for one more waiting task of a turn, if another turn has at least two more. */
  const displace = (turn: string | undefined): void => {
    let longest: Waiter[] = []
    for (const queue of queues.values()) if (queue.length > longest.length) longest = queue
    const last = longest.findLast(({ returning }) => !returning)
    if (last === undefined || longest.length <= (queues.get(turn)?.length ?? 0) + 1) throw new LimiterFull()
    remove(last)
    last.refuse(new LimiterFull())
  }

  const waitFor = (turn: string | undefined, { signal, returning }: WaitTerms): Promise<void> => {
    const { promise, resolve: start, reject: refuse } = Promise.withResolvers<void>()
    const waiter: Waiter = { turn, start, refuse, returning }
    const queue = queues.get(turn) ?? []
    // A task that had a place comes before the others of its turn, which moves behind the other turns.
    if (returning) {
      queues.delete(turn)
      queue.unshift(waiter)
    } else queue.push(waiter)
    queues.set(turn, queue)
    waiting += 1
    const giveUp = (reason: unknown) => {
      remove(waiter)
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

  const enter = async ({ turn, signal }: Waiting = {}): Promise<Place> => {
    signal?.throwIfAborted()
    if (mayTake(turn)) take(turn)
    else {
      if (waiting >= maxWaiting) displace(turn)
      await waitFor(turn, { signal, returning: false })
    }
    let holds = true
    return {
      async yield() {
        const isWanted = queues.size > (queues.has(turn) ? 1 : 0)
        if (!holds || !isWanted) return
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
    running: () => running,
    waiting: () => waiting,
    idle: () =>
      running + waiting === 0 ? Promise.resolve() : new Promise((resolve) => idleListeners.push(resolve)),
  }
}

interface WaitTerms {
  readonly signal: AbortSignal | undefined
  readonly returning: boolean
}

import { createFairQueue, type WaitingTask } from './fair-queue.ts'

/**
 * A fixed number of places for tasks, given out fairly among their owners.
 *
 * The tasks of one owner, such as a principal, wait in order of arrival. Different owners alternate (round robin), so that
 * many waiting tasks of one owner do not delay another owner's task. An owner holds no more places than they leave free, so
 * that an owner without tasks usually gets a place at once. Tasks without an owner have one together, who may hold every
 * place.
 *
 * Tasks of one group can share a place, such as tasks that one scan of a table serves: the first of a group to get a place
 * takes others of the group that wait with it, of different owners alternately, and those that come before the next turn
 * of the event loop. Tasks that are charged in one commit of the ledger come together.
 */
export interface Limiter {
  /**
   * Runs a task once it has a place. The task holds its place until it settles, so that a task which is slow to stop is
   * still counted.
   *
   * @returns the task's result; rejects with the task's error
   * @throws as {@link Limiter.enter} does.
   */
  run<Result>(task: () => Promise<Result>, terms?: WaitTerms): Promise<Result>
  /**
   * Waits for a place.
   * @throws LimiterFull if too many tasks wait; LimiterTimeout after `maxWaitMs`; the signal's reason once it aborts.
   */
  enter(terms?: WaitTerms): Promise<Place>
  /** True if a task of the owner would have to wait. */
  mustWait(owner?: string): boolean
  /** The number of tasks that have a place, of their own or shared. */
  running(): number
  /** The number of tasks that wait for a place. */
  waiting(): number
  /** Resolves once no task runs and none waits. */
  idle(): Promise<void>
}

/** The terms on which a task waits. */
export interface WaitTerms {
  readonly owner?: string | undefined
  /** Name of the tasks that this one can share a place with; absent if it needs one of its own. */
  readonly group?: string | undefined
  /** Ends the wait; a task that has begun must watch the signal itself. */
  readonly signal?: AbortSignal | undefined
}

/** The place of a task, or its share of one. */
export interface Place {
  /** Gives it back; does nothing the second time. A shared place is free once its last task has left. */
  leave(): void
}

/** Numbers of tasks that a limiter accepts. */
export interface LimiterOptions {
  /** The number of places. */
  readonly concurrency: number
  /** The largest number of tasks of a group that share a place. Default: 1. */
  readonly tasksPerPlace?: number
  /**
   * The largest number of tasks that wait; unlimited if absent. If it is reached, a task of an owner with fewer waiting tasks
   * replaces the latest waiting task of the owner with the most.
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

/** The places of a limiter, and the number that each owner holds. */
function createPlaces(concurrency: number) {
  const held = new Map<string | undefined, number>()
  let taken = 0
  const heldBy = (owner: string | undefined): number => held.get(owner) ?? 0
  return {
    /** True if a place is free and the owner would then hold no more places than they leave free. */
    mayTake: (owner: string | undefined): boolean =>
      taken < concurrency && (owner === undefined || heldBy(owner) < concurrency - taken),
    take(owner: string | undefined): void {
      taken += 1
      held.set(owner, heldBy(owner) + 1)
    },
    free(owner: string | undefined): void {
      taken -= 1
      if (heldBy(owner) > 1) held.set(owner, heldBy(owner) - 1)
      else held.delete(owner)
    },
  }
}

/** A place that is taken: by whom, and the number of tasks that share it. */
interface Taken extends Pick<WaitTerms, 'owner' | 'group'> {
  tasks: number
}

interface Waiting extends WaitingTask {
  readonly start: (place: Taken) => void
  readonly refuse: (reason: unknown) => void
}

/** Creates a limiter without tasks. See decision 26. */
export function createLimiter(options: LimiterOptions): Limiter {
  const { concurrency, tasksPerPlace = 1, maxWaiting = Number.POSITIVE_INFINITY, maxWaitMs } = options
  const { mayTake, take, free } = createPlaces(concurrency)
  const queue = createFairQueue<Waiting>()
  const idleListeners: (() => void)[] = []
  /** Places taken in this turn of the event loop, by group. */
  const open = new Map<string, Taken>()
  let running = 0

  const isIdle = (): boolean => running === 0 && queue.size() === 0

  /** Takes a place for a task, starts it, and then others of its group in the same place. */
  const takePlace = ({ owner, group }: WaitTerms, start: Waiting['start'] = () => undefined): Taken => {
    take(owner)
    running += 1
    const taken = { owner, group, tasks: 1 }
    start(taken)
    while (group !== undefined && taken.tasks < tasksPerPlace) {
      const next = queue.takeNext(() => true, group)
      if (next === undefined) break
      taken.tasks += 1
      running += 1
      next.start(taken)
    }
    if (group !== undefined && taken.tasks < tasksPerPlace) {
      open.set(group, taken)
      setImmediate(close, taken)
    }
    return taken
  }

  /** Lets no more tasks share a place. */
  const close = (taken: Taken): void => {
    if (taken.group !== undefined && open.get(taken.group) === taken) open.delete(taken.group)
  }

  /** Shares a place of the task's group that was taken in this turn of the event loop, if there is one. */
  const sharePlace = ({ group }: WaitTerms): Taken | undefined => {
    const taken = group === undefined ? undefined : open.get(group)
    if (taken === undefined) return undefined
    running += 1
    taken.tasks += 1
    if (taken.tasks === tasksPerPlace) close(taken)
    return taken
  }

  /** Gives free places to waiting tasks at once, so that no task which comes later can take them first. */
  const startWaiting = (): void => {
    for (let next = queue.takeNext(mayTake); next !== undefined; next = queue.takeNext(mayTake))
      takePlace(next, next.start)
    if (isIdle()) for (const listener of idleListeners.splice(0)) listener()
  }

  /** @throws LimiterFull if no waiting task can be refused in place of one of this owner. */
  const makeSpaceFor = (owner: string | undefined): void => {
    const displaced = queue.displaceFor(owner)
    if (displaced === undefined) throw new LimiterFull()
    displaced.refuse(new LimiterFull())
  }

  const waitForPlace = ({ owner, group, signal }: WaitTerms): Promise<Taken> => {
    if (queue.size() >= maxWaiting) makeSpaceFor(owner)
    const { promise, resolve: start, reject: refuse } = Promise.withResolvers<Taken>()
    const task: Waiting = { owner, group, start, refuse }
    queue.add(task)
    const giveUp = (reason: unknown) => {
      queue.remove(task)
      refuse(reason)
      startWaiting()
    }
    const timer =
      maxWaitMs === undefined ? undefined : setTimeout(() => giveUp(new LimiterTimeout()), maxWaitMs)
    const leave = () => giveUp(signal?.reason)
    signal?.addEventListener('abort', leave, { once: true })
    return promise.finally(() => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', leave)
    })
  }

  const enter = async (terms: WaitTerms = {}): Promise<Place> => {
    const { owner, signal } = terms
    signal?.throwIfAborted()
    const taken = sharePlace(terms) ?? (mayTake(owner) ? takePlace(terms) : await waitForPlace(terms))
    let holds = true
    return {
      leave() {
        if (!holds) return
        holds = false
        running -= 1
        taken.tasks -= 1
        if (taken.tasks === 0) {
          close(taken)
          free(taken.owner)
        }
        startWaiting()
      },
    }
  }

  return {
    async run(task, terms) {
      const place = await enter(terms)
      try {
        return await task()
      } finally {
        place.leave()
      }
    },
    enter,
    mustWait: (owner) => !mayTake(owner),
    running: () => running,
    waiting: queue.size,
    idle: () => (isIdle() ? Promise.resolve() : new Promise((resolve) => idleListeners.push(resolve))),
  }
}

import type { Limiter, Place } from './limiter.ts'
import { createTurnQueue, type TurnQueue, type Waiter } from './turn-queue.ts'

/**
 * Places of a limiter that several tasks of one group hold together, such as tasks that one scan of a table serves. Each
 * task waits for a place of its own. The first of a group to get one takes others of the group with it, in fair turns, and
 * they wait no longer.
 */
export interface SharedPlaces {
  /** Waits for a place, alone or with others of the group. The wait has no limit. */
  enter(group: string, turn: string): Promise<Seat>
  /** The number of tasks that hold a place of another task. */
  guests(): number
}

/** A task's share of a place. */
export interface Seat {
  /** Gives the share back; does nothing the second time. The last task of a place gives the place back. */
  leave(): void
}

/** A place, and the number of tasks that hold it. */
interface SharedPlace {
  readonly place: Place
  tasks: number
}

/** A task that waits, and the place that another task took for it. */
interface Member extends Waiter {
  readonly seatIn: (shared: SharedPlace) => void
}

/** Reason for ending a wait; a constant, because an error records where it was made. */
const SEATED = Symbol('seated')

/**
 * Creates shared places.
 * @param seats the largest number of tasks that hold one place
 */
export function createSharedPlaces(limiter: Limiter, seats: number): SharedPlaces {
  const groups = new Map<string, TurnQueue<Member>>()
  let guests = 0

  /** Shares a place with waiting tasks of the group, those of different turns alternately. */
  const share = (place: Place, queue: TurnQueue<Member>): SharedPlace => {
    const shared = { place, tasks: 1 }
    while (shared.tasks < seats) {
      const next = queue.takeNext(() => true)
      if (next === undefined) break
      shared.tasks += 1
      guests += 1
      next.seatIn(shared)
    }
    return shared
  }

  const seatOf = (shared: SharedPlace): Seat => {
    let holds = true
    return {
      leave() {
        if (!holds) return
        holds = false
        shared.tasks -= 1
        if (shared.tasks > 0) guests -= 1
        else shared.place.leave()
      },
    }
  }

  return {
    async enter(group, turn) {
      const queue = groups.get(group) ?? createTurnQueue<Member>()
      groups.set(group, queue)
      try {
        const entered = await enterOrJoin(limiter, queue, turn)
        return seatOf('tasks' in entered ? entered : share(entered, queue))
      } finally {
        if (queue.size() === 0 && groups.get(group) === queue) groups.delete(group)
      }
    },
    guests: () => guests,
  }
}

/** Waits for a place, or for a task of the group that takes this one into its place. */
async function enterOrJoin(
  limiter: Limiter,
  queue: TurnQueue<Member>,
  turn: string,
): Promise<Place | SharedPlace> {
  if (!limiter.mustWait(turn)) return limiter.enter({ turn })
  const wait = new AbortController()
  const joined: { place?: SharedPlace } = {}
  const member: Member = {
    turn,
    start: () => undefined,
    refuse: () => undefined,
    returning: false,
    seatIn(shared) {
      joined.place = shared
      wait.abort(SEATED)
    },
  }
  queue.add(member)
  try {
    const own = await limiter.enter({ turn, signal: wait.signal })
    if (joined.place === undefined) return own
    own.leave()
    return joined.place
  } catch (error) {
    if (joined.place === undefined) throw error
    return joined.place
  } finally {
    queue.remove(member)
  }
}

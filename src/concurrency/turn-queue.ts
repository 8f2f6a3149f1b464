/** A task that waits for a place. */
export interface Waiter {
  /** Name of the task's turn; tasks without one share a turn. */
  readonly turn: string | undefined
  readonly start: () => void
  readonly refuse: (reason: unknown) => void
  /** True for a task that had a place before. It is never displaced. */
  readonly returning: boolean
}

/** Tasks that wait. Turns alternate (round robin); the tasks of one turn are in order of arrival. */
export interface TurnQueue<Task extends Waiter = Waiter> {
  /** The number of tasks that wait. */
  size(): number
  /**
   * Adds a task behind the others of its turn. A returning task comes before the others of its turn, which moves behind the
   * other turns.
   */
  add(waiter: Task): void
  /** Removes a task; does nothing if it does not wait. */
  remove(waiter: Task): void
  /**
   * Removes and returns the first task of the next turn that may take a place. The turn moves behind the others.
   * @returns `undefined` if no task may take a place
   */
  takeNext(mayTake: (turn: string | undefined) => boolean): Task | undefined
  /**
   * Removes and returns the latest task of the turn with the most tasks, to admit one more task of a turn.
   * @returns `undefined` if no other turn has at least two tasks more
   */
  displaceFor(turn: string | undefined): Task | undefined
  /** True if a task of another turn waits. */
  hasOtherThan(turn: string | undefined): boolean
}

/** Creates an empty queue. */
export function createTurnQueue<Task extends Waiter = Waiter>(): TurnQueue<Task> {
  /** The tasks by turn, in the order in which the turns come. */
  const tasks = new Map<string | undefined, Task[]>()
  let size = 0

  const remove = (waiter: Task): void => {
    const ofTurn = tasks.get(waiter.turn)
    const place = ofTurn?.indexOf(waiter) ?? -1
    if (ofTurn === undefined || place < 0) return
    ofTurn.splice(place, 1)
    size -= 1
    if (ofTurn.length === 0) tasks.delete(waiter.turn)
  }

  return {
    size: () => size,
    add(waiter) {
      const { turn, returning } = waiter
      const ofTurn = tasks.get(turn) ?? []
      if (returning) {
        tasks.delete(turn)
        ofTurn.unshift(waiter)
      } else ofTurn.push(waiter)
      tasks.set(turn, ofTurn)
      size += 1
    },
    remove,
    takeNext(mayTake) {
      for (const [turn, ofTurn] of tasks) {
        if (!mayTake(turn)) continue
        const next = ofTurn.shift()
        size -= 1
        tasks.delete(turn)
        if (ofTurn.length > 0) tasks.set(turn, ofTurn)
        return next
      }
      return undefined
    },
    displaceFor(turn) {
      let longest: Task[] = []
      for (const ofTurn of tasks.values()) if (ofTurn.length > longest.length) longest = ofTurn
      const last = longest.findLast(({ returning }) => !returning)
      if (last === undefined || longest.length <= (tasks.get(turn)?.length ?? 0) + 1) return undefined
      remove(last)
      return last
    },
    hasOtherThan: (turn) => tasks.size > (tasks.has(turn) ? 1 : 0),
  }
}

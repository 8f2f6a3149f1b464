/** A task that waits for a place. */
export interface WaitingTask {
  /** Whose task it is; tasks without an owner have one owner together. */
  readonly owner: string | undefined
  /** Tasks of one group can share a place. */
  readonly group: string | undefined
}

/** Tasks that wait. Owners alternate (round robin); the tasks of one owner are in order of arrival. */
export interface FairQueue<Task extends WaitingTask> {
  /** The number of tasks that wait. */
  size(): number
  /** Adds a task behind the others of its owner. */
  add(task: Task): void
  /** Removes a task; does nothing if it does not wait. */
  remove(task: Task): void
  /**
   * Removes and returns the first task of the next owner who may take a place, or their first task of a group. The owner
   * moves behind the others.
   * @returns `undefined` if no task may take a place
   */
  takeNext(mayTake: (owner: string | undefined) => boolean, group?: string): Task | undefined
  /**
   * Removes and returns the latest task of the owner with the most tasks, to admit one more task of an owner.
   * @returns `undefined` if no other owner has at least two tasks more
   */
  displaceFor(owner: string | undefined): Task | undefined
}

/** Creates an empty queue. */
export function createFairQueue<Task extends WaitingTask>(): FairQueue<Task> {
  /** The tasks by owner, in the order in which the owners come. */
  const tasks = new Map<string | undefined, Task[]>()
  let size = 0

  const removeAt = (owner: string | undefined, own: Task[], place: number): Task | undefined => {
    const [removed] = own.splice(place, 1)
    size -= 1
    if (own.length === 0) tasks.delete(owner)
    return removed
  }

  return {
    size: () => size,
    add(task) {
      const own = tasks.get(task.owner) ?? []
      own.push(task)
      tasks.set(task.owner, own)
      size += 1
    },
    remove(task) {
      const own = tasks.get(task.owner) ?? []
      const place = own.indexOf(task)
      if (place >= 0) removeAt(task.owner, own, place)
    },
    takeNext(mayTake, group) {
      for (const [owner, own] of tasks) {
        if (!mayTake(owner)) continue
        const place = group === undefined ? 0 : own.findIndex((task) => task.group === group)
        if (place < 0) continue
        tasks.delete(owner)
        tasks.set(owner, own)
        return removeAt(owner, own, place)
      }
      return undefined
    },
    displaceFor(owner) {
      let longest: Task[] = []
      for (const own of tasks.values()) if (own.length > longest.length) longest = own
      const [most] = longest
      const ownLength = tasks.get(owner)?.length ?? 0
      if (most === undefined || longest.length <= ownLength + 1) return undefined
      return removeAt(most.owner, longest, longest.length - 1)
    },
  }
}

import { Refusal } from '../src/privacy/refusal.ts'

/** Runs a task and returns the refusal that it throws. Any other error is thrown, and so is one if nothing is refused. */
export function thrownRefusal(task: () => unknown): Refusal {
  try {
    task()
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
  throw new Error('nothing was refused')
}

/** As {@link thrownRefusal}, for a promise that is rejected. */
export async function rejectedRefusal(work: Promise<unknown>): Promise<Refusal> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (error instanceof Refusal) return error
  throw error ?? new Error('nothing was refused')
}

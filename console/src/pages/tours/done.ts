/** Steps that were done, as `tour/step`. */
export type DoneSteps = ReadonlySet<string>

/** Reads what was stored; anything else than a list of texts is nothing. */
export function parseDone(stored: string | null): DoneSteps {
  try {
    const value: unknown = JSON.parse(stored ?? '[]')
    return new Set(Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [])
  } catch {
    return new Set()
  }
}

/** Returns the text to store. */
export function printDone(done: DoneSteps): string {
  return JSON.stringify([...done].toSorted())
}

/** Returns the steps after one was marked as done, or as not done. */
export function marked(done: DoneSteps, tour: string, step: string, isDone: boolean): DoneSteps {
  const next = new Set(done)
  if (isDone) next.add(`${tour}/${step}`)
  else next.delete(`${tour}/${step}`)
  return next
}

/** Returns the number of steps of a tour that were done. */
export function doneOf(
  done: DoneSteps,
  tour: { readonly id: string; readonly steps: readonly { readonly id: string }[] },
) {
  return tour.steps.filter(({ id }) => done.has(`${tour.id}/${id}`)).length
}

import { useSyncExternalStore } from 'react'

/** Key under which the tab stores the step that is being followed, as `tour/step`. */
const STORED = 'sotto.tour'

const listeners = new Set<() => void>()

/** Starts a step of a tour, or leaves the tour. The tab remembers it. */
export function follow(tour: string, step: string | undefined): void {
  if (step === undefined) sessionStorage.removeItem(STORED)
  else sessionStorage.setItem(STORED, `${tour}/${step}`)
  for (const listener of listeners) listener()
}

/** Returns the step that is being followed, as `tour/step`; null if there is none. */
export function useFollowed(): string | null {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => sessionStorage.getItem(STORED),
  )
}

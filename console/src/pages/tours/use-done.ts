import { useState } from 'react'
import { marked, parseDone, printDone } from './done.ts'

/** Key under which the browser stores the steps that were done. */
const STORED = 'sotto.tours'

/** Returns the steps that were done, and a function that marks one. The browser remembers them. */
export function useDone() {
  const [done, setDone] = useState(() => parseDone(localStorage.getItem(STORED)))
  const mark = (tour: string, step: string, isDone: boolean) => {
    const next = marked(done, tour, step, isDone)
    localStorage.setItem(STORED, printDone(next))
    setDone(next)
  }
  return [done, mark] as const
}

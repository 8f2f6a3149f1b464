import { useEffect, useRef, useState } from 'react'

/** Something that takes a while: its progress, its result, or why it failed. */
export type Attempt<Progress, Result> =
  | { readonly state: 'none' }
  | { readonly state: 'running'; readonly progress: Progress }
  | { readonly state: 'done'; readonly result: Result }
  | { readonly state: 'failed'; readonly error: unknown }

/** Receives the progress of an attempt, and stops it once its signal is aborted. */
export interface AttemptOptions<Progress> {
  readonly onProgress: (progress: Progress) => void
  readonly signal: AbortSignal
}

/** Returns the state of an attempt, and functions that start and stop one. Leaving the page stops it. */
export function useAttempt<Progress, Result>() {
  const [attempt, setAttempt] = useState<Attempt<Progress, Result>>({ state: 'none' })
  const running = useRef<AbortController>(undefined)
  useEffect(() => () => running.current?.abort(), [])
  const start = async (first: Progress, run: (options: AttemptOptions<Progress>) => Promise<Result>) => {
    running.current?.abort()
    const controller = new AbortController()
    running.current = controller
    const { signal } = controller
    const show = (next: Attempt<Progress, Result>) => {
      if (!signal.aborted) setAttempt(next)
    }
    const onProgress = (progress: Progress) => show({ state: 'running', progress })
    onProgress(first)
    try {
      show({ state: 'done', result: await run({ onProgress, signal }) })
    } catch (error) {
      show({ state: 'failed', error })
    }
  }
  const stop = () => {
    running.current?.abort()
    setAttempt({ state: 'none' })
  }
  return { attempt, start, stop }
}

import { useCallback, useEffect, useRef, useState } from 'react'
import { useSearchParams } from 'wouter'
import { type Draft, type FirstFacts, placeOf, readDraft } from './question-address.ts'

/** Time after the last change before the address changes; browsers limit how often it may. */
const ADDRESS_DELAY_MS = 300

/**
 * Keeps a draft in the address, and follows the address when the history or a link leads to another draft. A change that
 * the address does not have yet is written before the page is left.
 */
export function useQuestionAddress(dataset: FirstFacts) {
  const [parameters, setParameters] = useSearchParams()
  const [draft, setDraft] = useState(() => readDraft(parameters, dataset, history.state))
  const shown = parameters.toString()
  const known = useRef(shown)
  const unwritten = useRef<Draft>(undefined)
  const write = () => {
    if (unwritten.current === undefined) return
    const { parameters: next, state } = placeOf(unwritten.current)
    unwritten.current = undefined
    known.current = next.toString()
    setParameters(next, { replace: true, state })
  }
  const latestWrite = useRef(write)
  useEffect(() => {
    latestWrite.current = write
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: each change of the draft begins the delay again
  useEffect(() => {
    if (unwritten.current === undefined) return
    const timer = setTimeout(() => latestWrite.current(), ADDRESS_DELAY_MS)
    return () => clearTimeout(timer)
  }, [draft])
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a change of the address changes the draft
  useEffect(() => {
    if (shown === known.current) return
    known.current = shown
    unwritten.current = undefined
    setDraft(readDraft(parameters, dataset, history.state))
  }, [shown])
  useEffect(() => {
    const leave = () => latestWrite.current()
    // Links and buttons may lead to another page. Other controls lose the click if the page is drawn during it.
    const leaveByClick = ({ target }: Event) =>
      target instanceof Element && target.closest('a, button') !== null && leave()
    document.addEventListener('click', leaveByClick, { capture: true })
    addEventListener('pagehide', leave)
    const { pathname } = location
    return () => {
      // The sign-in replaces the page, and leads back to its address.
      if (location.pathname === pathname) leave()
      document.removeEventListener('click', leaveByClick, { capture: true })
      removeEventListener('pagehide', leave)
    }
  }, [])
  const latest = useRef<Draft>(draft)
  useEffect(() => {
    latest.current = draft
  }, [draft])
  const change = useCallback((changes: Partial<Draft>) => {
    const { question, batch, terms } = { ...latest.current, ...changes }
    const next = { question, batch, terms }
    latest.current = next
    unwritten.current = next
    setDraft({ ...next, isUnreadable: false })
  }, [])
  return [draft, change] as const
}

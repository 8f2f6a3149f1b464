import { useEffect, useRef, useState } from 'react'
import { useSearchParams } from 'wouter'
import { useDebounced } from '../forms/use-debounced.ts'
import { type AddressState, type Choices, readState, stateParameters } from './address-state.ts'

/** Time after the last change before the address changes; browsers limit how often it may. */
const ADDRESS_DELAY_MS = 300

export interface AddressStateHook<State> {
  readonly state: State
  /** Changes some fields of the state, and then the address. */
  readonly change: (changes: Partial<State>) => void
  /** Number that changes when a link or the history leads to another state of the same page. */
  readonly visit: number
}

/** Keeps the state of a page in its address. */
export function useAddressState<State extends AddressState>(
  initial: State,
  choices: Choices<State> = {},
): AddressStateHook<State> {
  const [parameters, setParameters] = useSearchParams()
  const [{ state, visit }, setVisited] = useState(() => ({
    state: readState(initial, choices, parameters),
    visit: 0,
  }))
  const known = useRef(parameters.toString())
  const address = useDebounced(stateParameters(initial, state).toString(), ADDRESS_DELAY_MS)
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a change of the state changes the address
  useEffect(() => {
    known.current = address
    setParameters(address, { replace: true })
  }, [address])
  const shown = parameters.toString()
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a change of the address changes the state
  useEffect(() => {
    if (shown === known.current) return
    known.current = shown
    setVisited((before) => ({ state: readState(initial, choices, parameters), visit: before.visit + 1 }))
  }, [shown])
  const change = (changes: Partial<State>) =>
    setVisited((before) => ({ ...before, state: { ...before.state, ...changes } }))
  return { state, change, visit }
}

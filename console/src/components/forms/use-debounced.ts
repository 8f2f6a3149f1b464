import { useEffect, useState } from 'react'

/** Returns a value once it has not changed for `delayMs`. */
export function useDebounced<Value>(value: Value, delayMs = 150): Value {
  const [settled, settle] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => settle(value), delayMs)
    return () => clearTimeout(timer)
  }, [value, delayMs])
  return settled
}

/** Returns a value of JSON once it has not changed for a moment. */
export function useSettled<Value>(value: Value): Value {
  return JSON.parse(useDebounced(JSON.stringify(value)))
}

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

/**
 * Returns a value that cannot be missing. A default in its place would hide a defect; in the private path it could
 * become too little noise.
 * @param what names the value, without data: the error may be logged
 * @throws RangeError if it is missing.
 */
export function must<Value>(value: Value | undefined, what: string): Value {
  if (value === undefined) throw new RangeError(`${what} is missing`)
  return value
}

/**
 * Returns the entry of a list at an index that is within the list.
 * @throws RangeError for any other index.
 */
export function entry<Value>(list: ArrayLike<Value>, index: number): Value {
  const value = list[index]
  if (value === undefined) throw new RangeError('an index is outside of its list')
  return value
}

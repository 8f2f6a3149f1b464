/** Returns a function that computes what it is asked for once, and then keeps it. */
export function memoized<Argument, Result>(
  compute: (argument: Argument) => Result,
): (argument: Argument) => Result {
  const known = new Map<Argument, Result>()
  return (argument) => {
    if (!known.has(argument)) known.set(argument, compute(argument))
    return known.get(argument) as Result
  }
}

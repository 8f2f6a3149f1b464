/**
 * Runs a task within several others, the first one outermost: `within(a, (x) => within(b, (y) => task([x, y])))`. Nothing is awaited
 * before the task begins but what `within` awaits.
 * @param within runs a task for one of the items, with what it needs
 */
export async function nested<Item, Given, Result>(
  items: readonly Item[],
  within: (item: Item, task: (given: Given) => Promise<Result>) => Promise<Result>,
  task: (given: readonly Given[]) => Promise<Result>,
): Promise<Result> {
  const [first] = items
  if (first === undefined) return task([])
  return within(first, (given) => nested(items.slice(1), within, (rest) => task([given, ...rest])))
}

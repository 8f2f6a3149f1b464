/** A bin of a column, which contains its lower edge. */
export interface Bin<Value> {
  readonly lower: Value
  readonly upper: Value
  /** Only in the last bin, which contains its upper edge as well. */
  readonly upperIncluded?: true
}

/** Writes a bin as an interval: `[60, 80)`, and `[80, 100]` for the last one. @param show writes an edge */
export function binText<Value>(
  { lower, upper, upperIncluded }: Bin<Value>,
  show: (edge: Value) => string,
): string {
  return `[${show(lower)}, ${show(upper)}${upperIncluded ? ']' : ')'}`
}

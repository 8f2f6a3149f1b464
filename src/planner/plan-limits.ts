/** What a plan may not exceed. */
export interface PlanLimits {
  readonly maxCells: number
  /** Of the answer's values with their keys; {@link LARGEST_ANSWER} where it is left out. */
  readonly maxCharacters?: number
}

/** Every answer is stored for ever: this many characters are the most that its values may have. */
export const LARGEST_ANSWER = 4_000_000

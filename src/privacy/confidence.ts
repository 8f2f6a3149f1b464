/** The confidence of a stated half-width where no other is asked for. */
export const DEFAULT_CONFIDENCE = 0.95

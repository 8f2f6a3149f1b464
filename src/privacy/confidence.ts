/** Default confidence of a stated half-width. */
export const DEFAULT_CONFIDENCE = 0.95

/** Attempt until an attempt is not rejected, each from the start: the law of a result is that of an accepted attempt. */
export function untilAccepted<Result>(attempt: () => Result | undefined): () => Result {
  return () => {
    for (;;) {
      const result = attempt()
      if (result !== undefined) return result
    }
  }
}

/** The progress of long work, shown on standard error while that is a terminal. */
export interface Progress {
  /** @param done the part that is done, in the unit of the total */
  advance(done: number): void
  /** Removes the line. */
  end(): void
}

const BAR_WIDTH = 30
const REDRAW_MS = 100

/**
 * Shows the progress of work with a known number of bytes as a bar, and that of other work as the time that it has taken.
 */
export function showProgress(label: string, totalBytes?: number): Progress {
  const { stderr } = process
  if (!stderr.isTTY) return { advance: () => undefined, end: () => undefined }
  const startedMs = performance.now()
  let doneBytes = 0
  const draw = () => {
    const state =
      totalBytes === undefined
        ? `${Math.floor((performance.now() - startedMs) / 1_000)} s`
        : bar(doneBytes, totalBytes)
    stderr.write(`\r${label} ${state}\u001b[K`)
  }
  const timer = setInterval(draw, REDRAW_MS)
  draw()
  return {
    advance: (done) => {
      doneBytes = done
    },
    end: () => {
      clearInterval(timer)
      stderr.write('\r\u001b[K')
    },
  }
}

function bar(done: number, total: number): string {
  const part = total === 0 ? 1 : Math.min(1, done / total)
  const filled = Math.round(part * BAR_WIDTH)
  const megabytes = (bytes: number) => (bytes / 1e6).toFixed(1)
  return `[${'#'.repeat(filled)}${'.'.repeat(BAR_WIDTH - filled)}] ${Math.floor(part * 100)} %  ${megabytes(done)} of ${megabytes(total)} MB`
}

/** Runs work and shows the time that it has taken. */
export async function showingTime<Result>(label: string, work: () => Promise<Result>): Promise<Result> {
  const progress = showProgress(label)
  try {
    return await work()
  } finally {
    progress.end()
  }
}

import closeWithGrace from 'close-with-grace'
import type { Logger } from 'pino'

/** Signals of a broken process. It ends at once, because closing might never finish. */
const FATAL_SIGNALS = ['SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGILL', 'SIGSEGV', 'SIGTRAP'] as const

/** Signals that ask for a stop. */
const STOP_SIGNALS = ['SIGHUP', 'SIGINT', 'SIGTERM'] as const

/**
 * Signals of a stop within this time after the first one are the same request: Ctrl-C reaches a process from the terminal and
 * from npm, and a supervisor may pass it on as another signal.
 */
const SAME_STOP_MS = 1_000

/**
 * Closes the process when a signal requests it, and ends it at once after a further signal or an unexpected error.
 * @param limitMs returns the time limit of closing, which is set at the stop
 */
export function closeOnSignal(close: () => Promise<void>, limitMs: () => number, logger: Logger): void {
  closeWithGrace({ delay: false, logger, skip: [...FATAL_SIGNALS] }, async ({ signal, err }) => {
    if (err !== undefined) {
      // The state of this process is unknown, so it must no longer charge or draw noise. A restart recovers.
      // The origin of the error is unknown, too: its message could quote data, but its stack frames cannot.
      const frames = err.stack?.split('\n').filter((line) => /^\s+at /.test(line))
      logger.fatal({ errorClass: err.name, frames }, 'stopping after an unexpected error')
      return
    }
    if (signal !== undefined) for (const stop of STOP_SIGNALS) ignoreForNow(stop)
    const mostMs = limitMs()
    logger.info({ signal, limitMs: mostMs }, 'stopping')
    const limit = setTimeout(() => {
      logger.error({ limitMs: mostMs }, 'stopping took too long; open requests are aborted')
      process.exit(1)
    }, mostMs)
    await close()
    clearTimeout(limit)
  })
}

/** Sets the listeners of a signal aside while it would be the same request. */
function ignoreForNow(signal: NodeJS.Signals): void {
  const listeners = process.rawListeners(signal) as NodeJS.SignalsListener[]
  process.removeAllListeners(signal)
  const ignore = () => undefined
  process.on(signal, ignore)
  setTimeout(() => {
    for (const listener of listeners) process.on(signal, listener)
    process.off(signal, ignore)
  }, SAME_STOP_MS).unref()
}

import type { Logger } from 'pino'
import type { TraceSink } from './trace.ts'

/**
 * Opens the export of traces, if a destination is configured. Its packages are loaded only then.
 * @param version the version of the service
 * @param opened closes the export
 */
export async function openTraces(
  destination: { readonly url: string; readonly headers: Readonly<Record<string, string>> } | undefined,
  version: string,
  logger: Logger,
  opened: AsyncDisposableStack,
): Promise<TraceSink | undefined> {
  if (destination === undefined) return undefined
  const { openTraceExport } = await import('./otlp.ts')
  const { sink, close } = openTraceExport({
    ...destination,
    version,
    onChange: (state) =>
      state === 'working'
        ? logger.info('traces can be exported again')
        : logger.warn('traces cannot be exported'),
    onDropped: (spans) => logger.warn({ spans }, 'spans of traces were dropped'),
  })
  opened.defer(close)
  return sink
}

import { setTimeout } from 'node:timers/promises'
import { type HrTime, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  AlwaysOnSampler,
  type ReadableSpan,
  type SpanExporter,
  type SpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { FinishedTrace, TraceSink } from './trace.ts'

/** Destination of traces. */
export interface TraceExportOptions {
  /** Address for OTLP over HTTP, usually with the path `/v1/traces`. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Version of the service. */
  readonly version: string
  /** Called when exports begin to fail, and when they succeed again. */
  readonly onChange: (state: 'failing' | 'working') => void
  /** Called with the number of spans that were dropped since the last export, because too many waited. */
  readonly onDropped: (spans: number) => void
}

/** An open destination of traces. */
export interface TraceExport {
  readonly sink: TraceSink
  /** Exports what is left, within {@link CLOSE_TIMEOUT_MS}. */
  close(): Promise<void>
}

/** Time limit of an export with its repetitions. */
const EXPORT_TIMEOUT_MS = 5_000

/** Time limit of the last export. A destination that cannot be reached must not delay a stop. */
export const CLOSE_TIMEOUT_MS = 2_000

/** Opens the export of traces by OTLP over HTTP, as JSON. The destination need not be reachable. */
export function openTraceExport({ url, headers, version, ...observer }: TraceExportOptions): TraceExport {
  const exporter = new OTLPTraceExporter({ url, headers: { ...headers }, timeoutMillis: EXPORT_TIMEOUT_MS })
  const provider = new TracerProvider({
    // Nothing else about the machine or the process.
    resource: resourceFromAttributes({ 'service.name': 'sotto', 'service.version': version }),
    sampler: new AlwaysOnSampler(),
    spanProcessors: [exportAtTicks(exporter, observer)],
  })
  const tracer = provider.getTracer('sotto')
  return {
    sink: (finished) => emit(tracer, finished),
    close: () => Promise.race([provider.shutdown(), setTimeout(CLOSE_TIMEOUT_MS, undefined, { ref: false })]),
  }
}

/** Creates the spans of a request that has ended, the outer one last. */
function emit(
  tracer: ReturnType<TracerProvider['getTracer']>,
  { request, outcome, failed, startMs, endMs, steps }: FinishedTrace,
): void {
  const { name, dataset, kind, requestId } = request
  const attributes = {
    'sotto.dataset': dataset,
    'sotto.outcome': outcome,
    ...(kind === undefined ? {} : { 'sotto.kind': kind }),
    ...(requestId === undefined ? {} : { 'sotto.request_id': requestId }),
  }
  const outer = tracer.startSpan(
    name,
    { root: true, kind: SpanKind.SERVER, startTime: timeOf(startMs), attributes },
    ROOT_CONTEXT,
  )
  const within = trace.setSpan(ROOT_CONTEXT, outer)
  for (const each of steps) {
    const span = tracer.startSpan(each.step, { startTime: timeOf(each.startMs) }, within)
    if (each.failed) span.setStatus({ code: SpanStatusCode.ERROR })
    span.end(timeOf(each.endMs))
  }
  if (failed) outer.setStatus({ code: SpanStatusCode.ERROR })
  outer.end(timeOf(endMs))
}

/** A time as OpenTelemetry takes it. It would read a small number as time since the start of the process. */
function timeOf(epochMs: number): HrTime {
  return [Math.floor(epochMs / 1_000), (epochMs % 1_000) * 1_000_000]
}

/** Time between two exports. */
export const EXPORT_EVERY_MS = 5_000

/** Spans that wait for an export. Further ones are dropped. */
const MOST_SPANS = 20_000

/**
 * Collects spans and exports them at fixed instants after the start. A processor that exports when a number of spans is
 * reached, or some time after the first span, as BatchSpanProcessor does, would show when a request ended.
 */
export function exportAtTicks(
  exporter: SpanExporter,
  { onChange, onDropped }: Pick<TraceExportOptions, 'onChange' | 'onDropped'>,
): SpanProcessor {
  let dropped = 0
  let waiting: ReadableSpan[] = []
  let underWay: Promise<void> | undefined
  let isWorking = true
  const send = (spans: ReadableSpan[]) =>
    new Promise<void>((resolve) => {
      exporter.export(spans, ({ code }) => {
        // The error is not logged: it contains the response of the destination.
        const works = code === 0
        if (works !== isWorking) onChange(works ? 'working' : 'failing')
        isWorking = works
        resolve()
      })
    })
  const flush = () => {
    if (underWay !== undefined || waiting.length === 0) return
    if (dropped > 0) onDropped(dropped)
    dropped = 0
    const spans = waiting
    waiting = []
    underWay = send(spans).finally(() => {
      underWay = undefined
    })
  }
  const timer = setInterval(flush, EXPORT_EVERY_MS).unref()
  const forceFlush = async () => {
    await underWay
    flush()
    await underWay
  }
  return {
    onStart: () => undefined,
    onEnd(span) {
      if (waiting.length < MOST_SPANS) waiting.push(span)
      else dropped += 1
    },
    forceFlush,
    async shutdown() {
      clearInterval(timer)
      await forceFlush()
      await exporter.shutdown()
    },
  }
}

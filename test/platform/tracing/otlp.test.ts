import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { EXPORT_EVERY_MS, exportAtTicks, openTraceExport } from '../../../src/platform/tracing/otlp.ts'
import type { FinishedTrace } from '../../../src/platform/tracing/trace.ts'
import { type Receiver, startReceiver } from './receiver.ts'

const SPAN = {} as ReadableSpan
const START_MS = 1_800_000_000_000

const TRACE: FinishedTrace = {
  request: { name: 'query', dataset: 'census', kind: 'count', requestId: 'r1' },
  outcome: 'failed',
  failed: true,
  startMs: START_MS,
  endMs: START_MS + 100,
  steps: [{ step: 'read', failed: true, startMs: START_MS + 50, endMs: START_MS + 100 }],
}

describe('the instants of exports', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  /** Instants at which an exporter was called, and the numbers of its spans. */
  function recordingExporter() {
    const exports: [number, number][] = []
    const started = Date.now()
    const exporter: SpanExporter = {
      export: (spans, done) => {
        exports.push([Date.now() - started, spans.length])
        done({ code: 0 })
      },
      shutdown: async () => undefined,
    }
    return { exporter, exports }
  }

  test.each([0, 1, 1_700, EXPORT_EVERY_MS - 1])(
    'attack: they do not show that a request ended %d ms after the start',
    async (endedMs) => {
      const { exporter, exports } = recordingExporter()
      const processor = exportAtTicks(exporter, { onChange: () => undefined, onDropped: () => undefined })
      await vi.advanceTimersByTimeAsync(endedMs)
      processor.onEnd(SPAN)
      await vi.advanceTimersByTimeAsync(20_000 - endedMs)
      expect(exports).toEqual([[EXPORT_EVERY_MS, 1]])
      await processor.shutdown()
    },
  )

  test('attack: they do not show that many requests ended', async () => {
    const { exporter, exports } = recordingExporter()
    const dropped: number[] = []
    const processor = exportAtTicks(exporter, {
      onChange: () => undefined,
      onDropped: (spans) => dropped.push(spans),
    })
    await vi.advanceTimersByTimeAsync(1_234)
    for (let span = 0; span < 20_003; span += 1) processor.onEnd(SPAN)
    expect(exports).toEqual([])
    await vi.advanceTimersByTimeAsync(EXPORT_EVERY_MS)
    expect(exports).toEqual([[EXPORT_EVERY_MS, 20_000]])
    expect(dropped).toEqual([3])
    await processor.shutdown()
  })
})

describe('an export', () => {
  let receiver: Receiver
  beforeEach(async () => {
    receiver = await startReceiver()
  })
  afterEach(() => receiver.close())

  const open = (changes: string[] = []) =>
    openTraceExport({
      url: receiver.url,
      headers: { authorization: 'Bearer of the collector' },
      version: '1.2.3',
      onChange: (state) => changes.push(state),
      onDropped: () => undefined,
    })

  test('has the names, times and facts of a trace, and nothing else about the process', async () => {
    const { sink, close } = open()
    sink(TRACE)
    await close()
    expect(receiver.headers[0]).toMatchObject({
      authorization: 'Bearer of the collector',
      'content-type': 'application/json',
    })
    const [{ resource }] = JSON.parse(receiver.bodies[0] ?? '').resourceSpans
    expect(resource.attributes).toEqual([
      { key: 'service.name', value: { stringValue: 'sotto' } },
      { key: 'service.version', value: { stringValue: '1.2.3' } },
    ])
    const [read, query] = receiver.spans()
    expect(query).toMatchObject({
      name: 'query',
      startTimeUnixNano: `${START_MS}000000`,
      endTimeUnixNano: `${START_MS + 100}000000`,
      attributes: [
        { key: 'sotto.dataset', value: { stringValue: 'census' } },
        { key: 'sotto.outcome', value: { stringValue: 'failed' } },
        { key: 'sotto.kind', value: { stringValue: 'count' } },
        { key: 'sotto.request_id', value: { stringValue: 'r1' } },
      ],
      status: { code: 2 },
    })
    expect(query?.parentSpanId).toBeUndefined()
    expect(read).toMatchObject({
      traceId: query?.traceId,
      parentSpanId: query?.spanId,
      name: 'read',
      startTimeUnixNano: `${START_MS + 50}000000`,
      endTimeUnixNano: `${START_MS + 100}000000`,
      attributes: [],
      status: { code: 2 },
    })
    for (const span of receiver.spans()) {
      expect(span.events ?? []).toEqual([])
      expect(span.links ?? []).toEqual([])
      expect(span.status.message).toBeUndefined()
    }
  })

  test('times of the first minutes of a process are not taken for times since its start', async () => {
    const { sink, close } = open()
    const startMs = Math.floor(performance.timeOrigin / 120_000) * 120_000
    sink({ ...TRACE, startMs, endMs: startMs + 120_000, steps: [] })
    await close()
    expect(receiver.spans()[0]).toMatchObject({
      startTimeUnixNano: `${startMs}000000`,
      endTimeUnixNano: `${startMs + 120_000}000000`,
    })
  })

  test('that must be repeated does not delay a stop', async () => {
    // The exporter waits for this time before it repeats a request.
    receiver.respondWith(503, { 'retry-after': '4' })
    const changes: string[] = []
    const { sink, close } = open(changes)
    sink(TRACE)
    await close()
    expect(receiver.bodies).toHaveLength(1)
    expect(changes).toEqual([])
  })

  test('that fails is reported once, without the answer of the destination', async () => {
    receiver.respondWith(400)
    const changes: string[] = []
    const { sink, close } = open(changes)
    sink(TRACE)
    await close()
    expect(changes).toEqual(['failing'])
  })
})

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { beginTrace, type FinishedTrace, type Step, UNTRACED } from '../../../src/platform/tracing/trace.ts'

const SLOT_MS = 50
const MARGIN_MS = 12.5
const WALL_MS = 1_800_000_000_123.4

/** Durations of the steps of a request, in milliseconds. */
type Durations = Readonly<Partial<Record<Step, number>>>

/** Traces a request that arrives at `arrivedAtMs` of the clock and is released at a release instant, `lateMs` late. */
async function traceOf(durations: Durations, arrivedAtMs = 7_000, lateMs = 0.7): Promise<FinishedTrace> {
  let now = arrivedAtMs
  const trace = beginTrace(
    { name: 'query', dataset: 'census' },
    { nowMs: () => now, arrivedAtMs, slotMs: SLOT_MS, marginMs: MARGIN_MS, wallMs: () => WALL_MS },
    () => true,
  )
  const pass = (durationMs = 0) => {
    now += durationMs
  }
  for (const step of ['plan', 'charge', 'wait', 'read', 'noise'] as const)
    await trace.step(step, () => pass(durations[step]))
  const slots = Math.max(1, Math.ceil((now - arrivedAtMs + MARGIN_MS) / SLOT_MS))
  now = arrivedAtMs + slots * SLOT_MS - MARGIN_MS + lateMs
  await trace.step('record', () => pass(durations.record))
  const released = Math.ceil((now - arrivedAtMs) / SLOT_MS)
  now = arrivedAtMs + released * SLOT_MS + lateMs
  return trace.end('answered', false)
}

describe('attack: the exact duration of a computation', () => {
  test('does not show in a trace beyond the slot of the response', async () => {
    // All of these are released after one slot.
    const usual = await traceOf({ read: 1 })
    for (const durations of [{}, { read: 30 }, { read: 37.4 }, { plan: 3, charge: 9, noise: 20, record: 4 }])
      expect(await traceOf(durations)).toEqual(usual)
    // This one after two.
    const longer = await traceOf({ read: 37.6 })
    expect(longer).not.toEqual(usual)
    for (const read of [45, 49.9, 50, 50.1, 70, 87.4]) expect(await traceOf({ read })).toEqual(longer)
  })

  test('does not show to clients that vary their arrival', async () => {
    const duration = fc.double({ min: 0, max: 40, noNaN: true })
    const arrival = fc.double({ min: 0, max: 10_000, noNaN: true })
    const ofOneSlot = fc.tuple(duration, arrival).filter(([read]) => read <= SLOT_MS - MARGIN_MS)
    const usual = await traceOf({ read: 1 })
    await fc.assert(
      fc.asyncProperty(ofOneSlot, async ([read, arrivedAtMs]) => {
        // The wall clock is the same for all of them, so that only the grid can differ.
        expect((await traceOf({ read }, Math.floor(arrivedAtMs))).steps).toEqual(usual.steps)
      }),
    )
  })
})

test('all times are multiples of the slot, and steps lie within their request', async () => {
  const duration = fc.double({ min: 0, max: 200, noNaN: true })
  const steps = { plan: duration, charge: duration, wait: duration, read: duration, noise: duration }
  await fc.assert(
    fc.asyncProperty(fc.record(steps), async (durations) => {
      const trace = await traceOf(durations)
      for (const { startMs, endMs } of [trace, ...trace.steps]) {
        expect(startMs % SLOT_MS).toBe(0)
        expect(endMs % SLOT_MS).toBe(0)
        expect(startMs).toBeGreaterThanOrEqual(trace.startMs)
        expect(endMs).toBeGreaterThanOrEqual(startMs)
        expect(endMs).toBeLessThanOrEqual(trace.endMs)
      }
    }),
  )
})

test('a step that fails is marked, without its error', async () => {
  const trace = beginTrace(
    { name: 'query', dataset: 'census' },
    { nowMs: () => 0, arrivedAtMs: 0, slotMs: SLOT_MS, marginMs: MARGIN_MS },
    (error) => !(error instanceof RangeError),
  )
  const secret = new Error('Ada Lovelace, 36')
  await expect(trace.step('read', () => Promise.reject(secret))).rejects.toBe(secret)
  await expect(trace.step('plan', () => Promise.reject(new RangeError('refused')))).rejects.toThrow('refused')
  const finished = trace.end('failed', true)
  expect(finished.steps.map(({ step, failed }) => [step, failed])).toEqual([
    ['read', true],
    ['plan', false],
  ])
  expect(JSON.stringify(finished)).not.toMatch(/Ada|refused|stack/)
})

test('a request that is not traced runs its steps', async () => {
  expect(await UNTRACED.step('read', async () => 7)).toBe(7)
})

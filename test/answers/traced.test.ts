import { expect, test } from 'vitest'
import { AnswerFailure } from '../../src/answers/failure.ts'
import { releaseInTime } from '../../src/answers/release-time.ts'
import { traced } from '../../src/answers/traced.ts'
import type { FinishedTrace } from '../../src/platform/tracing/trace.ts'
import { Refusal } from '../../src/privacy/refusal.ts'
import { createFakeClock } from './fake-clock.ts'

const request = { name: 'query', kind: 'count', dataset: 'census', requestId: 'r1', arrivedAtMs: 0 } as const

/** The trace of a flow that fails with an error. */
async function traceOf(error: Error): Promise<FinishedTrace> {
  const finished: FinishedTrace[] = []
  const dependencies = { clock: createFakeClock(), traces: (trace: FinishedTrace) => finished.push(trace) }
  const flow = traced(dependencies, { ...request, timing: { slotMs: 50 } }, (trace) =>
    trace.step('read', () => Promise.reject(error)),
  )
  await expect(flow).rejects.toBe(error)
  expect(finished).toHaveLength(1)
  return finished[0] as FinishedTrace
}

test('a failure is traced as one, without its class, message, stack and charge', async () => {
  const cause = new Error('value Zq36 of Ada')
  for (const error of [cause, new AnswerFailure('charge-7', 'ZqTimeout'), new TypeError('Zq36', { cause })]) {
    const trace = await traceOf(error)
    expect(trace).toMatchObject({ outcome: 'failed', failed: true, steps: [{ step: 'read', failed: true }] })
    expect(JSON.stringify(trace)).not.toMatch(/Zq|Ada|charge-7|at .*\.ts/)
  }
})

test('a refusal is traced by its code alone', async () => {
  const refusal = new Refusal('query-does-not-fit', 'There is no column Ada.', [
    { field: 'where.Ada', rule: 'must not be Zq36' },
  ])
  const trace = await traceOf(refusal)
  expect(trace).toMatchObject({ outcome: 'query-does-not-fit', failed: false, steps: [{ failed: false }] })
  expect(JSON.stringify(trace)).not.toMatch(/Zq|Ada/)
})

test.each([
  ['a slot', { slotMs: 50 }, 50],
  ['a short slot', { slotMs: 10 }, 10],
  ['a deadline', { deadlineMs: 100 }, 100],
] as const)(
  'with %s, a computation ends in its trace when it ends in the response',
  async (_, timing, slotMs) => {
    for (let durationMs = 0; durationMs <= 3 * slotMs; durationMs += 0.5) {
      const finished: FinishedTrace[] = []
      const clock = createFakeClock()
      await traced({ clock, traces: (trace) => finished.push(trace) }, { ...request, timing }, (trace) =>
        releaseInTime(clock, { timing, arrivedAtMs: 0 }, async (recordInstant) => {
          await trace.step('read', () => clock.pass(durationMs))
          await recordInstant()
          return trace.step('record', () => ({ body: '{}', replayed: false }))
        }),
      )
      const [{ startMs, endMs, steps } = { startMs: 0, endMs: 0, steps: [] }] = finished
      expect(endMs - startMs).toBe(clock.nowMs())
      expect(steps.map((step) => [step.step, step.endMs - startMs])).toEqual([
        // A computation of no time ends with the arrival.
        ['read', durationMs === 0 ? expect.any(Number) : clock.nowMs()],
        ['record', clock.nowMs()],
      ])
    }
  },
)

test('nothing is recorded without a destination', async () => {
  const clock = createFakeClock()
  const answer = { body: '{}', replayed: false }
  const nowMs = () => {
    throw new Error('the clock was read')
  }
  const flow = traced({ clock: { ...clock, nowMs } }, { ...request, timing: 'off' }, (trace) =>
    trace.step('plan', () => answer),
  )
  expect(await flow).toBe(answer)
})

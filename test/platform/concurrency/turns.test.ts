import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  createLimiter,
  type Limiter,
  LimiterFull,
  LimiterTimeout,
  type Place,
} from '../../../src/platform/concurrency/limiter.ts'

const PRINCIPALS = ['ada', 'ben', 'cleo', 'dan'] as const
type Principal = (typeof PRINCIPALS)[number]

/** One thing that happens at a limiter. */
type Step =
  | { readonly kind: 'arrive'; readonly principal: Principal }
  /** The task that has run for the longest ends. */
  | { readonly kind: 'end' }
  /** A waiting task of the principal leaves the queue. */
  | { readonly kind: 'give-up'; readonly principal: Principal }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('arrive' as const), principal: fc.constantFrom(...PRINCIPALS) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('end' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('give-up' as const),
      principal: fc.constantFrom(...PRINCIPALS),
    }),
  },
)

/** Runs steps, and watches which principal gets each turn while others wait, and who no longer waits for one. */
async function play(
  limiter: Limiter,
  steps: readonly Step[],
  onTurn: (of: Principal, waiting: readonly Principal[]) => void,
  onGone: (principal: Principal) => void = () => undefined,
) {
  const running: { readonly principal: Principal; readonly place: Place }[] = []
  const waiting: { readonly principal: Principal; readonly leaving: AbortController }[] = []
  const waitingPrincipals = () => [...new Set(waiting.map(({ principal }) => principal))]
  for (const taken of steps) {
    switch (taken.kind) {
      case 'arrive': {
        const { principal } = taken
        const task = { principal, leaving: new AbortController() }
        waiting.push(task)
        limiter.enter({ owner: principal, signal: task.leaving.signal }).then(
          (place) => {
            waiting.splice(waiting.indexOf(task), 1)
            running.push({ principal, place })
            onTurn(principal, waitingPrincipals())
          },
          () => undefined,
        )
        break
      }
      case 'end':
        running.shift()?.place.leave()
        break
      case 'give-up': {
        const index = waiting.findIndex(({ principal }) => principal === taken.principal)
        const [task] = index < 0 ? [] : waiting.splice(index, 1)
        task?.leaving.abort()
        if (!waitingPrincipals().includes(taken.principal)) onGone(taken.principal)
      }
    }
    await setImmediate()
    expect(limiter.running()).toBe(running.length)
    expect(limiter.waiting()).toBe(waiting.length)
  }
}

describe('turns', () => {
  test('no principal that waits gets fewer turns than another by more than one', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 80 }), async (steps) => {
        /** Turns of each principal since another began to wait: at most one more than the other's, which is 0. */
        const turnsWhileWaiting = new Map<Principal, Map<Principal, number>>()
        const onTurn = (of: Principal, waiting: readonly Principal[]) => {
          turnsWhileWaiting.delete(of)
          for (const principal of waiting) {
            const turns = turnsWhileWaiting.get(principal) ?? new Map<Principal, number>()
            turnsWhileWaiting.set(principal, turns)
            if (principal === of) continue
            turns.set(of, (turns.get(of) ?? 0) + 1)
            expect(turns.get(of)).toBeLessThanOrEqual(1)
          }
        }
        const onGone = (principal: Principal) => turnsWhileWaiting.delete(principal)
        await play(createLimiter({ concurrency: 1 }), steps, onTurn, onGone)
      }),
      { numRuns: 300 },
    )
  })

  test('a principal holds no more places than it leaves free, and no place stays free that a task may take', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 8 }),
        fc.array(step, { maxLength: 80 }),
        async (concurrency, steps) => {
          const limiter = createLimiter({ concurrency })
          const held = new Map<Principal, number>()
          let total = 0
          const running: Place[] = []
          const holders: Principal[] = []
          const waiting: Principal[] = []
          for (const taken of steps) {
            if (taken.kind === 'end') {
              const of = holders.shift()
              if (of !== undefined) {
                held.set(of, (held.get(of) ?? 0) - 1)
                total -= 1
                running.shift()?.leave()
              }
            } else {
              const { principal } = taken
              waiting.push(principal)
              limiter.enter({ owner: principal }).then((place) => {
                // The share is checked at the moment when the place is taken.
                expect(held.get(principal) ?? 0).toBeLessThan(concurrency - total)
                held.set(principal, (held.get(principal) ?? 0) + 1)
                total += 1
                waiting.splice(waiting.indexOf(principal), 1)
                running.push(place)
                holders.push(principal)
              })
            }
            await setImmediate()
            for (const principal of waiting)
              expect(held.get(principal) ?? 0).toBeGreaterThanOrEqual(concurrency - total)
          }
        },
      ),
      { numRuns: 300 },
    )
  })

  test('tasks of one owner begin in order of arrival; those of several alternate', async () => {
    const limiter = createLimiter({ concurrency: 1 })
    const begun: string[] = []
    const tasks = ['ada 1', 'ada 2', 'ada 3', 'ada 4', 'ben 1', 'ben 2', 'cleo 1'].map((name) =>
      limiter.run(
        async () => {
          begun.push(name)
          await setImmediate()
        },
        { owner: name.split(' ')[0] },
      ),
    )
    await Promise.all(tasks)
    expect(begun).toEqual(['ada 1', 'ada 2', 'ben 1', 'cleo 1', 'ada 3', 'ben 2', 'ada 4'])
  })

  test('tasks without an owner may hold every place', async () => {
    const limiter = createLimiter({ concurrency: 3 })
    const places = await Promise.all([limiter.enter(), limiter.enter(), limiter.enter()])
    expect(limiter.mustWait()).toBe(true)
    for (const place of places) place.leave()
    expect(limiter.running()).toBe(0)
  })

  test('a place that is left twice is free once', async () => {
    const limiter = createLimiter({ concurrency: 2 })
    const place = await limiter.enter()
    await limiter.enter()
    place.leave()
    place.leave()
    expect(limiter.running()).toBe(1)
  })
})

describe('a full queue', () => {
  test('turns away the newest task of the owner with the most, for one of an owner with fewer', async () => {
    const limiter = createLimiter({ concurrency: 1, maxWaiting: 3 })
    await limiter.enter({ owner: 'ada' })
    const outcome = (entered: Promise<Place>) =>
      entered.then(
        () => 'entered',
        (error: unknown) => error,
      )
    const flood = [1, 2, 3].map(() => outcome(limiter.enter({ owner: 'ada' })))
    await expect(limiter.enter({ owner: 'ada' })).rejects.toThrow(LimiterFull)
    const ben = limiter.enter({ owner: 'ben' })
    expect(await flood[2]).toBeInstanceOf(LimiterFull)
    expect(limiter.waiting()).toBe(3)
    const cleo = outcome(limiter.enter({ owner: 'cleo' }))
    expect(await flood[1]).toBeInstanceOf(LimiterFull)
    // Each owner waits with one task now.
    await expect(limiter.enter({ owner: 'dan' })).rejects.toThrow(LimiterFull)
    void ben.catch(() => undefined)
    void cleo
  })

  test('a task that waits too long is turned away, and the others keep their turns', async () => {
    const limiter = createLimiter({ concurrency: 1, maxWaitMs: 5 })
    const place = await limiter.enter({ owner: 'ada' })
    await expect(limiter.enter({ owner: 'ben' })).rejects.toThrow(LimiterTimeout)
    expect(limiter.waiting()).toBe(0)
    place.leave()
    expect(limiter.running()).toBe(0)
  })
})

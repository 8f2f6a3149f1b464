import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createLimiter } from '../../src/concurrency/limiter.ts'
import { createSharedPlaces, type Seat } from '../../src/concurrency/shared-places.ts'

/** Shared places whose tasks are entered at once and hold their seats until the test takes them. */
function setUp({ concurrency = 1, seats = 4 } = {}) {
  const limiter = createLimiter({ concurrency })
  const places = createSharedPlaces(limiter, seats)
  const seated: { readonly task: string; readonly seat: Seat }[] = []
  return {
    limiter,
    places,
    seated: () => seated.map(({ task }) => task),
    async enter(...tasks: readonly string[]) {
      for (const task of tasks) {
        const [group = '', turn = ''] = task.split(' ')
        places.enter(group, turn).then((seat) => seated.push({ task, seat }))
      }
      await setImmediate()
    },
    async leaveAll() {
      for (const { seat } of seated.splice(0)) seat.leave()
      await setImmediate()
    },
  }
}

test('tasks of one group that wait share the next place', async () => {
  const { enter, leaveAll, seated, limiter, places } = setUp()
  await enter('scan a1')
  await enter('scan a2', 'other b1', 'scan a3')
  expect(seated()).toEqual(['scan a1'])
  await leaveAll()
  expect(seated()).toEqual(['scan a2', 'scan a3'])
  expect([limiter.running(), places.guests(), limiter.waiting()]).toEqual([1, 1, 1])
  await leaveAll()
  expect(seated()).toEqual(['other b1'])
  await leaveAll()
  expect([limiter.running(), places.guests(), limiter.waiting()]).toEqual([0, 0, 0])
})

test('no turn fills the seats of a place while others wait', async () => {
  const { enter, leaveAll, seated } = setUp({ seats: 6 })
  await enter('scan first')
  await enter(...Array.from({ length: 20 }, () => 'scan flooding'))
  await enter(...Array.from({ length: 20 }, () => 'scan also-flooding'), 'scan quiet')
  await leaveAll()
  expect(seated().toSorted()).toEqual([
    'scan also-flooding',
    'scan also-flooding',
    'scan flooding',
    'scan flooding',
    'scan flooding',
    'scan quiet',
  ])
})

test('a place is given back with its last seat, whoever leaves twice', async () => {
  const { limiter, places } = setUp()
  const first = await places.enter('scan', 'a')
  const waiting = [places.enter('scan', 'a'), places.enter('scan', 'b')]
  first.leave()
  const [one, other] = await Promise.all(waiting)
  one?.leave()
  one?.leave()
  expect(limiter.running()).toBe(1)
  other?.leave()
  expect(limiter.running()).toBe(0)
})

test('tasks hold at most as many places as there are, at most as many seats, and all are seated', async () => {
  const task = fc.tuple(fc.constantFrom('x', 'y', 'z'), fc.constantFrom('a', 'b', 'c'), fc.nat(3))
  await fc.assert(
    fc.asyncProperty(
      fc.array(task, { maxLength: 40 }),
      fc.integer({ min: 1, max: 3 }),
      fc.integer({ min: 1, max: 5 }),
      async (tasks, concurrency, seats) => {
        const limiter = createLimiter({ concurrency })
        const places = createSharedPlaces(limiter, seats)
        let held = 0
        let most = 0
        await Promise.all(
          tasks.map(async ([group, turn, steps]) => {
            for (let step = 0; step < steps; step += 1) await setImmediate()
            const seat = await places.enter(group, turn)
            held += 1
            most = Math.max(most, held)
            expect(limiter.running()).toBeLessThanOrEqual(concurrency)
            expect(held).toBeLessThanOrEqual(limiter.running() + places.guests())
            for (let step = 0; step < steps; step += 1) await setImmediate()
            held -= 1
            seat.leave()
          }),
        )
        expect(most).toBeLessThanOrEqual(concurrency * seats)
        expect([limiter.running(), limiter.waiting(), places.guests()]).toEqual([0, 0, 0])
      },
    ),
    { numRuns: 200 },
  )
})

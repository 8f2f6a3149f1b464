import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createLimiter, type Place } from '../../../src/platform/concurrency/limiter.ts'

/** A limiter whose tasks are entered at once and hold their places until the test takes them. */
function setUp({ tasksPerPlace = 4 } = {}) {
  const limiter = createLimiter({ concurrency: 1, tasksPerPlace })
  const running: { readonly task: string; readonly place: Place }[] = []
  return {
    limiter,
    running: () => running.map(({ task }) => task),
    async enter(...tasks: readonly string[]) {
      for (const task of tasks) {
        const [group, owner] = task.split(' ')
        limiter.enter({ group, owner }).then((place) => running.push({ task, place }))
      }
      await setImmediate()
    },
    async leaveAll() {
      for (const { place } of running.splice(0)) place.leave()
      await setImmediate()
    },
  }
}

test('tasks of one group that wait share the next place', async () => {
  const { enter, leaveAll, running, limiter } = setUp()
  await enter('scan a1')
  await enter('scan a2', 'other b1', 'scan a3')
  expect(running()).toEqual(['scan a1'])
  await leaveAll()
  expect(running()).toEqual(['scan a2', 'scan a3'])
  expect([limiter.running(), limiter.waiting()]).toEqual([2, 1])
  await leaveAll()
  expect(running()).toEqual(['other b1'])
  await leaveAll()
  expect([limiter.running(), limiter.waiting()]).toEqual([0, 0])
})

test('tasks of one group that come in one turn of the event loop share a place, and later ones wait', async () => {
  const { enter, leaveAll, running } = setUp({ tasksPerPlace: 3 })
  await enter('scan a1', 'other b1', 'scan a2')
  expect(running()).toEqual(['scan a1', 'scan a2'])
  await enter('scan a3')
  await leaveAll()
  expect(running()).toEqual(['other b1'])
  await leaveAll()
  await enter('scan a4', 'scan a5', 'scan a6')
  expect(running()).toEqual(['scan a3'])
  await leaveAll()
  expect(running()).toEqual(['scan a4', 'scan a5', 'scan a6'])
})

test('no owner fills a place while others wait', async () => {
  const { enter, leaveAll, running } = setUp({ tasksPerPlace: 6 })
  await enter('scan first')
  await enter(...Array.from({ length: 20 }, () => 'scan flooding'))
  await enter(...Array.from({ length: 20 }, () => 'scan also-flooding'), 'scan quiet')
  await leaveAll()
  expect(running().toSorted()).toEqual([
    'scan also-flooding',
    'scan also-flooding',
    'scan flooding',
    'scan flooding',
    'scan flooding',
    'scan quiet',
  ])
})

test('a shared place is free once its last task has left, whoever leaves twice', async () => {
  const { limiter } = setUp()
  const first = await limiter.enter({ group: 'scan', owner: 'a' })
  const waiting = [limiter.enter({ group: 'scan', owner: 'a' }), limiter.enter({ group: 'scan', owner: 'b' })]
  first.leave()
  const [one, other] = await Promise.all(waiting)
  one?.leave()
  one?.leave()
  expect([limiter.running(), limiter.mustWait('c')]).toEqual([1, true])
  other?.leave()
  expect([limiter.running(), limiter.mustWait('c')]).toEqual([0, false])
})

test('tasks of a group never share more places than there are, and all get one', async () => {
  const task = fc.tuple(fc.constantFrom('x', 'y', 'z'), fc.constantFrom('a', 'b', 'c'), fc.nat(3))
  await fc.assert(
    fc.asyncProperty(
      fc.array(task, { maxLength: 40 }),
      fc.integer({ min: 1, max: 3 }),
      fc.integer({ min: 1, max: 5 }),
      async (tasks, concurrency, tasksPerPlace) => {
        const limiter = createLimiter({ concurrency, tasksPerPlace })
        const held = new Map<string, number>()
        await Promise.all(
          tasks.map(async ([group, owner, steps]) => {
            for (let step = 0; step < steps; step += 1) await setImmediate()
            const place = await limiter.enter({ group, owner })
            held.set(group, (held.get(group) ?? 0) + 1)
            // Tasks of different groups share no place.
            const fewest = [...held.values()].map((count) => Math.ceil(count / tasksPerPlace))
            expect(fewest.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(concurrency)
            for (let step = 0; step < steps; step += 1) await setImmediate()
            held.set(group, (held.get(group) ?? 0) - 1)
            place.leave()
          }),
        )
        expect([limiter.running(), limiter.waiting()]).toEqual([0, 0])
      },
    ),
    { numRuns: 200 },
  )
})

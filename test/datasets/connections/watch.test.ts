import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type ConnectionState, watchConnections } from '../../../src/datasets/connections/watch.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

/** A connection whose checks a test answers. */
function connection(name: string, answer: () => Promise<boolean>) {
  const reachable = vi.fn(answer)
  return { watched: { connection: { name, engine: 'postgres' as const }, engine: { reachable } }, reachable }
}

const TIMES = { checkMs: 1_000, checkAgainMs: 1_000, checkTimeoutMs: 200 }

test('the states follow the databases, and every change is reported once', async () => {
  let isUp = true
  const warehouse = connection('warehouse', async () => isUp)
  const lake = connection('lake', () => Promise.reject(new Error('no route')))
  const changes: ConnectionState[] = []
  const onChange = (state: ConnectionState) => changes.push(state)
  const connections = await watchConnections([warehouse.watched, lake.watched], { onChange, ...TIMES })
  expect(connections.list()).toEqual([
    { name: 'warehouse', engine: 'postgres', reachable: true },
    { name: 'lake', engine: 'postgres', reachable: false },
  ])
  isUp = false
  await vi.advanceTimersByTimeAsync(2_500)
  expect(connections.isReachable('warehouse')).toBe(false)
  isUp = true
  await vi.advanceTimersByTimeAsync(1_000)
  expect(connections.isReachable('warehouse')).toBe(true)
  expect(connections.isReachable('nowhere')).toBe(false)
  expect(changes.map(({ name, reachable }) => `${name} ${reachable}`)).toEqual([
    'lake false',
    'warehouse false',
    'warehouse true',
  ])
  await connections.close()
})

test('reading the state reaches no database, and a check that stalls is not repeated', async () => {
  const { watched, reachable } = connection('warehouse', () => new Promise(() => {}))
  const starting = watchConnections([watched], { onChange: () => {}, ...TIMES })
  await vi.advanceTimersByTimeAsync(200)
  const connections = await starting
  for (let i = 0; i < 100; i += 1) connections.list()
  await vi.advanceTimersByTimeAsync(10_000)
  expect(connections.isReachable('warehouse')).toBe(false)
  expect(reachable).toHaveBeenCalledTimes(1)
  const closing = connections.close()
  await vi.advanceTimersByTimeAsync(200)
  await closing
})

test('nothing is checked after the end', async () => {
  const { watched, reachable } = connection('warehouse', async () => true)
  const connections = await watchConnections([watched], { onChange: () => {}, ...TIMES })
  await connections.close()
  await vi.advanceTimersByTimeAsync(10_000)
  expect(reachable).toHaveBeenCalledTimes(1)
})

test('a database is checked soon after a failure, and again every second until it is back', async () => {
  let isUp = true
  const { watched, reachable } = connection('warehouse', async () => isUp)
  const connections = await watchConnections([watched], {
    onChange: () => {},
    checkMs: 60_000,
    checkAgainMs: 1_000,
  })
  isUp = false
  connections.checkSoon('warehouse')
  connections.checkSoon('warehouse')
  connections.checkSoon('nowhere')
  await vi.advanceTimersByTimeAsync(0)
  expect(connections.isReachable('warehouse')).toBe(false)
  expect(reachable).toHaveBeenCalledTimes(2)
  await vi.advanceTimersByTimeAsync(3_500)
  expect(reachable).toHaveBeenCalledTimes(5)
  isUp = true
  await vi.advanceTimersByTimeAsync(1_000)
  expect(connections.isReachable('warehouse')).toBe(true)
  await vi.advanceTimersByTimeAsync(30_000)
  expect(reachable).toHaveBeenCalledTimes(6)
  await connections.close()
})

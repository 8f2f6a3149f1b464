import { expect, onTestFinished, test, vi } from 'vitest'
import { createRefusedSignInCounter, type RefusedSignIns } from '../../../src/http/access/refused-sign-ins.ts'

function counter(record: (refused: RefusedSignIns) => Promise<unknown>) {
  vi.useFakeTimers({ now: Date.UTC(2026, 0, 1) })
  onTestFinished(() => {
    vi.useRealTimers()
  })
  const errors: unknown[] = []
  return { errors, ...createRefusedSignInCounter({ record, onError: (error) => errors.push(error) }) }
}

test('refused sign-ins are recorded once per address and minute, with their number', async () => {
  const recorded: RefusedSignIns[] = []
  const { count } = counter(async (refused) => recorded.push(refused))
  for (const address of ['192.0.2.1', '192.0.2.1', '::ffff:192.0.2.1', '192.0.2.2']) count(address)
  await vi.advanceTimersByTimeAsync(59_999)
  expect(recorded).toEqual([])
  await vi.advanceTimersByTimeAsync(1)
  const minute = { from: '2026-01-01T00:00:00.000Z', to: '2026-01-01T00:01:00.000Z' }
  expect(recorded).toEqual([
    { subject: '192.0.2.1', facts: { count: 3, ...minute } },
    { subject: '192.0.2.2', facts: { count: 1, ...minute } },
  ])
  await vi.advanceTimersByTimeAsync(600_000)
  expect(recorded).toHaveLength(2)
})

test('attack: sign-ins from any number of addresses add at most 11 events per minute', async () => {
  const recorded: RefusedSignIns[] = []
  const { count, close } = counter(async (refused) => recorded.push(refused))
  for (let minute = 0; minute < 3; minute += 1) {
    for (let caller = 0; caller < 5_000; caller += 1) count(`2001:db8:${caller.toString(16)}::1`)
    await vi.advanceTimersByTimeAsync(60_000)
  }
  expect(recorded).toHaveLength(33)
  expect(recorded.reduce((sum, { facts }) => sum + facts.count, 0)).toBe(15_000)
  expect(recorded.at(10)).toMatchObject({ subject: 'other addresses', facts: { count: 4_990 } })
  count('192.0.2.1')
  await close()
  expect(recorded).toHaveLength(34)
})

test('addresses of one IPv6 network are counted together', async () => {
  const recorded: RefusedSignIns[] = []
  const { count, flush } = counter(async (refused) => recorded.push(refused))
  for (const address of [
    '2001:db8::1',
    '2001:DB8:0:0:ffff::2',
    '2001:db8:0:0:1:2:3:4',
    'fe80::1%eth0',
    '::1',
  ])
    count(address)
  await flush()
  expect(recorded.map(({ subject, facts }) => [subject, facts.count])).toEqual([
    ['2001:db8:0:0::/64', 3],
    ['fe80:0:0:0::/64', 1],
    ['0:0:0:0::/64', 1],
  ])
})

test('sign-ins that cannot be recorded are counted again in the next minute', async () => {
  const recorded: RefusedSignIns[] = []
  let fails = true
  const { count, errors } = counter(async (refused) => {
    if (fails) throw new Error('the disk is full')
    recorded.push(refused)
  })
  count('192.0.2.1')
  await vi.advanceTimersByTimeAsync(60_000)
  expect(errors).toHaveLength(1)
  fails = false
  count('192.0.2.1')
  await vi.advanceTimersByTimeAsync(60_000)
  expect(recorded).toMatchObject([{ subject: '192.0.2.1', facts: { count: 2 } }])
})

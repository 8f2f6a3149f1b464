import { describe, expect, test } from 'vitest'
import {
  DAY_MS,
  describeEnd,
  forecastOf,
  spentSince,
  totalsByAnalyst,
} from '../../../console/src/pages/manage/forecast.ts'

const NOW_MS = Date.UTC(2026, 5, 30)
const daysAgo = (days: number) => NOW_MS - days * DAY_MS

/** Totals after charges of 1 each, on days before now. */
function totalsOf(...days: readonly number[]) {
  return days.map((day, index) => ({ atMs: daysAgo(day), spent: index + 1 }))
}

describe('The forecast of a budget', () => {
  const terms = { cap: 10, spent: 4, openedAtMs: daysAgo(100), nowMs: NOW_MS, windowDays: 28 }

  test('divides what is left by the spending per day in the window', () => {
    const forecast = forecastOf({ ...terms, totals: totalsOf(90, 60, 20, 5) })
    // Two in 28 days; six are left.
    expect(forecast).toEqual({ kind: 'ends', perDay: 2 / 28, endsAtMs: NOW_MS + 84 * DAY_MS })
  })

  test('averages a young budget over its age, and says nothing on its first day', () => {
    expect(forecastOf({ ...terms, openedAtMs: daysAgo(8), totals: totalsOf(7, 6, 2, 1) })).toMatchObject({
      perDay: 0.5,
    })
    const early = { ...terms, totals: totalsOf(0.009, 0.008, 0.007, 0.006) }
    expect(forecastOf({ ...early, openedAtMs: daysAgo(0.01) })).toEqual({ kind: 'young' })
    expect(forecastOf({ ...early, openedAtMs: daysAgo(1) })).toMatchObject({ perDay: 4 })
  })

  test('depends on the window', () => {
    const all = { ...terms, totals: totalsOf(90, 60, 20, 5) }
    expect(forecastOf({ ...all, windowDays: 90 })).toMatchObject({ perDay: 4 / 90 })
    expect(forecastOf({ ...all, windowDays: 7 })).toMatchObject({ perDay: 1 / 7 })
  })

  test('has no end if nothing was spent in the window, or nothing is left', () => {
    expect(forecastOf({ ...terms, totals: totalsOf(90, 60, 50, 40) })).toEqual({ kind: 'idle' })
    expect(forecastOf({ ...terms, totals: [] })).toEqual({ kind: 'idle' })
    expect(forecastOf({ ...terms, spent: 10, totals: totalsOf(5) })).toEqual({ kind: 'spent' })
  })
})

test('What was spent since a time includes the charge at that time', () => {
  expect(spentSince(totalsOf(30, 10, 5), daysAgo(10))).toBe(2)
  expect(spentSince(totalsOf(30, 10, 5), daysAgo(10) + 1)).toBe(1)
  expect(spentSince([], NOW_MS)).toBe(0)
})

test('The spending of analysts includes shared releases and leaves out what is not a charge', () => {
  const entry = (
    sequence: number,
    kind: 'charged' | 'shared' | 'denied' | 'allotted',
    principal: string,
    epsilon: number,
  ) => ({
    sequence,
    kind,
    principal,
    at: new Date(daysAgo(10 - sequence)).toISOString(),
    amount: { epsilon, delta: 0 },
  })
  const totals = totalsByAnalyst([
    entry(5, 'denied', 'ada', 9),
    entry(4, 'shared', 'bob', 0.5),
    entry(3, 'charged', 'ada', 0.1),
    entry(2, 'allotted', 'custodian', 9),
    entry(1, 'charged', 'ada', 0.2),
  ])
  expect(totals.map(({ analyst, totals: own }) => [analyst, own.map(({ spent }) => spent)])).toEqual([
    ['bob', [0.5]],
    ['ada', [0.2, 0.3]],
  ])
})

test('The end of a budget is a date, unless it is far away', () => {
  expect(describeEnd(Date.UTC(2027, 0, 31), NOW_MS)).toBe('around 31 Jan 2027')
  expect(describeEnd(NOW_MS + 60 * 366 * DAY_MS, NOW_MS)).toBe('in more than 50 years')
})

import { describe, expect, test } from 'vitest'
import {
  heightAt,
  labelledTicks,
  positionOf,
  type Scale,
  shortValueAt,
  ticksOf,
  valueAfterKey,
  valueAt,
} from '../../console/src/components/charts/scale.ts'
import { timeAxis } from '../../console/src/components/charts/time-axis.ts'

const linear: Scale = { kind: 'linear', lower: 0, upper: 5 }
const log: Scale = { kind: 'log', lower: 0.01, upper: 100 }

describe('A scale', () => {
  test('maps positions to values and back', () => {
    expect(positionOf(linear, 2.5)).toBe(0.5)
    expect(positionOf(log, 1)).toBeCloseTo(0.5, 12)
    expect(positionOf(log, 0)).toBeLessThan(0)
    for (const scale of [linear, log])
      for (const position of [0, 0.1, 0.37, 1])
        expect(positionOf(scale, valueAt(scale, position))).toBeCloseTo(position, 12)
  })

  test('never leaves its range', () => {
    expect(valueAt(linear, -1)).toBe(0)
    expect(valueAt(log, 2)).toBe(100)
    expect(shortValueAt(linear, 7)).toBe(5)
  })

  test('rounds chosen values to short decimals', () => {
    expect(shortValueAt(linear, 1 / 3)).toBe(1.67)
    expect(shortValueAt(log, 0.3)).toBe(0.158)
    expect(shortValueAt({ kind: 'linear', lower: 0, upper: 0.3 }, 0.123456)).toBe(0.037)
  })

  test('moves by a hundredth with arrows, by a tenth with pages, and to the ends', () => {
    expect(valueAfterKey(linear, 2.5, 'ArrowRight')).toBe(2.55)
    expect(valueAfterKey(linear, 2.5, 'ArrowDown')).toBe(2.45)
    expect(valueAfterKey(linear, 2.5, 'PageUp')).toBe(3)
    expect(valueAfterKey(linear, 4.99, 'PageUp')).toBe(5)
    expect(valueAfterKey(log, 1, 'PageDown')).toBe(0.398)
    expect(valueAfterKey(log, 1, 'Home')).toBe(0.01)
    expect(valueAfterKey(log, 1, 'End')).toBe(100)
    expect(valueAfterKey(log, 1, 'a')).toBeUndefined()
  })

  test('chooses whole numbers only where asked to', () => {
    const counts: Scale = { kind: 'linear', lower: 1, upper: 20 }
    expect(shortValueAt(counts, 0.29, 1)).toBe(7)
    expect(valueAfterKey(counts, 7, 'ArrowRight', 1)).toBe(8)
    expect(valueAfterKey(counts, 7, 'PageUp', 1)).toBe(9)
    expect(valueAfterKey(counts, 1, 'ArrowLeft', 1)).toBe(1)
    expect(valueAfterKey({ ...counts, upper: 1001 }, 1, 'ArrowRight', 1)).toBe(11)
    expect(valueAfterKey(counts, 7, 'End', 1)).toBe(20)
    expect(valueAfterKey({ kind: 'log', lower: 2, upper: 1000 }, 2, 'ArrowRight', 1)).toBe(3)
    expect(valueAfterKey({ kind: 'log', lower: 2, upper: 1000 }, 3, 'ArrowLeft', 1)).toBe(2)
  })

  test('an arrow always changes the value before the end', () => {
    const narrow: Scale = { kind: 'log', lower: 1, upper: 1.01 }
    for (const scale of [linear, log, narrow]) {
      let value = scale.lower
      for (let presses = 0; value < scale.upper; presses += 1) {
        const next = valueAfterKey(scale, value, 'ArrowRight') ?? Number.NaN
        expect(next).toBeGreaterThan(value)
        expect(presses).toBeLessThan(200)
        value = next
      }
    }
  })

  test('has round ticks', () => {
    expect(ticksOf(linear, 5)).toEqual([0, 1, 2, 3, 4, 5])
    expect(ticksOf({ kind: 'linear', lower: 0, upper: 1 }, 5)).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1])
    expect(ticksOf({ kind: 'linear', lower: -3.2, upper: 11 }, 4)).toEqual([0, 5, 10])
    expect(ticksOf(log, 5)).toEqual([0.01, 0.1, 1, 10, 100])
    expect(ticksOf({ kind: 'log', lower: 0.1, upper: 10 }, 8)).toEqual([0.1, 0.2, 0.5, 1, 2, 5, 10])
    expect(ticksOf({ kind: 'log', lower: 1e-6, upper: 1e6 }, 4)).toEqual([1e-6, 1e-2, 1e2, 1e6])
    expect(ticksOf({ kind: 'linear', lower: 2, upper: 2 }, 4)).toEqual([2])
  })
})

test('the height of a line is interpolated, and unknown outside of it', () => {
  const points = [
    { x: 1, y: 10 },
    { x: 2, y: 20 },
    { x: 4, y: 0 },
  ]
  expect(heightAt(points, 1)).toBe(10)
  expect(heightAt(points, 1.5)).toBe(15)
  expect(heightAt(points, 3)).toBe(10)
  expect(heightAt(points, 4)).toBe(0)
  expect(heightAt(points, 0.5)).toBeUndefined()
  expect(heightAt(points, 5)).toBeUndefined()
})

test('an axis has no text twice in a row', () => {
  const scale: Scale = { kind: 'linear', lower: 0, upper: 1 }
  const texts = labelledTicks({ scale, format: (value) => value.toFixed(0) }, 5).map(([, text]) => text)
  expect(texts).toEqual(['0', '1'])
})

describe('A time axis', () => {
  const textsBetween = (from: string, to: string, count = 16) =>
    timeAxis(Date.parse(from), Date.parse(to))
      .ticks(count)
      .map(([, text]) => text)

  test('has ticks at whole years, months, days, hours or seconds', () => {
    expect(textsBetween('2019-06-01', '2024-06-01', 8)).toEqual(['2020', '2021', '2022', '2023', '2024'])
    expect(textsBetween('2026-01-15', '2026-11-15', 8).slice(0, 2)).toEqual(['Apr 2026', 'Jul 2026'])
    expect(textsBetween('2026-01-01', '2026-01-11').slice(0, 2)).toEqual(['1 Jan', '2 Jan'])
    expect(textsBetween('2026-01-01', '2026-01-01T06:00Z', 9)).toEqual(
      ['00', '01', '02', '03', '04', '05', '06'].map((hour) => `${hour}:00`),
    )
    expect(textsBetween('2026-01-01', '2026-01-01', 8)).toContain('00:00:15')
  })

  test('never has the same text twice', () => {
    const spans = [1e4, 1e5, 2e6, 8e6, 3e7, 9e7, 2e8, 4e8, 2e9, 9e9, 2.7e10, 9e10, 3e11, 2e12]
    for (const count of [2, 4, 8, 16])
      for (const spanMs of spans) {
        const texts = textsBetween(
          '2026-01-31T13:07:00Z',
          new Date(Date.UTC(2026, 0, 31, 13, 7) + spanMs).toISOString(),
          count,
        )
        expect(new Set(texts).size, `${spanMs} ms`).toBe(texts.length)
        expect(texts.length).toBeLessThanOrEqual(count)
      }
  })
})

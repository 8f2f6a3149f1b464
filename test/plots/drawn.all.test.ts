import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { drawPlot } from '../../src/plots/draw.ts'
import { flawsOf } from './flaws.ts'
import { samples } from './samples.ts'

const warnings = vi.spyOn(console, 'warn')

beforeEach(() => void warnings.mockClear())
afterEach(() => expect(warnings).not.toHaveBeenCalled())

describe.each(Object.entries(samples))('%s', (_, plot) => {
  test.each(['light', 'dark'] as const)('is drawn for %s', async (theme) => {
    const svg = await drawPlot(plot, theme)
    expect(flawsOf(svg, plot, theme)).toEqual([])
    expect(await drawPlot(plot, theme)).toBe(svg)
  })
})

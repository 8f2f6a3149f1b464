import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { drawPanels } from '../../../src/studies/plots/draw.ts'
import { flawsOf } from './flaws.ts'
import { samples } from './samples.ts'

const warnings = vi.spyOn(console, 'warn')

beforeEach(() => void warnings.mockClear())
afterEach(() => expect(warnings).not.toHaveBeenCalled())

describe.each(Object.entries(samples))('%s', (_, plot) => {
  test.each(['light', 'dark'] as const)('is drawn for %s', async (theme) => {
    const svg = await drawPanels([plot], theme)
    expect(flawsOf(svg, plot, theme)).toEqual([])
    expect(await drawPanels([plot], theme)).toBe(svg)
  })
})

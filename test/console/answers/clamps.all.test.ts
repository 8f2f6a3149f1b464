import { describe, expect, test } from 'vitest'
import { testService } from '../../e2e/service.ts'
import { CHROMIUM, expectAccessible, keepScreenshot, openTab } from '../browser.ts'

describe.skipIf(CHROMIUM === undefined)('Clamps in Chromium (skipped if it is not installed)', () => {
  const service = testService({ SOTTO_DEMO: 'true' })

  test('an analyst pays for bounds once, moves a clamp over them by keys and writes the mean with it', async () => {
    const asked = { kind: 'bounds', column: 'Earnings', nextEpsilon: 0.5, epsilon: 0.1 }
    const address = `/datasets/census/ask?${new URLSearchParams({ q: JSON.stringify(asked) })}`
    const { page, complaints } = await openTab(service, 'analyst', address)
    await page.getByRole('button', { name: /^Ask (for|again)/ }).click()
    const chooser = page.getByRole('group', { name: 'Choose a clamp' })
    const errors = chooser.locator('output')
    const recommended = await errors.innerText()
    expect(recommended).toMatch(/Sum: noise ± .* cut off .* together/)

    const upper = chooser.getByLabel('Upper bound')
    const before = await upper.getAttribute('aria-valuetext')
    await upper.focus()
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('ArrowLeft')
    expect(await upper.getAttribute('aria-valuetext')).not.toBe(before)
    expect(await errors.innerText()).not.toBe(recommended)
    // The ends never cross.
    await page.keyboard.press('Home')
    expect(Number(await upper.inputValue())).toBe(1)
    await page.keyboard.press('End')
    await keepScreenshot(page, 'answer-clamps-1440-light')
    await expectAccessible(page)

    await page.keyboard.press('ArrowLeft')
    const chosen = (await upper.getAttribute('aria-valuetext'))?.replaceAll(',', '')
    await chooser.getByRole('link', { name: 'Write the mean with this clamp' }).click()
    await page.getByLabel('Clamp values').waitFor()
    expect(await page.getByLabel('Clamp values').isChecked()).toBe(true)
    expect(await page.getByLabel('Upper bound of the clamp of Earnings').inputValue()).toBe(chosen)
    await expectAccessible(page)
    await page.getByLabel('Clamp values').uncheck()
    await page.getByRole('radio', { name: 'JSON' }).check()
    const json = await page.getByLabel('Question as JSON').inputValue()
    expect(JSON.parse(json)).toEqual({ kind: 'mean', column: 'Earnings', epsilon: 0.5 })
    expect(complaints).toEqual([])
  })
})

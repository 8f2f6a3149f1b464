import { describe, expect, test } from 'vitest'
import { testService } from '../e2e/service.ts'
import { CHROMIUM, expectAccessible, keepScreenshot, openTab } from './browser.ts'

/** Limit for what the first page loads, compressed. */
const LIMIT_BYTES = 300 * 1024

describe.skipIf(CHROMIUM === undefined)('The guide in Chromium (skipped if it is not installed)', () => {
  const service = testService()

  test('the first page is small, links lead to proofs, and a search leads to a section', async () => {
    const { page, complaints } = await openTab(service)
    const loaded: Promise<number>[] = []
    page.on('requestfinished', (request) => {
      expect(request.url().startsWith(service.url) || request.url().startsWith('data:')).toBe(true)
      loaded.push(request.sizes().then(({ responseBodySize }) => responseBodySize))
    })
    await page.goto('/guide', { waitUntil: 'networkidle' })
    const bytes = (await Promise.all(loaded)).reduce((total, size) => total + size, 0)
    console.log(
      `first page of the guide: ${bytes} bytes, largest paint ${await page.evaluate(LARGEST_PAINT)} ms`,
    )
    expect(bytes).toBeLessThan(LIMIT_BYTES)
    await keepScreenshot(page, 'guide-1440-light')
    // The narrowest screen on which the groups are in the header.
    await page.setViewportSize({ width: 768, height: 1024 })
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(768)
    await expectAccessible(page)
    await page.goto('/guide/privacy.html')
    await page.getByRole('main').getByRole('link', { name: 'proofs' }).click()
    await page.waitForURL('**/guide/project/src/core/mechanisms/#proofs')
    await page.getByRole('button', { name: 'Search' }).first().click()
    await page.getByRole('searchbox').fill('budget-insufficient')
    await page.getByRole('option').first().click()
    await page.waitForURL('**/guide/problems.html#budget-insufficient')
    expect(complaints).toEqual([])
  })

  test.each(['', 'budget.html', 'privacy.html', 'walkthrough.html', 'project/src/core/mechanisms/'])(
    'is readable in the dark on a phone: %s',
    async (address) => {
      const { page, complaints } = await openTab(service)
      await page.setViewportSize({ width: 390, height: 844 })
      await page.emulateMedia({ colorScheme: 'dark' })
      await page.goto(`/guide/${address}`, { waitUntil: 'networkidle' })
      expect(await page.evaluate('document.documentElement.classList.contains("dark")')).toBe(true)
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
      await keepScreenshot(page, `guide-390-dark-${address.replaceAll(/\W+/g, '-')}`)
      await expectAccessible(page)
      expect(complaints).toEqual([])
    },
  )
})

const LARGEST_PAINT = `new Promise((resolve) =>
  new PerformanceObserver((list) => resolve(Math.round(list.getEntries().at(-1).startTime)))
    .observe({ type: 'largest-contentful-paint', buffered: true }))`

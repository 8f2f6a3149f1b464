import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { TOURS, type TourStep } from '../../console/src/pages/tours/tours.ts'
import { startTestService, type TestService } from '../e2e/service.ts'
import { CHROMIUM, launchChromium, openTab } from './browser.ts'

/** Does what a step says, and waits for what it says is seen. */
async function walk(page: Page, { look, link, paid = false }: TourStep): Promise<void> {
  const main = page.getByRole('main')
  if (link.href.startsWith('/evaluations')) {
    await page.getByRole('button', { name: 'Evaluate' }).click()
    const runs = Number(new URLSearchParams(link.href.split('?')[1]).get('runs'))
    await main.getByText(`${runs.toLocaleString('en')} run${runs === 1 ? '' : 's'}`).waitFor()
  }
  if (paid) {
    await page.getByRole('button', { name: /^Ask for epsilon/ }).click()
    await main.getByText(/^Cost epsilon/).waitFor()
  }
  // Epsilons with four decimals are on the page to which the step leads.
  if (link.href.startsWith('/risk'))
    for (const [figure] of look.matchAll(/\b\d\.\d{4}\b/g))
      await main.getByText(figure, { exact: true }).first().waitFor()
}

describe.skipIf(CHROMIUM === undefined)('The tours in Chromium (skipped if it is not installed)', () => {
  let service: TestService
  let browser: Browser
  beforeAll(async () => {
    service = await startTestService({ SOTTO_DEMO: 'true' })
    browser = await launchChromium()
  })
  afterAll(async () => {
    await browser.close()
    await service.close()
  })

  test.each(TOURS)('$id leads from its first step to its last, as each step says', async ({ id, steps }) => {
    const { page, context, complaints } = await openTab(browser, {
      url: service.url,
      key: service.keyOf('analyst'),
    })
    await page.goto(`/tours/${id}`)
    await page
      .getByRole('main')
      .getByRole('link', { name: steps[0]?.link.title ?? '' })
      .first()
      .click()
    const bar = page.getByRole('complementary', { name: 'Tour' })
    for (const [place, step] of steps.entries()) {
      await bar.getByText(step.look).waitFor()
      await walk(page, step)
      await bar
        .getByRole('link', { name: place === steps.length - 1 ? 'Finish the tour' : 'Next step' })
        .click()
    }
    await page.getByText('All steps are done.').waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })
})

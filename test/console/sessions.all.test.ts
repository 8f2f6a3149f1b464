import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestService, type TestService } from '../e2e/service.ts'
import { CHROMIUM, expectAccessible, keepScreenshot, launchChromium, openTab } from './browser.ts'

describe.skipIf(CHROMIUM === undefined)('Sessions in Chromium (skipped if it is not installed)', () => {
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

  test('an analyst opens a session, uses its positive, resumes it after a reload and sees that it is over', async () => {
    const { page, context, complaints } = await openTab(browser, {
      url: service.url,
      key: service.keyOf('analyst'),
    })
    await page.goto('/datasets/census/sessions')
    // At epsilon 1, counts that differ from the threshold by thousands are answered correctly.
    await page.getByLabel('Threshold (rows)').fill('5000')
    await page.getByLabel('Positives').fill('1')
    await page.getByLabel('Epsilon').fill('1')
    await page.getByRole('button', { name: 'Open for epsilon 1', exact: true }).click()
    await page.getByText('1 of 1').waitFor()
    await page.getByLabel('Column', { exact: true }).selectOption('Age')
    await page.getByLabel('Operator').selectOption('less than')
    await page.getByRole('button', { name: 'Ask, paid with the session' }).click()
    await page.getByText('Question 1: below the threshold.').waitFor()
    await page.reload()
    await page.getByText('1 of 1').waitFor()
    expect(await page.getByRole('row').count()).toBe(2)
    await page.getByLabel('Column', { exact: true }).selectOption('Age')
    await page.getByRole('button', { name: 'Ask, paid with the session' }).click()
    await page.getByText('The session is over').waitFor()
    await keepScreenshot(page, 'sessions-over-1440-light')
    await expectAccessible(page)
    const { body } = await service.as('analyst').get('/v1/datasets/census/budget').expect(200)
    expect(body.spent.epsilon).toBe(1)
    await page.getByRole('button', { name: 'Leave the session' }).click()
    await page.getByRole('link', { name: 'Continue' }).waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })
})

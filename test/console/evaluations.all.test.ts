import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestService, type TestService } from '../e2e/service.ts'
import { CHROMIUM, expectAccessible, keepScreenshot, launchChromium, openTab } from './browser.ts'

describe.skipIf(CHROMIUM === undefined)('Evaluations in Chromium (skipped if it is not installed)', () => {
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

  async function openEvaluations(parameters = '') {
    const tab = await openTab(browser, { url: service.url, key: service.keyOf('analyst') })
    tab.context.setDefaultTimeout(300_000)
    await tab.page.goto(`/evaluations${parameters}`)
    return tab
  }

  test('the queries of a batch are evaluated together, each with its errors beside theory', async () => {
    const { page, context, complaints } = await openEvaluations()
    await page.getByLabel('Example').selectOption({ label: 'The first 3 as a batch' })
    await page.getByRole('textbox', { name: 'Runs' }).fill('500')
    await page.getByRole('button', { name: 'Evaluate' }).click()
    await page.getByText('Price of the batch').waitFor()
    await page.getByRole('heading', { name: '1. count of rows: errors beside theory' }).waitFor()
    await page.getByRole('heading', { name: '3. rows by Sex and Married: errors beside theory' }).waitFor()
    expect(await page.getByRole('region', { name: 'Errors of each number' }).count()).toBe(3)
    // The address has the batch, so that it can be shared.
    await page.waitForURL(/queries/)
    await keepScreenshot(page, 'evaluation-of-a-batch-1440-light')
    await expectAccessible(page)
    await page.reload()
    expect(await page.getByLabel('Question as JSON').inputValue()).toContain('"queries"')
    expect(complaints).toEqual([])
    await context.close()
  })

  test('a lost connection is told apart from a failure, and the evaluation can be repeated', async () => {
    const { page, context } = await openEvaluations()
    await page.route('**/evaluations', (route) => route.abort('connectionreset'), { times: 1 })
    await page.getByRole('button', { name: 'Evaluate' }).click()
    await page.getByRole('alert').getByText('The service did not answer').waitFor()
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('1 of 1 agree').waitFor()
    // The stream is cut before its end.
    await page.route(
      '**/evaluations',
      (route) =>
        route.fulfill({ contentType: 'application/x-ndjson', body: '{"progress":{"runs":1,"of":1000}}\n' }),
      { times: 1 },
    )
    await page.getByRole('button', { name: 'Evaluate' }).click()
    await page.getByRole('alert').getByText('Something other than the service answered').waitFor()
    await context.close()
  })
})

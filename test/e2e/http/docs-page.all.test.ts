import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CHROMIUM, launchChromium } from '../../console/browser.ts'
import { signInAtProvider, startServiceWithProvider } from '../access/sign-in-provider.ts'
import { startTestService, type TestService } from '../service.ts'

describe.skipIf(CHROMIUM === undefined)('Swagger UI in Chromium (skipped if it is not installed)', () => {
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

  test('sends a request with a key, and violates no content security policy', async () => {
    const page = await newPage(browser)
    const complaints: string[] = []
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text())
    })
    page.on('pageerror', (error) => complaints.push(error.message))
    await page.goto(`${service.url}/docs/`)
    await page.locator('.authorize').first().click()
    await page.locator('.modal-ux input').first().fill(service.keyOf('analyst'))
    await page.locator('.modal-ux .auth-btn-wrapper button.authorize').first().click()
    await page.locator('.modal-ux .auth-btn-wrapper button.btn-done').first().click()
    expect(await statusOfList(page)).toContain('200')
    expect(complaints).toEqual([])
  })

  test('shows the schemas of an operation, also those within themselves', async () => {
    const page = await newPage(browser)
    await page.goto(`${service.url}/docs/`)
    expect(await page.title()).toBe('Sotto API')
    const operation = page.locator('[id^="operations-"][id$="-answerQuery"]')
    await operation.locator('.opblock-summary').click()
    await operation.locator('.responses-wrapper .response').first().waitFor()
    await operation.getByText('Schema', { exact: true }).first().click()
    await operation.getByText('Statistical query, by kind.').first().waitFor()
    expect(await operation.getByText('Could not resolve').count()).toBe(0)
  })

  test('signs in at an OpenID provider, in a popup, and sends requests with the token', async () => {
    const own = await startServiceWithProvider('/docs/static/oauth2-redirect.html')
    try {
      const page = await newPage(browser)
      const complaints: string[] = []
      page.on('console', (message) => {
        if (message.text().includes('Content Security Policy')) complaints.push(message.text())
      })
      await page.goto(`${own.url}/docs/`)
      await page.locator('.authorize').first().click()
      const flow = page.locator('.modal-ux .auth-container', { hasText: 'Flow: authorization_code' }).first()
      await flow.locator('.scopes label').first().click()
      const opened = page.waitForEvent('popup')
      await flow.locator('button.authorize').click()
      const popup = await opened
      await signInAtProvider(popup)
      await flow.getByText('Authorized').waitFor()
      await flow.locator('button.btn-done').click()
      expect(await statusOfList(page)).toContain('200')
      expect(own.logLines.some((line) => line.includes('"principal":"oidc:ada"'))).toBe(true)
      expect(complaints).toEqual([])
    } finally {
      await own.close()
    }
  })
})

/** Opens a page that waits for as long as a busy machine takes. */
async function newPage(browser: Browser): Promise<Page> {
  const context = await browser.newContext()
  context.setDefaultTimeout(300_000)
  return context.newPage()
}

/** Executes the operation that lists the datasets, and returns the status that the page shows. */
async function statusOfList(page: Page): Promise<string> {
  const operation = page.locator('[id^="operations-"][id$="-listDatasets"]')
  await operation.locator('.opblock-summary').click()
  await operation.locator('.try-out__btn').click()
  await operation.locator('.execute').click()
  const status = operation.locator('.live-responses-table .response .response-col_status').first()
  await status.waitFor()
  return status.innerText()
}

import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestService, type TestService } from './service.ts'

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find((file) => existsSync(file))

describe.skipIf(CHROMIUM === undefined)('Swagger UI in Chromium (skipped if it is not installed)', () => {
  let service: TestService
  let browser: Browser
  beforeAll(async () => {
    service = await startTestService({ SOTTO_DEMO: 'true' })
    browser = await chromium.launch({ executablePath: CHROMIUM ?? '', args: ['--no-sandbox'] })
  })
  afterAll(async () => {
    await browser.close()
    await service.close()
  })

  test('sends a request with a key, and violates no content security policy', async () => {
    const page = await browser.newPage()
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
    const operation = page.locator('#operations-Datasets-listDatasets')
    await operation.locator('.opblock-summary').click()
    await operation.locator('.try-out__btn').click()
    await operation.locator('.execute').click()
    const status = operation.locator('.live-responses-table .response .response-col_status').first()
    await status.waitFor()
    expect(await status.innerText()).toContain('200')
    expect(complaints).toEqual([])
  })
})

import { readFile } from 'node:fs/promises'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestService, type TestService } from '../e2e/service.ts'
import { CHROMIUM, expectAccessible, keepScreenshot, launchChromium, openTab, SCREENS } from './browser.ts'

const TABLE = { kind: 'contingency', columns: ['Occupation', 'Sex'], epsilon: 0.5 }
const BATCH = {
  queries: [
    { kind: 'count', epsilon: 0.1 },
    { kind: 'mean', column: 'Age', epsilon: 0.1 },
  ],
}

describe.skipIf(CHROMIUM === undefined)('Answers in Chromium (skipped if it is not installed)', () => {
  let service: TestService
  let browser: Browser
  const ids: Record<string, string> = {}
  beforeAll(async () => {
    service = await startTestService({ SOTTO_DEMO: 'true' })
    browser = await launchChromium()
    const analyst = service.as('analyst')
    ids.table = (await analyst.post('/v1/datasets/census/queries').send(TABLE).expect(200)).body.id
    const regression = { kind: 'linearRegression', outcome: 'Earnings', predictors: ['Age'], epsilon: 0.5 }
    ids.regression = (await analyst.post('/v1/datasets/census/queries').send(regression).expect(200)).body.id
    const median = { kind: 'median', column: 'Age', epsilon: 0.1 }
    ids.median = (await analyst.post('/v1/datasets/census/queries').send(median).expect(200)).body.id
    const counted = { ...TABLE, mechanism: 'laplace', postprocess: { round: true } }
    ids.rounded = (await analyst.post('/v1/datasets/census/queries').send(counted).expect(200)).body.id
    ids.batch = (await analyst.post('/v1/datasets/census/queries/batch').send(BATCH).expect(200)).body.id
  })
  afterAll(async () => {
    await browser.close()
    await service.close()
  })

  const open = async (release: string, role: 'analyst' | 'custodian' | 'auditor' = 'analyst') => {
    const tab = await openTab(browser, { url: service.url, key: service.keyOf(role) })
    tab.context.setDefaultTimeout(120_000)
    await tab.page.goto(`/history/${ids[release]}`)
    return tab
  }
  const chartOf = (page: Page) => page.getByRole('img', { name: /^Chart: / })
  const saved = async (page: Page, button: string) => {
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: button, exact: true }).first().click()
    return readFile(await (await download).path(), 'utf8')
  }

  test('a chart is drawn by the browser, shows values as tooltips, follows the theme, and breaks no policy', async () => {
    const { page, context, complaints } = await open('table')
    const value = chartOf(page).locator('svg .mark-symbol path').first()
    await value.waitFor()
    await value.hover()
    await page.locator('[title*="±"]').waitFor({ state: 'attached' })
    for (const screen of SCREENS)
      for (const theme of ['light', 'dark'] as const) {
        await page.setViewportSize(screen)
        await page.emulateMedia({ colorScheme: theme })
        await chartOf(page).locator('svg .mark-symbol path').first().waitFor()
        await keepScreenshot(page, `answer-chart-${screen.width}-${theme}`)
        await expectAccessible(page)
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(screen.width)
      }
    expect(await saved(page, 'Download SVG')).toMatch(/^<svg /)
    expect(await saved(page, 'Download CSV')).toMatch(/^Occupation,Sex,count,±\r\n/)
    expect(complaints).toEqual([])
    await context.close()
  })

  test('the service draws the picture if the browser cannot', async () => {
    const { page, context } = await openTab(browser, { url: service.url, key: service.keyOf('analyst') })
    await page.route('**/vega-drawing*', (route) => route.abort())
    await page.goto(`/history/${ids.table}`)
    await chartOf(page).and(page.locator('svg')).waitFor()
    await context.close()
  })

  test.each(['analyst', 'custodian', 'auditor'] as const)(
    'post-processed values and their picture stand beside those that were measured, for the %s',
    async (role) => {
      const { page, context, complaints } = await open('rounded', role)
      const round = page.getByLabel('Round to whole numbers')
      const measured = page.getByRole('columnheader', { name: 'count, measured' })
      await measured.waitFor()
      expect(await round.isChecked()).toBe(true)
      await page.getByRole('heading', { name: 'As measured' }).waitFor()
      const drawn = chartOf(page).locator('svg .mark-symbol path')
      await drawn.first().waitFor()
      await chartOf(page).nth(1).waitFor()
      expect(await saved(page, 'Download CSV')).toMatch(
        /^Occupation,Sex,count,±,"count, measured",±\r\n[^,]+,[^,]+,-?\d+,\d+,-?\d+\.\d+,/,
      )
      await page.getByLabel('Replace negative values by 0').check()
      await page
        .getByRole('region', { name: 'Answer' })
        .getByRole('button', { name: 'Download JSON' })
        .waitFor()
      await measured.waitFor()
      if (role === 'analyst')
        for (const screen of SCREENS)
          for (const theme of ['light', 'dark'] as const) {
            await page.setViewportSize(screen)
            await page.emulateMedia({ colorScheme: theme })
            await chartOf(page).nth(1).locator('svg .mark-symbol path').first().waitFor()
            await keepScreenshot(page, `answer-processed-${screen.width}-${theme}`)
            expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(screen.width)
          }
      await expectAccessible(page)
      await page.getByLabel('Replace negative values by 0').uncheck()
      await round.uncheck()
      await measured.waitFor({ state: 'detached' })
      expect(await page.getByRole('heading', { name: 'As measured' }).count()).toBe(0)
      expect(complaints).toEqual([])
      await context.close()
    },
  )

  test('only post-processing that the service accepts is offered', async () => {
    const median = await open('median')
    await chartOf(median.page).first().waitFor()
    expect(await median.page.getByLabel('Round to whole numbers').count()).toBe(0)
    await median.context.close()
    const { page, context } = await open('regression')
    await page.getByLabel('Round to whole numbers').check()
    await page.getByRole('columnheader', { name: 'value, measured' }).waitFor()
    expect(await page.getByLabel('Replace negative values by 0').count()).toBe(0)
    await context.close()
  })

  test('each answer of a batch can be saved, also after post-processing', async () => {
    const { page, context, complaints } = await open('batch')
    await page.getByRole('button', { name: 'Download CSV' }).nth(1).waitFor()
    expect(await page.getByRole('button', { name: 'Download CSV' }).count()).toBe(2)
    expect(await saved(page, 'Download CSV')).toMatch(/^value,±\r\n\d+,30\r\n$/)
    await page.getByLabel('Round to whole numbers').check()
    const answers = page.getByRole('region', { name: 'Answer' })
    await answers.getByRole('button', { name: 'Download JSON' }).waitFor()
    const download = page.waitForEvent('download')
    await answers.getByRole('button', { name: 'Download JSON' }).click()
    const document = JSON.parse(await readFile(await (await download).path(), 'utf8'))
    expect(Number.isInteger(document.answers[1].result.value)).toBe(true)
    expect(complaints).toEqual([])
    await context.close()
  })
})

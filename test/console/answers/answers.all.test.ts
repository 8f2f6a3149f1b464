import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { testService } from '../../e2e/service.ts'
import { CHROMIUM, expectAccessible, keepScreenshot, openTab, SCREENS } from '../browser.ts'

const TABLE = { kind: 'contingency', columns: ['Occupation', 'Sex'], epsilon: 0.5 }
const BATCH = {
  queries: [
    { kind: 'count', epsilon: 0.1 },
    { kind: 'mean', column: 'Age', epsilon: 0.1 },
  ],
}

describe.skipIf(CHROMIUM === undefined)('Answers in Chromium (skipped if it is not installed)', () => {
  const service = testService({ SOTTO_DEMO: 'true' })
  const ids: Record<string, string> = {}
  beforeAll(async () => {
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

  const open = async (release: string, role: 'analyst' | 'custodian' | 'auditor' = 'analyst') => {
    const tab = await openTab(service, role)
    await tab.page.goto(`/history/${ids[release]}`)
    return tab
  }
  const chartOf = (page: Page) => page.getByRole('img', { name: /^Chart: / })
  /** Both themes, and every screen: their rules do not depend on each other. */
  const expectOnScreens = async (page: Page, name: string) => {
    for (const [place, screen] of SCREENS.entries()) {
      await page.setViewportSize(screen)
      await page.emulateMedia({ colorScheme: place === 0 ? 'dark' : 'light' })
      await chartOf(page).last().locator('.mark-symbol path').first().waitFor()
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(screen.width)
      const label = await chartOf(page).last().locator('.role-axis-label text').first().boundingBox()
      expect(label?.height, `text of the picture at ${screen.width}`).toBeGreaterThan(9)
      if (place === 1) continue
      await keepScreenshot(page, `${name}-${screen.width}`)
      await expectAccessible(page)
    }
  }
  const saved = async (page: Page, button: string) => {
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: button, exact: true }).first().click()
    return readFile(await (await download).path(), 'utf8')
  }

  test('a picture of the service shows the values, follows the theme, and breaks no policy', async () => {
    const { page, complaints } = await open('table')
    await chartOf(page).locator('.mark-symbol path').first().waitFor()
    expect(await chartOf(page).getAttribute('aria-label')).toMatch(/^Chart: Noisy count: census\. ./)
    await expectOnScreens(page, 'answer-chart')
    expect(await saved(page, 'Download SVG')).toMatch(/^<svg /)
    expect(await saved(page, 'Download CSV')).toMatch(/^Occupation,Sex,count,±\r\n/)
    expect(complaints).toEqual([])
  })

  test('post-processed values and their picture stand beside those that were measured', async () => {
    const { page, complaints } = await open('rounded')
    const round = page.getByLabel('Round to whole numbers')
    const measured = page.getByRole('columnheader', { name: 'count, measured' })
    await measured.waitFor()
    expect(await round.isChecked()).toBe(true)
    await page.getByRole('heading', { name: 'As measured' }).waitFor()
    const drawn = chartOf(page).locator('.mark-symbol path')
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
    await expectOnScreens(page, 'answer-processed')
    await page.getByLabel('Replace negative values by 0').uncheck()
    await round.uncheck()
    await measured.waitFor({ state: 'detached' })
    expect(await page.getByRole('heading', { name: 'As measured' }).count()).toBe(0)
    expect(complaints).toEqual([])
  })

  test.each(['custodian', 'auditor'] as const)('the %s may post-process answers of others', async (role) => {
    const { page } = await open('rounded', role)
    await page.getByRole('columnheader', { name: 'count, measured' }).waitFor()
    await page.getByLabel('Replace negative values by 0').check()
    await page
      .getByRole('region', { name: 'Answer' })
      .getByRole('button', { name: 'Download JSON' })
      .waitFor()
    await chartOf(page).nth(1).waitFor()
    expect(await page.getByRole('alert').count()).toBe(0)
  })

  test('only post-processing that the service accepts is offered', async () => {
    const median = await open('median')
    await chartOf(median.page).first().waitFor()
    expect(await median.page.getByLabel('Round to whole numbers').count()).toBe(0)
    const { page } = await open('regression')
    await page.getByLabel('Round to whole numbers').check()
    await page.getByRole('columnheader', { name: 'value, measured' }).waitFor()
    expect(await page.getByLabel('Replace negative values by 0').count()).toBe(0)
  })

  test('each answer of a batch can be saved, also after post-processing', async () => {
    const { page, complaints } = await open('batch')
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
  })
})

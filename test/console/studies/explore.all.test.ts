import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { TOURS, type TourStep } from '../../../console/src/pages/tours/tours.ts'
import { testService } from '../../e2e/service.ts'
import { CHROMIUM, expectAccessible, keepScreenshot, openTab } from '../browser.ts'

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

describe.skipIf(CHROMIUM === undefined)(
  'Risk, mechanisms, evaluations and tours in Chromium (skipped if it is not installed)',
  () => {
    const service = testService({ SOTTO_DEMO: 'true' })

    /** Waits until the address contains a parameter. */
    const waitForAddress = (page: Page, part: string) => page.waitForURL((url) => url.search.includes(part))

    test('an epsilon is chosen by mouse and keyboard against one candidate of many', async () => {
      const { page, complaints } = await openTab(service, 'analyst', '/risk?dataset=census&candidates=4')
      // ln(0.75 / 0.75) = 0: with four candidates, a risk of 25% is that of a blind guess.
      const risk = page.getByRole('textbox', { name: 'Accepted risk, in %' })
      await risk.fill('40')
      await page.getByText('0.3465', { exact: true }).waitFor()
      await page.getByText('0.6931 if every question is a single count').waitFor()
      await page.getByText('of its range').first().waitFor()
      await page.getByText('The epsilon keeps the accepted risk.').waitFor()

      const point = page.getByRole('slider', { name: 'Epsilon', exact: true }).and(page.locator('g'))
      const chart = point.first()
      const before = Number(await chart.getAttribute('aria-valuenow'))
      await chart.focus()
      await page.keyboard.press('PageUp')
      await page.getByText('The epsilon exceeds the accepted risk.').waitFor()
      expect(Number(await chart.getAttribute('aria-valuenow'))).toBeGreaterThan(before)

      const box = await chart.boundingBox()
      if (box === null) throw new Error('the chosen point is not shown')
      await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2)
      await page.mouse.down()
      await page.mouse.move(box.x + box.width / 2 - 400, box.y, { steps: 4 })
      await page.mouse.up()
      await page.getByText('The epsilon keeps the accepted risk.').waitFor()
      expect(Number(await chart.getAttribute('aria-valuenow'))).toBeLessThan(before)

      await risk.fill('25')
      await risk.blur()
      await risk.fill('20')
      await page.getByText('No epsilon keeps this risk').waitFor()
      expect(complaints).toEqual([])
    })

    test('an epsilon is chosen for a known group, and the page can be shared and printed', async () => {
      const { page, complaints } = await openTab(service, 'auditor', '/risk')
      await page.getByRole('radio', { name: /All values of a known group/ }).check()
      // The initial risk is that of a blind guess among the four pupils.
      await page.getByText('No epsilon keeps this risk').waitFor()
      const risk = page.getByRole('textbox', { name: 'Accepted risk, in %' })
      await risk.fill('')
      // The text of a number that is typed passes through numbers that are too small.
      await risk.pressSequentially('33.3333')
      await page.getByText('0.4317', { exact: true }).first().waitFor()
      await page.getByText('0.5251', { exact: true }).waitFor()
      await page.getByRole('textbox', { name: 'Epsilon', exact: true }).fill('2')
      await page.getByText('ε = 2', { exact: true }).first().waitFor()
      await page.getByLabel('Noisy answer').fill('2.20131')
      await page.getByText('61.8%').first().waitFor()
      await waitForAddress(page, 'response=2.20131')

      await page.reload()
      await page.getByText('61.8%').first().waitFor()
      await page.getByText('Epsilon 2 exceeds the accepted risk.').waitFor()

      await page.emulateMedia({ media: 'print' })
      expect(await page.getByRole('navigation', { name: 'Console' }).isVisible()).toBe(false)
      expect(await page.getByRole('button', { name: 'Print' }).isVisible()).toBe(false)
      await keepScreenshot(page, 'risk-printed')
      await page.emulateMedia({ media: 'screen' })

      await page.getByLabel('People and their values').fill('a\n1\ntwo')
      await page.getByText('Line 3: “two” is not a number.').first().waitFor()
      expect(complaints).toEqual([])
    })

    test('mechanisms are compared at a number of statistics that is moved by keyboard', async () => {
      const { page, complaints } = await openTab(service, 'auditor', '/mechanisms')
      await page.getByText('Geometric from 1 to 6; Gaussian, analytic calibration from 7 to 20').waitFor()
      await page.getByRole('heading', { name: 'With 7 statistics' }).waitFor()
      await page.getByRole('row', { name: /analytic.*smallest/ }).waitFor()
      await page.getByRole('slider', { name: 'Statistics that one person influences', exact: true }).focus()
      await page.keyboard.press('ArrowLeft')
      await page.getByRole('heading', { name: 'With 6 statistics' }).waitFor()
      await page.getByRole('row', { name: /Geometric.*smallest/ }).waitFor()
      await waitForAddress(page, 'at=6')
      await page.getByLabel('Delta').selectOption('0')
      await page.getByText('Gaussian, classic calibration does not apply').waitFor()
      expect(complaints).toEqual([])
    })

    test('an evaluation shows its progress, can be stopped, and ends with errors beside theory', async () => {
      const { page, complaints } = await openTab(service, 'analyst', '/evaluations')
      await page.getByRole('textbox', { name: 'Runs' }).fill('100000')
      await page.getByLabel('Example').selectOption({ label: 'Number of rows by Sex and Married, each' })
      await page.getByRole('button', { name: 'Evaluate' }).click()
      await page.getByRole('progressbar').waitFor()
      await page.getByRole('button', { name: 'Stop' }).click()
      await page.getByRole('button', { name: 'Evaluate' }).waitFor()
      expect(await page.getByText('Errors beside theory').count()).toBe(0)

      await page.getByRole('textbox', { name: 'Runs' }).fill('2000')
      await page.getByRole('button', { name: 'Evaluate' }).click()
      await page.getByText('10 of 10 agree').waitFor()
      await page.getByRole('row', { name: /M, M/ }).first().waitFor()
      const run = page.getByRole('region', { name: 'Values of one run' })
      await run.getByRole('columnheader', { name: 'Measured' }).waitFor()
      await run.getByRole('columnheader', { name: 'Published' }).waitFor()
      expect(await run.getByRole('row').count()).toBe(11)
      await keepScreenshot(page, 'evaluation-of-a-table')

      await page.getByLabel('Question as JSON').fill('{"kind": "count", "epsilon": -1}')
      await page.getByRole('button', { name: 'Evaluate' }).click()
      await page.getByRole('alert').getByText('epsilon').first().waitFor()
      await page.getByLabel('Question as JSON').fill('{')
      await page.getByText('must be JSON').waitFor()
      expect(await page.getByRole('button', { name: 'Evaluate' }).isDisabled()).toBe(true)
      // The browser itself reports the status of the refused request.
      expect(complaints.filter((text) => !text.includes('400'))).toEqual([])
    })

    test('a tour opens pages with everything filled in, and remembers the steps that are done', async () => {
      const { page, complaints } = await openTab(service, 'analyst', '/tours')
      await page.getByRole('link', { name: 'The largest group' }).click()
      await page.getByText('costs budget').waitFor()
      await page.getByRole('link', { name: 'Open the evaluation' }).first().click()
      await page.getByRole('button', { name: 'Evaluate' }).click()
      await page.getByRole('row', { name: /Statistician 29,904/ }).waitFor()

      const bar = page.getByRole('complementary', { name: 'Tour' })
      await bar.getByText('There are only 45 more statisticians').waitFor()
      await bar.getByRole('link', { name: 'Next step' }).click()
      await bar.getByText('selects the larger group more often').waitFor()
      // The next step is on the same page, with another question.
      expect(await page.getByLabel('Question as JSON').inputValue()).not.toContain('laplace')
      await keepScreenshot(page, 'tour-step')
      await bar.getByRole('link', { name: 'The largest group, step 2 of 4' }).click()
      await page.getByRole('link', { name: 'Tours' }).first().click()
      await page.getByText('2 of 4 steps done').waitFor()
      await page.reload()
      await page.getByText('2 of 4 steps done').waitFor()

      await page.goto('/tours/largest-group')
      for (let left = 2; left > 0; left -= 1)
        await page.getByRole('button', { name: 'Mark as done' }).first().click()
      await page.getByText('All steps are done.').waitFor()
      await page.getByRole('button', { name: 'Mark as not done' }).first().click()
      await page.getByRole('button', { name: 'Mark as done' }).waitFor()
      await page.goto('/risk')
      await bar.getByRole('button', { name: 'Leave the tour' }).click()
      await bar.waitFor({ state: 'detached' })
      await page.goto('/tours/none')
      await page.getByRole('heading', { name: 'There is no such page' }).waitFor()
      expect(complaints).toEqual([])
    })

    test('the queries of a batch are evaluated together, each with its errors beside theory', async () => {
      const { page, complaints } = await openTab(service, 'analyst', '/evaluations')
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
    })

    test('a lost connection is told apart from a failure, and the evaluation can be repeated', async () => {
      const { page } = await openTab(service, 'analyst', '/evaluations')
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
    })

    test.each(TOURS)(
      '$id leads from its first step to its last, as each step says',
      async ({ id, steps }) => {
        const { page, complaints } = await openTab(service, 'analyst', `/tours/${id}`)
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
      },
    )
  },
)

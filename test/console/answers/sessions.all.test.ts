import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { testService } from '../../e2e/service.ts'
import { CHROMIUM, expectAccessible, keepScreenshot, openTab } from '../browser.ts'

const VISITS = {
  id: 'visits',
  title: 'Visits',
  source: { kind: 'visits', people: 200, rows: 1_000, seed: 's' },
  privacyUnit: { kind: 'person', column: 'patient_id', maxRows: 10 },
  neighbours: 'add-remove',
  budget: { epsilon: 20 },
}

describe.skipIf(CHROMIUM === undefined)('Sessions in Chromium (skipped if it is not installed)', () => {
  const service = testService({ SOTTO_DEMO: 'true' })
  beforeAll(async () => {
    await service.register(VISITS).expect(201)
  })

  const spentOf = async (dataset: string) => {
    const { body } = await service.as('analyst').get(`/v1/datasets/${dataset}/budget`).expect(200)
    return body.spent.epsilon
  }

  async function openSessions(dataset: string, parameters = '') {
    const tab = await openTab(service, 'analyst')
    await tab.page.goto(`/datasets/${dataset}/sessions${parameters}`)
    return tab
  }

  async function fillTerms(page: Page, threshold: string, positives: string, epsilon: string) {
    await page.getByLabel(/^Threshold/).fill(threshold)
    await page.getByLabel('Positives').fill(positives)
    await page.getByLabel('Epsilon').fill(epsilon)
  }

  const ask = (page: Page) => page.getByRole('button', { name: 'Ask, paid with the session' }).click()

  test('an analyst opens a session, uses its positive, resumes it after a reload and sees that it is over', async () => {
    const { page, complaints } = await openSessions('census')
    // Nothing is priced before the terms are complete: the number of rows is private, so there is no usual threshold.
    await page.getByText('Complete the terms to see the price.').waitFor()
    expect(await page.getByRole('button', { name: 'Open', exact: true }).isDisabled()).toBe(true)
    // At epsilon 1, counts that differ from the threshold by thousands are answered correctly.
    await fillTerms(page, '5000', '1', '1')
    await page.getByText('Margin for 1 question', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Open for epsilon 1', exact: true }).click()
    await page.getByText('1 of 1', { exact: true }).waitFor()
    await page.getByText('1 of 10 epsilon spent').waitFor()
    await page.getByLabel('Column', { exact: true }).selectOption('Age')
    await page.getByLabel('Operator').selectOption('less than')
    await ask(page)
    await page.getByText('Question 1: below the threshold.').waitFor()
    await page.reload()
    await page.getByText('1 of 1', { exact: true }).waitFor()
    expect(await page.getByRole('row').count()).toBe(2)
    await page.getByLabel('Column', { exact: true }).selectOption('Age')
    await ask(page)
    await page.getByText('The session is over').waitFor()
    // The gap and the count have no digits that the noise makes meaningless.
    expect(await page.getByRole('row').nth(1).innerText()).toMatch(/above\s+[\d,]+(\.\d{1,2})?\s+[\d,]+/)
    await keepScreenshot(page, 'sessions-over-1440-light')
    await expectAccessible(page)
    expect(await spentOf('census')).toBe(1)
    await page.getByRole('link', { name: 'Leave the session' }).click()
    await page.getByRole('link', { name: 'Continue', exact: true }).waitFor()
    expect(complaints).toEqual([])
  })

  test('terms that were paid before lead back to their session, and a further one is opened on request', async () => {
    const before = await spentOf('census')
    const { page, complaints } = await openSessions('census', '?threshold=700&positives=1&epsilon=0.25')
    await page.getByRole('button', { name: 'Open for epsilon 0.25', exact: true }).click()
    await page.getByText('1 of 1', { exact: true }).waitFor()
    const first = page.url()
    await page.getByRole('link', { name: 'Leave the session' }).click()
    await fillTerms(page, '700', '1', '0.25')
    // The terms are in the address.
    await page.waitForURL(/threshold=700/)
    await page.getByRole('button', { name: 'Return to the paid session, free' }).click()
    await page.getByText('Nothing was charged').waitFor()
    expect(page.url()).toBe(first)
    await page.getByRole('link', { name: 'Open a further one with the same terms' }).click()
    expect(await page.getByLabel(/^Open a further session/).isChecked()).toBe(true)
    // The response to the first attempt is lost. The repeat leads to the same session.
    let lost = 0
    await page.route('**/sparse-vector-sessions', async (route) => {
      if (lost > 0) return route.continue()
      lost += 1
      await route.fetch()
      return route.abort('connectionreset')
    })
    await page.getByRole('button', { name: 'Open for epsilon 0.25', exact: true }).click()
    await page.getByText('1 of 1', { exact: true }).waitFor()
    expect(page.url()).not.toBe(first)
    expect(await page.getByText('Nothing was charged').count()).toBe(0)
    expect(lost).toBe(1)
    expect(await spentOf('census')).toBe(before + 0.5)
    // A question whose answer was lost is repeated, and counts once.
    await page.route('**/questions', async (route) => {
      if (lost > 1) return route.continue()
      lost += 1
      await route.fetch()
      return route.abort('connectionreset')
    })
    await ask(page)
    await page.getByText(/^Question 1: (above|below) the threshold\.$/).waitFor()
    expect(lost).toBe(2)
    expect(complaints.filter((text) => !text.includes('ERR_CONNECTION_RESET'))).toEqual([])
  })

  test('people are counted, or their rows limited, where people have several rows', async () => {
    const { page, complaints } = await openSessions('visits')
    await fillTerms(page, '50', '2', '2')
    await page.getByRole('textbox', { name: 'Rows of each person' }).fill('1')
    await page.getByRole('button', { name: 'Open for epsilon 2', exact: true }).click()
    await page.getByText('at most 1', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Leave the session' }).click()
    await page.getByLabel('People', { exact: true }).check()
    await fillTerms(page, '50', '2', '2')
    expect(await page.getByRole('textbox', { name: 'Rows of each person' }).count()).toBe(0)
    await page.getByRole('button', { name: 'Open for epsilon 2', exact: true }).click()
    await page.getByRole('heading', { name: 'At least 50 people?' }).waitFor()
    await ask(page)
    await page.getByText(/^Question 1:/).waitFor()
    await page.getByRole('columnheader', { name: 'People with a row where' }).waitFor()
    await keepScreenshot(page, 'sessions-people-1440-light')
    await expectAccessible(page)
    expect(complaints).toEqual([])
  })

  test('lists of sessions and of answers have pages with addresses', async () => {
    const open = (threshold: number, positives = 1) =>
      service
        .as('analyst')
        .post('/v1/datasets/visits/sparse-vector-sessions')
        .send({ threshold, positives, epsilon: 0.1 })
        .expect(201)
    for (let threshold = 0; threshold < 22; threshold += 1) await open(threshold)
    const { page } = await openSessions('visits')
    await page.getByText('Session: at least 21 rows').waitFor()
    await page.getByRole('link', { name: 'Older' }).click()
    await page.getByText('Session: at least 0 rows').waitFor()
    await page.reload()
    await page.getByText('Session: at least 0 rows').waitFor()
    await page.getByRole('link', { name: 'Newest' }).click()
    await page.getByText('Session: at least 21 rows').waitFor()

    const { body: session } = await open(1_000_000, 100)
    for (let cost = 0; cost < 52; cost += 1)
      await service
        .as('analyst')
        .post(`/v1/sparse-vector-sessions/${session.id}/questions`)
        .send({ where: { column: 'cost', op: '>=', value: cost } })
        .expect(200)
    await page.goto(`/datasets/visits/sessions?session=${session.id}`)
    await page.getByText('cost ≥ 51', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Older' }).click()
    await page.getByText('cost ≥ 0', { exact: true }).waitFor()
  })

  const failures = [
    ['a spent budget', 422, 'budget-insufficient', 'ask the custodian to raise the budget'],
    ['a suspended dataset', 409, 'dataset-suspended', 'A custodian has to look at the dataset'],
    ['a quota', 429, 'quota-exceeded', 'Wait until your other requests have finished'],
  ] as const

  test.each(failures)('opening says what happened and what to do: %s', async (_, status, code, advice) => {
    const { page } = await openSessions('census', '?threshold=900')
    await page.route('**/sparse-vector-sessions', (route) =>
      route.fulfill({
        status,
        contentType: 'application/problem+json',
        body: JSON.stringify({ type: 'about:blank', title: 'Refused', status, code, detail: 'Details.' }),
      }),
    )
    await page.getByRole('button', { name: 'Open for epsilon 0.5', exact: true }).click()
    const alert = page.getByRole('alert')
    await alert.getByText('Refused').waitFor()
    expect(await alert.innerText()).toContain(advice)
  })

  test('a session of another analyst, or none, is refused with a way back', async () => {
    const { page } = await openSessions('census', `?session=${'0'.repeat(32)}`)
    await page.getByRole('alert').getByText('You have no session with this id.').waitFor()
    await page.getByRole('link', { name: 'Leave the session' }).click()
    await page.getByRole('heading', { name: 'Open a session' }).waitFor()
  })

  test('a session that another tab has used up says so, and offers a further one', async () => {
    const terms = { threshold: 0, positives: 1, epsilon: 0.3 }
    const opened = await service
      .as('analyst')
      .post('/v1/datasets/census/sparse-vector-sessions')
      .send(terms)
      .expect(201)
    const { page } = await openSessions('census', `?session=${opened.body.id}`)
    await page.getByRole('button', { name: 'Ask, paid with the session' }).waitFor()
    await service
      .as('analyst')
      .post(`/v1/sparse-vector-sessions/${opened.body.id}/questions`)
      .send({ where: { column: 'Age', op: '>=', value: 20 } })
      .expect(200)
    await ask(page)
    await page.getByText('The session is over').waitFor()
    await page.getByRole('link', { name: 'Open a further one with the same terms' }).waitFor()
  })
})

import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { testService } from '../../e2e/service.ts'
import { CHROMIUM, openTab } from '../browser.ts'

/** Chooses how the question is written. The page has a radio button and, below, the question as code in the same words. */
const writeAs = (page: Page, form: 'Form' | 'SQL' | 'JSON') =>
  page.getByRole('group', { name: 'Write the question as' }).getByText(form, { exact: true }).click()

describe.skipIf(CHROMIUM === undefined)(
  'Asking under difficulties in Chromium (skipped if it is not installed)',
  () => {
    const service = testService({ SOTTO_DEMO: 'true' })

    const spent = async () => {
      const { body } = await service.as('analyst').get('/v1/datasets/census/budget')
      return (body as { spent: { epsilon: number } }).spent.epsilon
    }

    /** Opens the page of a question, and waits for its price. */
    async function openQuestion(question?: object) {
      const tab = await openTab(service, 'analyst')
      const parameters =
        question === undefined ? '' : `?${new URLSearchParams({ q: JSON.stringify(question) })}`
      await tab.page.goto(`/datasets/census/ask${parameters}`)
      await askButton(tab.page).waitFor()
      return tab
    }

    test('form, SQL and JSON are kept in step', async () => {
      const { page } = await openQuestion({ kind: 'mean', column: 'Age', epsilon: 0.1 })
      await writeAs(page, 'SQL')
      await page
        .getByLabel('SELECT statement')
        .fill('SELECT Sex, AVG(Age) FROM census WHERE Age < 30 GROUP BY Sex')
      await page.getByRole('button', { name: 'Translate' }).click()
      await page.getByText('Translated', { exact: true }).waitFor()
      await writeAs(page, 'JSON')
      const json = page.getByLabel('Question as JSON')
      expect(JSON.parse(await json.inputValue())).toMatchObject({
        kind: 'groupBy',
        keys: ['Sex'],
        epsilon: 0.1,
      })
      await json.fill('{"kind": "histogram", "column": "Married", "epsilon": 0.3}')
      await writeAs(page, 'Form')
      expect(await page.getByLabel('Statistic', { exact: true }).inputValue()).toBe('histogram')
      await page.getByRole('button', { name: 'Ask for epsilon 0.3' }).waitFor()
      await writeAs(page, 'SQL')
      expect(await page.getByLabel('SELECT statement').inputValue()).toContain('GROUP BY "Married"')
    })

    test('an accuracy can be asked for instead, and the price follows', async () => {
      const { page } = await openQuestion({ kind: 'count', epsilon: 0.1 })
      await page.getByLabel('how accurate it must be (±)').check()
      await page.getByLabel('Half-width (±)', { exact: true }).last().fill('300')
      await page.getByRole('button', { name: /^Ask for epsilon 0\.0(1|09)/ }).waitFor()
    })

    test('a question that breaks a rule names the field and the rule, and cannot be asked', async () => {
      const { page } = await openQuestion({ kind: 'count', epsilon: 0.1 })
      await writeAs(page, 'JSON')
      await page.getByLabel('Question as JSON').fill('{"kind": "mean", "column": "Wages", "epsilon": 0.1}')
      await page.getByRole('alert').getByText('column', { exact: true }).waitFor()
      expect(await page.getByRole('button', { name: 'Ask', exact: true }).isDisabled()).toBe(true)
    })

    test('an analyst who is stopped reads what happened, and whom to ask', async () => {
      const custodian = service.as('custodian')
      const { body } = await custodian.post('/v1/keys').send({ name: 'stopped', role: 'analyst' }).expect(201)
      await custodian
        .put('/v1/datasets/census/analysts/stopped/allotment')
        .send({ epsilon: 0, reason: 'The study has ended.' })
        .expect(200)
      const { page } = await openTab(service, { key: body.key }, '/datasets/census')
      await page.getByText('A custodian has stopped your questions').waitFor()
      await page.getByText('Ask the custodian of the dataset to raise your allotment').waitFor()
    })

    // What the service, or the network between, may do while a person asks; the button, and what the page says.
    test.each([
      [
        'a spent budget',
        {
          status: 422,
          code: 'budget-insufficient',
          title: 'The budget does not suffice',
          detail: 'Nothing is left.',
        },
        'ask the custodian to raise the budget',
      ],
      [
        'a suspended dataset',
        {
          status: 409,
          code: 'dataset-suspended',
          title: 'The dataset is suspended',
          detail: 'It answers no queries.',
        },
        'tell the custodian',
      ],
      [
        'a quota',
        { status: 429, code: 'quota-exceeded', title: 'Too much', detail: 'The quota is used up.' },
        'Wait until your other requests have finished',
      ],
    ])('a page says what happened and what to do: %s', async (_, problem, advice) => {
      const { page } = await openQuestion({ kind: 'count', epsilon: 0.1 })
      await page.route('**/queries', (route) =>
        route.fulfill({
          status: problem.status,
          contentType: 'application/problem+json',
          body: JSON.stringify({ type: 'about:blank', ...problem }),
        }),
      )
      await askButton(page).click()
      const alert = page.getByRole('alert')
      await alert.getByText(problem.title).waitFor()
      expect(await alert.innerText()).toContain(advice)
    })

    test('a connection that is lost after the charge is repeated, and charged once', async () => {
      const { page } = await openQuestion({ kind: 'sum', column: 'Age', epsilon: 0.15 })
      const before = await spent()
      let lost = 0
      await page.route('**/queries', async (route) => {
        if (lost > 0) return route.continue()
        lost += 1
        await route.fetch()
        return route.abort('connectionreset')
      })
      await askButton(page).click()
      await page.getByText('Free: this question was paid before').waitFor()
      expect(lost).toBe(1)
      expect(await spent()).toBeCloseTo(before + 0.15, 9)
    })

    test('a key that expires in between leads to the sign-in, and back to the question', async () => {
      const { body: made } = await service
        .as('custodian')
        .post('/v1/keys')
        .send({ name: 'brief', role: 'analyst' })
      const { id, key } = made as { readonly id: string; readonly key: string }
      const { page } = await openTab(service, { key })
      await page.goto(
        `/datasets/census/ask?${new URLSearchParams({ q: '{"kind":"count","epsilon":0.125}' })}`,
      )
      await askButton(page).waitFor()
      await service.as('custodian').delete(`/v1/keys/${id}`)
      await askButton(page).click()
      await page.getByText('no longer accepts your key').waitFor()
      await page.getByLabel('API key').fill(service.keyOf('analyst'))
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('button', { name: 'Ask for epsilon 0.125' }).waitFor()
    })

    test('a question is asked with the keyboard alone', async () => {
      const { page } = await openQuestion({ kind: 'count', epsilon: 0.05 })
      for (let presses = 0; presses < 60; presses += 1) {
        await page.keyboard.press('Tab')
        const focused = await page.evaluate('document.activeElement.textContent')
        if (String(focused).startsWith('Ask for')) break
      }
      await page.keyboard.press('Enter')
      await page.getByText('Cost epsilon 0.05').waitFor()
    })
  },
)

function askButton(page: Page) {
  return page.getByRole('button', { name: /^Ask for/ })
}

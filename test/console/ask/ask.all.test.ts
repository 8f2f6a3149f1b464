import { describe, expect, test } from 'vitest'
import { testService } from '../../e2e/service.ts'
import { CHROMIUM, expectAccessible, keepScreenshot, openTab } from '../browser.ts'

describe.skipIf(CHROMIUM === undefined)('Asking in Chromium (skipped if it is not installed)', () => {
  const service = testService({ SOTTO_DEMO: 'true' })

  const spentEpsilon = async () => {
    const { body } = await service.as('analyst').get('/v1/datasets/census/budget').expect(200)
    return body.spent.epsilon as number
  }

  test('an analyst builds a question by clicking, pays it once, repeats it for free and asks a batch', async () => {
    const { page, complaints } = await openTab(service, 'analyst', '/datasets/census/ask')
    await page.getByRole('button', { name: 'Add a condition' }).click()
    await page.getByLabel('Column', { exact: true }).last().selectOption('Age')
    await page.getByLabel('Value of Age').fill('65')
    // The form, the JSON and the SQL state the same question, and so does the address.
    await page.getByRole('radio', { name: 'JSON' }).check()
    const json = await page.getByLabel('Question as JSON').inputValue()
    expect(JSON.parse(json)).toEqual({ kind: 'count', where: { column: 'Age', op: '>=', value: 65 } })
    await page.getByRole('radio', { name: 'SQL' }).check()
    expect(await page.getByLabel('SELECT statement').inputValue()).toBe(
      'SELECT COUNT(*)\nFROM "census"\nWHERE "Age" >= 65',
    )
    await page.waitForURL((address) => address.searchParams.get('q')?.includes('65') === true)
    await page.reload()
    expect(await page.getByLabel('Value of Age').inputValue()).toBe('65')

    // Practice is free and is marked.
    await page.getByLabel('Practise on made-up rows').check()
    await page.getByRole('button', { name: 'Ask the made-up rows, free' }).click()
    await page.getByText('It says nothing about the data').waitFor()
    expect(await spentEpsilon()).toBe(0)
    await page.getByLabel('Practise on made-up rows').uncheck()

    let asked = 0
    page.on('request', (request) => {
      if (request.method() === 'POST' && request.url().endsWith('/queries')) asked += 1
    })
    await page.getByRole('button', { name: 'Ask for epsilon 0.1' }).dblclick()
    await page.getByText('Cost epsilon 0.1.').waitFor()
    expect(asked).toBe(1)
    expect(await spentEpsilon()).toBe(0.1)
    await page.getByRole('button', { name: 'Ask again, free' }).click()
    await page.getByText('Free: this question was paid before').waitFor()
    expect(await spentEpsilon()).toBe(0.1)
    await keepScreenshot(page, 'ask-answer-1440-light')
    await expectAccessible(page)

    // Counts of the people below and above an age share one price.
    await page.getByRole('button', { name: 'Add to a batch' }).click()
    await page.getByLabel('Operator').selectOption('less than')
    await page.getByRole('button', { name: 'Add to a batch' }).click()
    await page.getByText('The batch costs epsilon 0.1; one by one epsilon 0.2.').waitFor()
    await keepScreenshot(page, 'ask-batch-1440-light')
    await expectAccessible(page)
    await page.setViewportSize({ width: 375, height: 812 })
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(375)
    await keepScreenshot(page, 'ask-batch-375-light')
    await page.waitForURL((address) => address.searchParams.get('batch')?.includes('<') === true)
    await page.reload()
    await page.getByRole('button', { name: 'Ask the batch for epsilon 0.1' }).click()
    await page.getByText('Cost epsilon 0.1.').waitFor()
    expect(await spentEpsilon()).toBe(0.2)

    // Tables of the same rows are planned together, unless the analyst says otherwise.
    const price = { epsilon: 0.1 }
    const queries = [
      { kind: 'count', ...price },
      { kind: 'histogram', column: 'Sex', ...price },
    ]
    const batch = new URLSearchParams({ batch: JSON.stringify({ queries }) })
    await page.goto(`${service.url}/datasets/census/ask?${batch}`)
    const together = page.getByRole('radio', { name: /^Together for epsilon 0\.1\d/ })
    await together.waitFor()
    expect(await together.isChecked()).toBe(true)
    await page.getByRole('radio', { name: /^Each by itself for epsilon 0\.2/ }).check()
    await page.getByRole('button', { name: 'Ask the batch for epsilon 0.2' }).waitFor()
    await page.waitForURL((address) => address.searchParams.get('batch')?.includes('separate') === true)
    await expectAccessible(page)
    expect(complaints).toEqual([])
  })

  test('the button asks nothing while it shows the price of another question', async () => {
    const { page } = await openTab(service, 'analyst', '/datasets/census/ask')
    await page.getByRole('button', { name: 'Ask for epsilon 0.1' }).waitFor()
    // Without previews, the price of the changed question stays unknown.
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    await page.route('**/queries/preview', async (route) => {
      await held
      await route.continue()
    })
    const before = await spentEpsilon()
    await page.getByRole('textbox', { name: 'Epsilon' }).fill('2')
    await page.getByRole('button', { name: 'Ask', exact: true }).click({ force: true })
    release()
    await page.getByRole('button', { name: 'Ask for epsilon 2' }).waitFor()
    expect(await spentEpsilon()).toBe(before)
  })

  test('what paid answers say is offered, chosen with the keyboard, and explained with the answer', async () => {
    const ask = (query: object) => service.as('analyst').post('/v1/datasets/census/queries').send(query)
    const parts = await ask({ kind: 'histogram', column: 'Married', epsilon: 0.1 }).expect(200)
    const before = await spentEpsilon()
    const q = JSON.stringify({ kind: 'count', epsilon: 0.5 })
    const { page, complaints } = await openTab(
      service,
      'analyst',
      `/datasets/census/ask?${new URLSearchParams({ q })}`,
    )
    const fresh = page.getByRole('radio', { name: 'Fresh: epsilon 0.5' })
    await fresh.focus()
    await page.keyboard.press('ArrowUp')
    await page.getByRole('radio', { name: /^Top up: epsilon 0\.4/ }).waitFor()
    await page.getByRole('button', { name: /^Ask for epsilon 0\.4/ }).waitFor()
    await page.keyboard.press('ArrowUp')
    await keepScreenshot(page, 'ask-offers-1440-light')
    await expectAccessible(page)
    await page.emulateMedia({ colorScheme: 'dark' })
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Ask, free' }).click()
    await page.getByText('Free: it follows from answers that were paid before.').waitFor()
    await expectAccessible(page)
    expect(await spentEpsilon()).toBe(before)
    const origins = page.getByRole('list', { name: 'Answers that it follows from' })
    const origin = origins.getByRole('link', { name: 'rows by Married' })
    expect(await origin.getAttribute('href')).toBe(`/history/${parts.body.id}`)
    // A question that does not follow is asked afresh.
    await page.getByRole('button', { name: 'Add a condition' }).click()
    await page.getByLabel('Column', { exact: true }).last().selectOption('Age')
    await page.getByLabel('Value of Age').fill('41')
    await page.getByRole('button', { name: 'Ask for epsilon 0.5' }).waitFor()
    await page.waitForURL((address) => address.searchParams.get('q')?.includes('free') === false)
    await page.goto(`${service.url}/history`)
    await page.getByText(/^follows from \d/).waitFor()
    expect(complaints).toEqual([])
  })

  test('a statement is asked once it is translated', async () => {
    const { page } = await openTab(service, 'analyst', '/datasets/census/ask')
    await page.getByRole('button', { name: 'Ask for epsilon 0.1' }).waitFor()
    await page.getByRole('radio', { name: 'SQL' }).check()
    await page.getByLabel('SELECT statement').fill('SELECT AVG("Age") FROM census')
    const ask = page.getByRole('button', { name: /^Ask for/ })
    expect(await ask.getAttribute('aria-disabled')).toBe('true')
    await page.getByRole('button', { name: 'Translate' }).click()
    await page.getByText('Translated').waitFor()
    await page.locator('button:not([aria-disabled])', { hasText: /^Ask for/ }).waitFor()
    await page.getByRole('radio', { name: 'JSON' }).check()
    expect(JSON.parse(await page.getByLabel('Question as JSON').inputValue())).toMatchObject({
      kind: 'mean',
      column: 'Age',
    })
  })
})

import type { Locator, Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { KINDS } from '../../../console/src/api/kinds.ts'
import { testService } from '../../e2e/service.ts'
import { CHROMIUM, expectAccessible, keepScreenshot, openTab } from '../browser.ts'

const VISITS = {
  title: 'Visits of made-up patients',
  neighbours: 'add-remove',
  source: { kind: 'visits', people: 500, rows: 3_000, seed: 'clinic' },
  privacyUnit: { kind: 'person', column: 'patient_id', maxRows: 20 },
  budget: { epsilon: 50, delta: 1e-6 },
}

const NOTES = {
  id: 'notes',
  title: 'Notes',
  neighbours: 'add-remove',
  privacyUnit: { kind: 'row' },
  source: { kind: 'file', path: 'notes.csv', format: 'csv' },
  columns: [
    { name: 'note "in" it\'s words', type: 'string', selectable: true, nullable: true },
    {
      name: 'מחלקה',
      type: 'category',
      categories: Array.from({ length: 200 }, (_, place) => `מחלקה ${place}`),
    },
  ],
  budget: { epsilon: 5, delta: 1e-6 },
  queryLimits: { minEpsilon: 0.01, maxEpsilon: 1, minHalfWidth: 5 },
}
const NOTES_CSV = `"note ""in"" it's words",מחלקה\n${Array.from({ length: 300 }, (_, row) => `text ${row % 3},מחלקה ${row % 200}`).join('\n')}\n`

describe.skipIf(CHROMIUM === undefined)('The form in Chromium (skipped if it is not installed)', () => {
  const service = testService({ SOTTO_DEMO: 'true' }, { files: { 'notes.csv': NOTES_CSV } })
  beforeAll(async () => {
    for (const body of [
      { ...VISITS, id: 'clinic' },
      { ...VISITS, id: 'clinic-rho', accounting: 'zcdp' },
      NOTES,
    ])
      await service.register(body).expect(201)
  })

  /** Opens the page of a question, and waits for its price. */
  async function openQuestion(dataset: string, question?: object) {
    const tab = await openTab(service, 'analyst')
    await tab.page.goto(addressOf(dataset, question))
    await tab.page.getByRole('button', { name: /^Ask/ }).waitFor()
    return tab
  }

  test('bounds on each person are chosen in the form, and follow in JSON and beside the statement', async () => {
    const { page, complaints } = await openQuestion('clinic', {
      kind: 'histogram',
      column: 'diagnosis',
      epsilon: 0.5,
    })
    await page.getByText('20 times as large as with one row of each person').waitFor()
    await page.getByLabel('rows in a few groups').check()
    await page.getByLabel('Groups of each person').fill('4')
    await page.getByLabel('Rows in each group').fill('2')
    await page.getByText('8 times as large as with one row of each person').waitFor()
    expect(await questionIn(page)).toEqual({
      kind: 'histogram',
      column: 'diagnosis',
      contribution: { groups: 4, rowsPerGroup: 2 },
      epsilon: 0.5,
    })
    await writeAs(page, 'SQL')
    expect(await page.getByLabel('Groups of each person').inputValue()).toBe('4')
    await page
      .getByLabel('SELECT statement')
      .fill('SELECT region, COUNT(DISTINCT patient_id) FROM clinic GROUP BY region')
    await page.getByRole('button', { name: 'Translate' }).click()
    await page.getByText('Translated', { exact: true }).waitFor()
    await page.getByLabel('Rows in each group').fill('1')
    // The statement stays as it was typed while the bounds beside it change.
    expect(await page.getByLabel('SELECT statement').inputValue()).toContain('COUNT(DISTINCT patient_id)')
    expect(await questionIn(page)).toEqual({
      kind: 'histogram',
      column: 'region',
      of: 'people',
      contribution: { groups: 4 },
      epsilon: 0.5,
    })
    await writeAs(page, 'Form')
    expect(await page.getByLabel('Count', { exact: true }).inputValue()).toBe('people')
    // A count has no groups, so that their bound is left out; a sum has totals that can be clamped.
    await page.getByLabel('Statistic', { exact: true }).selectOption('Sum')
    await page.getByLabel('fewer rows').check()
    await page.getByLabel('Rows of each person').fill('5')
    await page.getByLabel("Clamp each person's total").check()
    await page.getByLabel('Highest total').fill('2000')
    expect(await questionIn(page)).toEqual({
      kind: 'sum',
      column: 'age',
      contribution: { rows: 5, perPerson: { lower: 0, upper: 2_000 } },
      epsilon: 0.5,
    })
    expect(complaints).toEqual([])
  })

  test('a column is computed where it is needed, with the rule that an expression breaks', async () => {
    const { page, complaints } = await openQuestion('clinic')
    await page.getByText('Compute a column').click()
    const expression = page.getByLabel('Expression', { exact: true })
    await expression.fill('age * cost')
    await page.getByText('The expression must multiply columns with constants only.').waitFor()
    expect(await page.getByRole('button', { name: 'Add the column' }).isDisabled()).toBe(true)
    await expression.fill('month(visited)')
    await page.getByText('integer from 1 to 12').waitFor()
    await page.setViewportSize({ width: 390, height: 800 })
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
    await expression.press('Enter')
    await page.getByText('can be chosen wherever a column can').waitFor()
    await page.getByLabel('Statistic', { exact: true }).selectOption('histogram')
    await page.getByLabel('By', { exact: true }).selectOption('month(visited)')
    const question = await questionIn(page)
    expect(question).toMatchObject({ kind: 'histogram', column: { column: 'month(visited)' } })
    // A link has the expression, which is chosen again.
    const link = await openQuestion('clinic', question as object)
    expect(await link.page.getByLabel('By', { exact: true }).inputValue()).toBe('month(visited)')
    expect(complaints).toEqual([])
  })

  test('nested conditions are built by clicking, from declared categories, bounds and dates', async () => {
    const { page, complaints } = await openQuestion('clinic')
    const rows = page.getByRole('group', { name: 'Of the rows where', exact: true })
    await rows.getByRole('button', { name: 'Add a condition' }).click()
    await rows.getByLabel('Column', { exact: true }).selectOption('age')
    await rows.getByLabel('Operator').selectOption('is between')
    await rows.getByLabel('Lowest value of age').fill('18')
    await rows.getByLabel('Highest value of age').fill('64')
    await rows.getByRole('button', { name: 'Add a group' }).click()
    const group = rows.getByRole('group', { name: 'Group of conditions' })
    await group.getByLabel('Column', { exact: true }).selectOption('region')
    await group.getByLabel('South').check()
    await group.getByRole('button', { name: 'Add another' }).click()
    await group.getByLabel('Column', { exact: true }).last().selectOption('visited')
    await group.getByLabel('Value of visited').fill('2024-03-01')
    await group.getByLabel('How conditions are combined').selectOption('none of these holds')
    expect(await questionIn(page)).toMatchObject({
      where: {
        op: 'and',
        predicates: [
          { column: 'age', op: 'between', lower: 18, upper: 64 },
          {
            op: 'not',
            predicate: {
              op: 'or',
              predicates: [
                { column: 'region', op: 'in', values: ['North', 'South'] },
                { column: 'visited', op: '>=', value: '2024-03-01' },
              ],
            },
          },
        ],
      },
    })
    await writeAs(page, 'Form')
    await page.getByRole('button', { name: 'Ask for epsilon 0.1' }).waitFor()
    await expectAccessible(page)
    for (const [width, height] of [
      [1440, 900],
      [768, 1024],
      [375, 812],
    ] as const) {
      await page.setViewportSize({ width, height })
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width)
      await keepScreenshot(page, `ask-conditions-${width}-light`)
    }
    await group.getByRole('button', { name: 'Remove the group' }).click()
    expect(await questionIn(page)).toMatchObject({ where: { column: 'age', op: 'between' } })
    expect(complaints).toEqual([])
  })

  test('the fields of a kind and of its statistics are chosen in the form', async () => {
    const { page, context, complaints } = await openQuestion('clinic', {
      kind: 'groupBy',
      keys: ['region'],
      statistics: [{ kind: 'count' }],
      epsilon: 0.5,
    })
    await page.getByRole('button', { name: 'Add a statistic' }).click()
    await page.getByRole('button', { name: 'Add a statistic' }).click()
    const kinds = page.getByLabel('Statistic of each group')
    await kinds.first().selectOption('Percentiles')
    await page.getByLabel('Column of the statistic').first().selectOption('age')
    await page.getByLabel('Percentage').fill('75')
    await page.getByLabel('Values', { exact: true }).first().selectOption('sum of each person')
    await page.getByLabel('Column of the statistic').nth(1).selectOption('cost')
    await kinds.last().selectOption('Proportion')
    await page.getByLabel('Name of the proportion').fill('older')
    await keepScreenshot(page, 'ask-statistics')
    expect(await questionIn(page)).toEqual({
      kind: 'groupBy',
      keys: ['region'],
      statistics: [
        { kind: 'percentile', column: 'age', p: 75 },
        { kind: 'mean', column: 'cost', perPerson: 'sum' },
        { kind: 'proportion', of: expect.objectContaining({ op: expect.any(String) }), name: 'older' },
      ],
      epsilon: 0.5,
    })
    await page.getByLabel('Statistic', { exact: true }).selectOption('Linear regression')
    await page.getByLabel('Column to explain').selectOption('cost')
    expect(await questionIn(page)).toMatchObject({ outcome: 'cost', predictors: ['age'] })
    await page.getByLabel('Statistic', { exact: true }).selectOption('Most frequent')
    await page.getByLabel('Also the distance to the next candidate').check()
    await page.getByText('Further options').click()
    await page.getByLabel('Noise', { exact: true }).selectOption('gumbel')
    await page.getByText('Only with the noise laplace.').waitFor()
    const question = await questionIn(page)
    expect(question).toMatchObject({ kind: 'noisyMax', noise: 'gumbel' })
    expect(question).not.toHaveProperty('gap')
    await page.getByRole('button', { name: /^Ask for epsilon/ }).waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })

  test('a budget in rho: the price is found for an accuracy, taken over as an epsilon, and asked', async () => {
    const { page, complaints } = await openQuestion('clinic-rho', {
      kind: 'count',
      of: 'people',
      accuracy: { halfWidth: 15 },
    })
    await page.getByRole('button', { name: /^Ask for rho 0\.0/ }).waitFor()
    await page.getByLabel('what to pay (epsilon)').check()
    // The smallest epsilon with a half-width of 15 at 95% is about ln(20) / 15.
    const epsilon = Number(await page.getByRole('textbox', { name: 'Epsilon' }).inputValue())
    expect(Math.abs(epsilon - Math.log(20) / 15)).toBeLessThan(0.02)
    await page.getByText('± 15', { exact: true }).first().waitFor()
    await page.getByRole('slider', { name: 'epsilon', exact: true }).waitFor()
    const ask = page.getByRole('button', { name: /^Ask for rho/ })
    await enabled(ask)
    await ask.click()
    await page.getByText(/^Cost rho 0\.0/).waitFor()
    expect(complaints).toEqual([])
  })

  test('the curve says why there is none', async () => {
    const { page } = await openQuestion('census', { kind: 'mean', column: 'Age', epsilon: 0.1 })
    const absent = page.getByText('No curve of ± against epsilon.')
    await absent.waitFor()
    await page.getByText('Further options', { exact: true }).click()
    await page.getByLabel('Supposed number of rows').fill('50000')
    await page.getByRole('slider', { name: 'epsilon', exact: true }).waitFor()
    await page.route('**/queries/batch/preview', (route) =>
      route.fulfill({
        status: 422,
        contentType: 'application/problem+json',
        body: JSON.stringify({
          type: 'about:blank',
          title: 'Query does not fit the dataset',
          status: 422,
          code: 'query-does-not-fit',
          detail: 'It does not fit.',
          errors: [{ field: 'queries.0.supposed.rows', rule: 'must be smaller' }],
        }),
      }),
    )
    await page.getByLabel('Supposed number of rows').fill('50001')
    await absent.waitFor()
    await page.getByText('supposed.rows must be smaller.').waitFor()
  })

  test('the limits of a dataset bound the curve', async () => {
    const { page, complaints } = await openQuestion('notes')
    const handle = page.getByRole('slider', { name: 'epsilon', exact: true })
    await handle.waitFor()
    expect([await handle.getAttribute('aria-valuemin'), await handle.getAttribute('aria-valuemax')]).toEqual([
      '0.01',
      '1',
    ])
    // The browser reports the refused preview of the whole curve.
    expect([...new Set(complaints)]).toEqual([
      'Failed to load resource: the server responded with a status of 422 (Unprocessable Entity)',
    ])
  })

  test.each(['mouse', 'keyboard', 'touch'] as const)(
    'a half-width is chosen at its axis by %s',
    async (by) => {
      const { page } = await openQuestion('census', { kind: 'count', epsilon: 0.1 })
      const handle = page.getByRole('slider', { name: '±', exact: true })
      await handle.waitFor()
      await handle.scrollIntoViewIfNeeded()
      const before = Number(await handle.getAttribute('aria-valuenow'))
      if (by === 'keyboard') {
        await handle.focus()
        await page.keyboard.press('ArrowUp')
        await page.keyboard.press('ArrowUp')
      } else if (by === 'mouse') await dragByMouse(page, handle, -30)
      else await dragByTouch(page, handle, -30)
      await page.getByRole('radio', { name: 'how accurate it must be (±)' }).waitFor()
      const chosen = Number(await handle.getAttribute('aria-valuenow'))
      expect(chosen).toBeGreaterThan(before)
      const question = await questionIn(page)
      expect(question).toEqual({ kind: 'count', accuracy: { halfWidth: chosen } })
      // A larger half-width is cheaper.
      await page.getByRole('button', { name: /^Ask for epsilon 0\.0/ }).waitFor()
    },
  )

  test('back and forward lead to the questions of the addresses', async () => {
    const { page, complaints } = await openQuestion('census', {
      kind: 'sum',
      column: 'Age',
      epsilon: 0.2,
    })
    const statistic = page.getByLabel('Statistic', { exact: true })
    await page.getByRole('textbox', { name: 'Epsilon' }).fill('0.4')
    await page.waitForURL((address) => address.searchParams.get('q')?.includes('0.4') === true)
    // A link within the console leads to another question of the same page.
    const link = addressOf('census', { kind: 'histogram', column: 'Sex', epsilon: 0.3 })
    await page.evaluate(`history.pushState(null, '', ${JSON.stringify(link)})`)
    await page.getByRole('button', { name: 'Ask for epsilon 0.3' }).waitFor()
    expect(await statistic.inputValue()).toBe('histogram')
    await page.goBack()
    await page.getByRole('button', { name: 'Ask for epsilon 0.4' }).waitFor()
    expect(await statistic.inputValue()).toBe('sum')
    await page.goForward()
    await page.getByRole('button', { name: 'Ask for epsilon 0.3' }).waitFor()
    // A change that the address does not have yet is kept when a link is followed at once.
    await page.getByLabel('By', { exact: true }).selectOption('Married')
    await page.getByRole('link', { name: 'Overview' }).click()
    await page.getByRole('heading', { name: 'Columns' }).waitFor()
    await page.goBack()
    expect(await page.getByLabel('By', { exact: true }).inputValue()).toBe('Married')
    await page.goto('/datasets/census/ask?q={"kind":')
    await page.getByText('The address contains no question that can be read').waitFor()
    expect(complaints).toEqual([])
  })

  test('a long batch survives a reload, and the way back to it', async () => {
    const { page, complaints } = await openQuestion('census')
    const queries = Array.from({ length: 60 }, (_, place) => ({
      kind: 'count',
      where: {
        op: 'or',
        predicates: [
          { column: 'Age', op: '=', value: place },
          { column: 'Sex', op: '=', value: 'M' },
        ],
      },
      epsilon: 0.01,
    }))
    await writeAs(page, 'JSON')
    await page.getByLabel('Question as JSON').fill(JSON.stringify({ queries }))
    const ask = page.getByRole('button', { name: 'Ask the batch for epsilon 0.6' })
    await ask.waitFor()
    await page.waitForURL((address) => address.searchParams.has('long'))
    await page.reload()
    await ask.waitFor()
    await page.getByRole('link', { name: 'Overview' }).click()
    await page.getByRole('heading', { name: 'Columns' }).waitFor()
    await page.goBack()
    await ask.waitFor()
    expect(complaints).toEqual([])
  })

  test('a half-written text is replaced, and no longer waited for, once the price changes', async () => {
    const { page } = await openQuestion('census')
    await writeAs(page, 'JSON')
    const json = page.getByLabel('Question as JSON')
    await json.fill('{"kind": "cou')
    expect(await page.getByRole('button', { name: /^Ask for/ }).getAttribute('aria-disabled')).toBe('true')
    await page.getByRole('textbox', { name: 'Epsilon' }).fill('0.25')
    await enabled(page.getByRole('button', { name: 'Ask for epsilon 0.25' }))
    expect(JSON.parse(await json.inputValue())).toEqual({ kind: 'count', epsilon: 0.25 })
  })

  test('questions are asked of made-up rows', async () => {
    const { page, complaints } = await openQuestion('clinic')
    await page.getByLabel('Practise on made-up rows').check()
    // The next test asks one of every kind, which the form writes alike for both.
    for (const kind of Object.keys(KINDS).filter(
      (each, place) => place % 4 === 0 && each !== 'keySelection',
    )) {
      await page.getByLabel('Statistic', { exact: true }).selectOption(kind)
      await expectAnswer(page, kind)
    }
    await page.goto(addressOf('notes'))
    await page.getByLabel('Practise on made-up rows').check()
    await page.getByLabel('Statistic', { exact: true }).selectOption('keySelection')
    await expectAnswer(page, 'keySelection')
    expect(complaints.filter((each) => !each.includes('422'))).toEqual([])
  })

  test('every kind of question is paid once, at the price on the button, and repeated for free', async () => {
    const { page, complaints } = await openQuestion('clinic')
    const ask = page.getByRole('button', { name: /^Ask for epsilon/ })
    const asked = Object.keys(KINDS)
      .filter((each) => each !== 'keySelection')
      .map((kind, place) => ({ kind, epsilon: (101 + place) / 1_000 }))
    for (const { kind, epsilon } of asked) {
      await page.getByLabel('Statistic', { exact: true }).selectOption(kind)
      const price = `epsilon ${epsilon}`
      await page.getByRole('textbox', { name: 'Epsilon' }).fill(String(epsilon))
      await enabled(page.getByRole('button', { name: `Ask for ${price}`, exact: true }))
      await page.getByText('guesses right').waitFor()
      await page.getByText(/would be left for you/).waitFor()
      await ask.dblclick()
      await page.getByText(`Cost ${price}.`).waitFor()
      const again = page.getByRole('button', { name: 'Ask again, free' })
      await enabled(again)
      await again.click()
      await page.getByText(`Free: this question was paid before, with ${price}.`).waitFor()
    }
    const { body } = await service.as('analyst').get('/v1/datasets/clinic/budget').expect(200)
    expect(body.spent.epsilon).toBeCloseTo(
      // The first 0.5 has measured what maxRows leaves out.
      asked.reduce((sum, { epsilon }) => sum + epsilon, 0.5),
      9,
    )
    expect(complaints).toEqual([])
  })

  test('a key that expires while a question is typed leads back to the question as it was typed', async () => {
    const made = await service
      .as('custodian')
      .post('/v1/keys')
      .send({ name: 'brief', role: 'analyst' })
      .expect(201)
    const { page } = await openTab(
      service,
      { key: made.body.key },
      addressOf('census', { kind: 'count', epsilon: 0.1 }),
    )
    await page.getByRole('button', { name: 'Ask for epsilon 0.1' }).waitFor()
    await service.as('custodian').delete(`/v1/keys/${made.body.id}`)
    await page.getByRole('textbox', { name: 'Epsilon' }).fill('0.375')
    await page.getByText('no longer accepts your key').waitFor()
    await page.getByLabel('API key').fill(service.keyOf('analyst'))
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('button', { name: 'Ask for epsilon 0.375' }).waitFor()
  })

  test('the question and the answer of one dataset do not appear on the page of another', async () => {
    const { page } = await openQuestion('census', { kind: 'count', epsilon: 0.1 })
    await page.getByLabel('Practise on made-up rows').check()
    await page.getByRole('button', { name: 'Ask the made-up rows, free' }).click()
    await page.getByText('It says nothing about the data').waitFor()
    // The dataset is known, so that nothing is loaded in between.
    for (const dataset of ['clinic', 'census', 'clinic']) {
      await page.evaluate(`history.pushState(null, '', '/datasets/${dataset}/ask')`)
      await page.getByRole('heading', { name: dataset === 'clinic' ? /^Visits/ : /census/ }).waitFor()
    }
    await page.getByRole('button', { name: 'Ask for epsilon 0.1' }).waitFor()
    expect(await page.getByText('It says nothing about the data').count()).toBe(0)
  })

  /** Asks the question of the form, and waits for its answer. */
  async function expectAnswer(page: Page, kind: string) {
    const answered = page.waitForResponse((response) => response.url().includes('/queries?on=dummy'))
    await page.getByRole('button', { name: 'Ask the made-up rows, free' }).click()
    const answer = await answered
    expect([kind, answer.status()]).toEqual([kind, 200])
    expect(await answer.json()).toMatchObject({ kind })
    await page.getByText('Free. On the data it would cost').waitFor()
  }

  test('many categories with names in another script are searched and chosen', async () => {
    const { page } = await openQuestion('notes')
    const rows = page.getByRole('group', { name: 'Of the rows where', exact: true })
    await rows.getByRole('button', { name: 'Add a condition' }).click()
    await rows.getByLabel('Column', { exact: true }).selectOption('מחלקה')
    await rows.getByRole('searchbox').fill('199')
    await rows.getByRole('checkbox', { name: 'מחלקה 199' }).check()
    expect(await questionIn(page)).toMatchObject({
      where: { column: 'מחלקה', op: 'in', values: ['מחלקה 0', 'מחלקה 199'] },
    })
    await writeAs(page, 'Form')
    await page.setViewportSize({ width: 375, height: 812 })
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(375)
    await keepScreenshot(page, 'ask-categories-375-light')
    await expectAccessible(page)
  })

  test('of previews that are answered in another order, the last question counts', async () => {
    const { page } = await openQuestion('census', { kind: 'count', epsilon: 0.1 })
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    await page.route('**/queries/preview', async (route) => {
      if (route.request().postData()?.includes('0.2') === true) await held
      await route.continue().catch(() => undefined)
    })
    const epsilon = page.getByRole('textbox', { name: 'Epsilon' })
    const slow = page.waitForRequest((request) => request.postData()?.includes('"epsilon":0.2') === true)
    await epsilon.fill('0.2')
    await slow
    await epsilon.fill('0.3')
    await page.getByRole('button', { name: 'Ask for epsilon 0.3' }).waitFor()
    release()
    await epsilon.blur()
    await page.getByText('epsilon 0.3', { exact: true }).waitFor()
    expect(await page.getByRole('button', { name: /^Ask for/ }).innerText()).toBe('Ask for epsilon 0.3')
  })
})

function addressOf(dataset: string, question?: object): string {
  const parameters = question === undefined ? '' : `?${new URLSearchParams({ q: JSON.stringify(question) })}`
  return `/datasets/${dataset}/ask${parameters}`
}

const writeAs = (page: Page, form: 'Form' | 'SQL' | 'JSON') =>
  page.getByRole('group', { name: 'Write the question as' }).getByText(form, { exact: true }).click()

/** Returns the question that the page shows as JSON. */
async function questionIn(page: Page): Promise<unknown> {
  await writeAs(page, 'JSON')
  const question: unknown = JSON.parse(await page.getByLabel('Question as JSON').inputValue())
  await writeAs(page, 'Form')
  return question
}

/** Waits until a button can be clicked. */
async function enabled(button: Locator): Promise<void> {
  await button.and(button.page().locator('button:not([aria-disabled])')).waitFor()
}

async function middleOf(handle: Locator) {
  const box = await handle.boundingBox()
  if (box === null) throw new Error('the handle is not drawn')
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 }
}

async function dragByMouse(page: Page, handle: Locator, up: number): Promise<void> {
  const { x, y } = await middleOf(handle)
  await page.mouse.move(x, y)
  await page.mouse.down()
  for (let step = 1; step <= 5; step += 1) await page.mouse.move(x, y + (up * step) / 5)
  await page.mouse.up()
}

async function dragByTouch(page: Page, handle: Locator, up: number): Promise<void> {
  const { x, y } = await middleOf(handle)
  const session = await page.context().newCDPSession(page)
  const dispatch = (type: 'touchStart' | 'touchMove' | 'touchEnd', touchPoints: { x: number; y: number }[]) =>
    session.send('Input.dispatchTouchEvent', { type, touchPoints })
  await dispatch('touchStart', [{ x, y }])
  for (let step = 1; step <= 5; step += 1) await dispatch('touchMove', [{ x, y: y + (up * step) / 5 }])
  await dispatch('touchEnd', [])
}

import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { testService } from '../e2e/service.ts'
import { CHROMIUM, expectAccessible, keepScreenshot, openTab, SCREENS } from './browser.ts'

/** Size of the largest file that a browser test uploads. */
const LARGE_BYTES = 50_000_000

const LONG_NAME = 'how_often_'.repeat(7).slice(0, 63)
const RIGHT_TO_LEFT = 'שם_המשפחה'

const CITIES = Array.from({ length: 1_000 }, (_, place) => `city ${place}`)

/** A dataset with everything that makes a page too wide, too long or wrong. */
const ODD = {
  id: 'odd',
  title: `Odd data with a title that is longer than any line of a phone: ${'long '.repeat(20)}`,
  description: `مرحبا ${'x'.repeat(300)}`,
  privacyUnit: { kind: 'row' },
  neighbours: 'add-remove',
  budget: { epsilon: 3 },
  columns: [
    { name: LONG_NAME, type: 'integer', lower: -9_007_199_254_740_991, upper: 9_007_199_254_740_991 },
    { name: RIGHT_TO_LEFT, type: 'category', categories: CITIES },
    { name: 'born', type: 'date', lower: '0001-01-01', upper: '1066-10-14' },
  ],
}

describe.skipIf(CHROMIUM === undefined)('Odd data in Chromium (skipped if it is not installed)', () => {
  const service = testService({ SOTTO_UPLOAD_MAX_BYTES: String(LARGE_BYTES) })

  async function openPage(role: 'custodian' | 'analyst' | 'auditor', address: string) {
    const tab = await openTab(service, role)
    await tab.page.goto(address)
    return tab
  }

  async function upload(page: Page, name: string, buffer: Buffer) {
    await page.getByLabel('File', { exact: true }).setInputFiles({ name, mimeType: 'text/csv', buffer })
    await page.getByRole('button', { name: 'Continue', exact: true }).click()
  }

  const column = (page: Page, name: string) => page.getByRole('group', { name, exact: true })

  test.each([
    ['an empty file', 'empty.csv', Buffer.alloc(0), 'must not be empty'],
    [
      'a picture',
      'picture.csv',
      Buffer.from('89504e470d0a1a0a0000000d49484452000000ff', 'hex'),
      'Save the data as CSV in UTF-8',
    ],
  ])('a custodian who uploads %s is told what is wrong', async (_, name, bytes, told) => {
    const { page } = await openPage('custodian', '/register')
    await upload(page, name, bytes)
    await page.getByRole('alert').getByText(told).waitFor()
  })

  test('a file with a header only, and one in another encoding, can be declared', async () => {
    const { page } = await openPage('custodian', '/register')
    await upload(page, 'header.csv', Buffer.from('age,member\n'))
    await column(page, 'age').waitFor()
    await page.goto('/register')
    await upload(page, 'latin.csv', Buffer.from('größe;ort\n1,80;Köln\n1,75;Zürich\n', 'latin1'))
    await column(page, 'größe').waitFor()
  })

  test('a large upload shows how much is sent, can be stopped, and is refused above the limit', async () => {
    const { page, context } = await openPage('custodian', '/register')
    const rows = Buffer.from('age\n'.padEnd(2_000_000, '41\n'))
    // The network is so slow that the upload cannot end before it is stopped.
    const network = await context.newCDPSession(page)
    const emulate = (uploadThroughput: number) =>
      network.send('Network.emulateNetworkConditions', {
        offline: false,
        latency: 0,
        downloadThroughput: -1,
        uploadThroughput,
      })
    await emulate(40_000)
    await upload(page, 'slow.csv', rows)
    await page.getByText(/^Uploading slow\.csv: [1-9]\d?%/).waitFor()
    expect(Number(await page.getByRole('progressbar').getAttribute('value'))).toBeGreaterThan(0)
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByRole('progressbar').waitFor({ state: 'detached' })
    expect(await page.getByRole('alert').count()).toBe(0)
    await emulate(-1)
    await page.getByRole('button', { name: 'Continue', exact: true }).click()
    await column(page, 'age').waitFor()

    await page.goto('/register')
    await upload(page, 'large.csv', Buffer.alloc(LARGE_BYTES - 1_000, 'age\n41\n17\n'))
    await page.waitForURL('**/register/columns')
    await page.goto('/register')
    await upload(page, 'too-large.csv', Buffer.alloc(LARGE_BYTES + 1_000, 'age\n41\n17\n'))
    await page.getByRole('alert').getByText('Ask the operator to copy the file').waitFor()
  })

  test('one column, and people with one row, are described and cannot be asked for what they lack', async () => {
    const upload = async (text: string) => {
      const { body } = await service
        .as('custodian')
        .post('/v1/sources')
        .attach('file', Buffer.from(text), 'rows.csv')
        .expect(201)
      return { kind: 'upload', upload: body.id, format: 'csv' }
    }
    const facts = { title: 'Few', neighbours: 'add-remove', budget: { epsilon: 5 } }
    const register = (dataset: object) => service.register({ ...facts, ...dataset }).expect(201)
    await register({
      id: 'people-only',
      source: await upload('who\na\nb\n'),
      columns: [{ name: 'who', type: 'identifier' }],
      privacyUnit: { kind: 'person', column: 'who', maxRows: 2 },
    })
    await register({
      id: 'single',
      source: await upload('who,age\na,41\n'),
      columns: [
        { name: 'who', type: 'identifier' },
        { name: 'age', type: 'integer', lower: 0, upper: 110 },
      ],
      privacyUnit: { kind: 'person', column: 'who', maxRows: 1 },
    })
    const { page, complaints } = await openPage('analyst', '/datasets')
    await page.getByText('1 column · protects the presence of a person with up to 2 rows').waitFor()
    await page.getByText('2 columns · protects the presence of a person with up to 1 row').waitFor()
    await page.goto('/datasets/people-only/sessions?threshold=1')
    await page.getByRole('button', { name: 'Open for epsilon 0.5' }).click()
    await page.getByRole('heading', { name: 'At least 1 row?' }).waitFor()
    await page.getByText('the dataset has no column that a condition can test').waitFor()
    const ask = page.getByRole('button', { name: 'Ask, paid with the session' })
    expect(await ask.isDisabled()).toBe(true)
    await page.goto('/datasets/single/sessions?threshold=1&of=people')
    await page.getByRole('button', { name: 'Open for epsilon 0.5' }).click()
    await ask.click()
    await page.getByText(/^Question 1:/).waitFor()
    expect(complaints).toEqual([])
  })

  test('a dataset of odd columns fits every screen on every page', async () => {
    const rows = Array.from({ length: 40 }, (_, row) => `${row},city ${row},0900-01-${10 + (row % 18)}`)
    const header = [LONG_NAME, RIGHT_TO_LEFT, 'born'].join(',')
    const { page, complaints } = await openPage('custodian', '/register')
    await upload(page, 'odd.csv', Buffer.from(`${header}\n${rows.join('\n')}\n`))
    await column(page, LONG_NAME).waitFor()
    for (const name of [LONG_NAME, RIGHT_TO_LEFT])
      await page.getByRole('button', { name: `Edit ${name}` }).click()
    await page.getByLabel(`Type of ${RIGHT_TO_LEFT}`).selectOption('Category')
    await page.getByLabel(`All values that ${RIGHT_TO_LEFT} can have`).fill(CITIES.join('\n'))
    await page.getByText('1000 entered').waitFor()
    await expectFits(page, 'odd-register')
    const { body } = await service.as('custodian').get('/v1/sources').expect(200)
    const source = { kind: 'upload', upload: body.sources[0].id, format: 'csv' }
    const registered = await service.register({ ...ODD, source })
    expect(registered.body).toMatchObject({ id: 'odd' })
    await page.goto('/datasets/odd')
    await page.getByText('and 980 more').click()
    await page.getByText('city 999').waitFor()
    for (const part of ['', '/spending', '/manage']) {
      await page.goto(`/datasets/odd${part}`)
      await page
        .getByText(/of 3 epsilon spent|Nothing was spent/)
        .first()
        .waitFor()
      await expectFits(page, `odd-dataset${part.replace('/', '-')}`)
    }
    await page.goto('/datasets')
    await page.getByText('of 3 epsilon spent').first().waitFor()
    await expectFits(page, 'odd-datasets')
    expect(complaints).toEqual([])

    const analyst = await openPage('analyst', '/datasets/odd/sessions?threshold=1')
    await analyst.page.getByRole('button', { name: 'Open for epsilon 0.5' }).click()
    await analyst.page.getByRole('button', { name: 'Ask, paid with the session' }).click()
    await analyst.page.getByText(/^Question 1:/).waitFor()
    await expectFits(analyst.page, 'odd-session')
    expect(analyst.complaints).toEqual([])
    const auditor = await openPage('auditor', '/audit/odd')
    await auditor.page.getByText('analyst paid epsilon 0.5').waitFor()
    await expectFits(auditor.page, 'odd-ledger')
  })
})

/** Asserts that a page is as wide as the screen, and accessible. */
async function expectFits(page: Page, name: string): Promise<void> {
  for (const screen of SCREENS) {
    await page.setViewportSize(screen)
    await keepScreenshot(page, `${name}-${screen.width}-light`)
    const width = await page.evaluate('document.documentElement.scrollWidth')
    expect(width, `${name} at ${screen.width}`).toBe(screen.width)
  }
  await expectAccessible(page)
  await page.setViewportSize(SCREENS[0])
}

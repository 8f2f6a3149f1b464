import { generateKeyPairSync } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestService, type TestService } from '../../e2e/service.ts'
import { CHROMIUM, expectAccessible, keepScreenshot, openTab } from '../browser.ts'

/** Number of counts that are asked: more than one page of the history lists. */
const COUNTS = 28

describe.skipIf(CHROMIUM === undefined)('Records in Chromium (skipped if it is not installed)', () => {
  let service: TestService
  /** Stored answers of the counts, as they were sent. */
  const answers: string[] = []
  beforeAll(async () => {
    const { privateKey } = generateKeyPairSync('ed25519')
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    service = await startTestService(
      { SOTTO_DEMO: 'true', SOTTO_LEDGER_SIGNING_KEY: 'signing.key' },
      { files: { 'signing.key': key } },
    )
    const ask = (body: object) => service.ask('census', body).expect(200)
    for (let place = 0; place < COUNTS; place += 1) {
      const where = { column: 'Age', op: '>=', value: 30 + place }
      answers.push((await ask({ kind: 'count', where, epsilon: 0.01 })).text)
    }
    await ask({ kind: 'histogram', column: 'Sex', epsilon: 0.1 })
    await ask({ kind: 'histogram', column: 'Sex', epsilon: 0.2 })
  })
  afterAll(() => service.close())

  test('an analyst selects, downloads, reopens and compares answers', async () => {
    const { page, complaints } = await openTab(service, 'analyst', '/history')
    await page.getByLabel('Kind').selectOption('Count')
    await page.getByText('count of rows where Age ≥ 57').waitFor()
    expect(new URL(page.url()).search).toBe('?kind=count')
    // The older counts are on the second page, which can be shared as well.
    await page.getByRole('link', { name: 'Older' }).click()
    await page.getByText('count of rows where Age ≥ 30').waitFor()
    expect(await page.getByText('count of rows where Age ≥ 57').count()).toBe(0)
    await page.reload()
    await page.getByText('count of rows where Age ≥ 30').waitFor()
    await page.getByRole('link', { name: 'Newest' }).click()
    await page.getByText('count of rows where Age ≥ 57').waitFor()
    // The download contains both pages.
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download CSV' }).click()
    const rows = (await readFile(await (await download).path(), 'utf8')).trim().split(/\r?\n/)
    expect(rows).toHaveLength(COUNTS + 1)

    await page.goto('/history?dataset=census&kind=histogram')
    await page.getByText('Budget over time').waitFor()
    await page.getByRole('img', { name: /^epsilon 0\.58 of 10 spent/ }).waitFor()
    await keepScreenshot(page, 'history-budget-1440-light')
    await expectAccessible(page)
    for (const box of await page.getByRole('checkbox', { name: /^Compare/ }).all()) await box.check()
    await page.getByRole('button', { name: 'Compare two answers' }).click()
    await page.getByText('The second answer minus the first').waitFor()
    await page.getByText('90%').waitFor()
    expect(await page.getByRole('row', { name: /^Sex: F/ }).count()).toBe(1)
    await keepScreenshot(page, 'history-compare-1440-light')
    await expectAccessible(page)

    const { id, question } = JSON.parse(answers[0] ?? '')
    await page.goto(`/history/${id}`)
    await page.getByRole('heading', { level: 1, name: 'count of rows where Age ≥ 30' }).waitFor()
    const again = await page.getByRole('link', { name: 'Ask again' }).getAttribute('href')
    expect(JSON.parse(new URL(again ?? '', service.url).searchParams.get('q') ?? '')).toEqual(question)
    // The file has the bytes whose hash is in the ledger.
    const file = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download JSON' }).click()
    expect(await readFile(await (await file).path(), 'utf8')).toBe(answers[0])
    await keepScreenshot(page, 'history-release-1440-light')
    await expectAccessible(page)
    await page.getByRole('link', { name: 'Compare', exact: true }).click()
    await page.getByRole('link', { name: 'count of rows where Age ≥ 40' }).click()
    await page.getByText('The questions differ').waitFor()
    await page.getByText('The second answer minus the first').waitFor()
    expect(complaints).toEqual([])
  })

  test('an auditor verifies the ledger, and finds a changed, cut or older one', async () => {
    const { page, complaints } = await openTab(service, 'auditor', '/audit')
    await page.getByRole('link', { name: 'census' }).click()
    await page.getByText('analyst paid epsilon 0.2').waitFor()
    // The charge and its answer name the question.
    await page
      .getByText(/^Count of rows where Age ≥ /)
      .nth(1)
      .waitFor()
    await page.getByLabel('Analyst').selectOption('analyst')
    await page.waitForURL('**?analyst=analyst')
    await page.getByText('analyst paid epsilon 0.2').waitFor()
    await page.getByLabel('Analyst').selectOption('All events')
    await page.getByRole('link', { name: 'Older' }).click()
    await page.getByText('opened the budget').waitFor()
    await page.getByRole('link', { name: 'Verification' }).click()
    await verify(page, 'The ledger is sound')
    const events = 1 + 2 * (COUNTS + 2)
    await page.getByText(`${events} events verified in this browser`).waitFor()
    await page.getByText(`${COUNTS + 2} of ${COUNTS + 2} requests compared`).waitFor()
    await page.getByText('The service comes to the same result').waitFor()
    await page.getByText('The signature of the newest event is valid').waitFor()
    await page.getByText('No earlier head to compare with').waitFor()
    await verify(page, 'The ledger is sound')
    await page.getByText('Nothing was removed or rewritten since the last verification').waitFor()

    // Every line is pasted byte by byte, but one answer is changed.
    const pasted = [
      ...answers.slice(0, 2),
      (answers[2] ?? '').replace('"confidence":0.95', '"confidence":0.99'),
    ]
    await page.getByLabel('Answers, receipts or heads').fill(pasted.join('\n'))
    await page.getByRole('button', { name: 'Check', exact: true }).click()
    await page.getByText('2. The ledger confirms it').waitFor()
    await page.getByText('3. The ledger confirms the charge, not the text').waitFor()
    expect(await page.getByText('Its signature is valid').count()).toBe(3)
    await keepScreenshot(page, 'audit-verified-1440-light')
    await expectAccessible(page)

    // A wrong service could send another export. Every change of it is found in the browser.
    const saved = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download the export' }).click()
    const file = await (await saved).path()
    const lines = (await readFile(file, 'utf8')).trimEnd().split('\n')
    const send = (changed: readonly string[]) =>
      page.route('**/ledger/export', (route) => route.fulfill({ body: `${changed.join('\n')}\n` }), {
        times: 1,
      })
    await send(lines.with(4, (lines[4] ?? '').replace('"principal":"analyst"', '"principal":"another"')))
    await verify(page, 'Line 5 does not fit')
    await page.getByText('The ledger is not sound').waitFor()
    await keepScreenshot(page, 'audit-broken-1440-light')
    await expectAccessible(page)
    await send(lines.toSpliced(7, 2))
    await verify(page, 'Line 8 does not fit')
    await send(lines.slice(0, -1))
    await verify(page, 'The export is not that of the service')
    // A file that was exported earlier is verified without the service's export.
    await page.getByText('Verify an export that you have as a file').click()
    await page.getByLabel('Export (JSON Lines)').setInputFiles({
      name: 'census.jsonl',
      mimeType: 'application/x-ndjson',
      buffer: await readFile(file),
    })
    await page.getByText('The ledger is sound').waitFor()

    // The page offers a verifier for another machine.
    const script = page.waitForEvent('download')
    await page.getByRole('link', { name: 'verify_export.py' }).click()
    expect(await readFile(await (await script).path(), 'utf8')).toBe(
      await readFile('examples/verify_export.py', 'utf8'),
    )

    await page.goto('/audit/@administration')
    await page.getByText('sotto registered census').waitFor()
    await page.getByRole('link', { name: 'Verification' }).click()
    await verify(page, 'The ledger is sound')
    await page.getByText('The service comes to the same result').waitFor()
    // Browsers compute no hashes on a page over plain HTTP from another machine.
    await page.addInitScript("Object.defineProperty(crypto, 'subtle', { value: undefined })")
    await page.goto('/audit/census/verification')
    await page.getByText('This page cannot compute hashes').waitFor()
    await page.getByRole('button', { name: 'Download the export' }).waitFor()
    expect(complaints).toEqual([])
  })
})

/** Starts a verification and waits for a finding. */
async function verify(page: Page, finding: string): Promise<void> {
  await page.getByRole('button', { name: 'Verify the ledger' }).click()
  await page.getByText(finding).waitFor()
}

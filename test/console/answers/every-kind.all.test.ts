import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestService, type TestService } from '../../e2e/service.ts'
import { CHROMIUM, expectAccessible, keepScreenshot, openTab } from '../browser.ts'
import { CLINIC_QUESTIONS, CLINICS, CLINICS_CSV } from './clinic-questions.ts'

/** Kinds whose answers have no numbers that could be subtracted. */
const WITHOUT_NUMBERS = ['noisyMax']

/** Returns a question at another price, which has an answer of its own. */
function dearer(question: Readonly<Record<string, unknown>>) {
  const { epsilon, accuracy } = question
  if (typeof epsilon === 'number') return { ...question, epsilon: epsilon + 0.125 }
  const { halfWidth, ...others } = accuracy as { readonly halfWidth: number }
  return { ...question, accuracy: { ...others, halfWidth: halfWidth - 2 } }
}

describe.skipIf(CHROMIUM === undefined)(
  'Answers of every kind in the history, in Chromium (skipped if it is not installed)',
  () => {
    let service: TestService
    /** The two answers to each question. */
    const pairs: { readonly kind: string; readonly one: string; readonly other: string }[] = []
    beforeAll(async () => {
      service = await startTestService({}, { files: { 'visits.csv': CLINICS_CSV } })
      await service.register(CLINICS).expect(201)
      const idOf = async (call: string, question: object): Promise<string> => {
        const sent = service.as('analyst').post(`/v1/datasets/${CLINICS.id}/${call}`).send(question)
        return (await sent.expect(200)).body.id
      }
      for (const question of CLINIC_QUESTIONS)
        pairs.push({
          kind: String(question.kind),
          one: await idOf('queries', question),
          other: await idOf('queries', dearer(question)),
        })
      const queries = CLINIC_QUESTIONS.slice(0, 2)
      pairs.push({
        kind: 'batch',
        one: await idOf('queries/batch', { queries: queries.map(dearer).map(dearer) }),
        other: await idOf('queries/batch', { queries: queries.map(dearer).map(dearer).map(dearer) }),
      })
    })
    afterAll(() => service?.close())

    test.each(['analyst', 'custodian', 'auditor'] as const)(
      'can be listed, opened and compared by the %s',
      async (role) => {
        const { page, complaints } = await openTab(service, role)
        const main = page.getByRole('main')
        const analysts = role === 'analyst' ? 0 : 1
        await page.goto('/history')
        await main.getByText('rows by Region').first().waitFor()
        expect(await main.getByRole('columnheader', { name: 'Analyst' }).count()).toBe(analysts)
        await keepScreenshot(page, `history-every-kind-${role}`)
        // The pages of an answer differ between the roles in their frame alone.
        const opened = role === 'analyst' ? pairs : pairs.slice(0, 1)
        // The console is loaded once, and follows its address.
        const show = (address: string) => page.evaluate(`history.pushState(null, '', '${address}')`)
        for (const { kind, one, other } of opened) {
          await show(`/history/${one}`)
          await main.getByRole('heading', { name: 'Charge' }).waitFor()
          await main
            .getByRole('img', { name: /^Chart: / })
            .first()
            .waitFor()
          expect(await main.getByRole('alert').allTextContents(), kind).toEqual([])
          await show(`/history/compare?one=${one}&other=${other}`)
          if (WITHOUT_NUMBERS.includes(kind))
            await main.getByText('The answers have no number in common that could be subtracted.').waitFor()
          else await main.getByRole('region', { name: 'Differences' }).getByRole('row').nth(1).waitFor()
          // The prices differ, and what is asked does not.
          expect(await main.getByText('The questions differ.').count(), kind).toBe(0)
          expect(await main.getByText(/NaN|undefined|Infinity|\[object/).count(), kind).toBe(0)
        }
        await page.goto(`/history/compare?one=${pairs[0]?.one}`)
        const candidates = main.getByRole('region', { name: 'Answers of the same kind' })
        await candidates.getByRole('row').nth(1).waitFor()
        expect(await candidates.getByRole('columnheader', { name: 'Analyst' }).count()).toBe(analysts)
        expect(complaints).toEqual([])
      },
    )

    test('show the tables of marginals, the curve of cumulative counts, and what bounds and profiles recommend', async () => {
      const { page, complaints } = await openTab(service, 'analyst')
      const main = page.getByRole('main')
      const open = (wanted: string) => page.goto(`/history/${pairs.find(({ kind }) => kind === wanted)?.one}`)

      await open('marginals')
      await main.getByLabel('Table, of 3 tables').selectOption({ index: 2 })
      const heat = main.getByRole('region', { name: 'Heat table: Region by urgent' })
      await heat.getByRole('columnheader', { name: 'true' }).waitFor()
      const download = page.waitForEvent('download')
      await main.getByRole('button', { name: 'Download CSV of this table' }).click()
      expect(await readFile(await (await download).path(), 'utf8')).toMatch(
        /^table,Region,urgent,value,halfWidth\r\nRegion and urgent,north,false,/,
      )
      await expectAccessible(page)

      await open('cumulativeCounts')
      await main.getByRole('img', { name: 'Chart: count from 18 to 120' }).waitFor()
      await keepScreenshot(page, 'cumulative-counts')

      await open('bounds')
      await main.getByText('No clamp can be recommended').waitFor()

      await open('contributionProfile')
      const advice = main.getByRole('region', { name: 'Bounds on the rows of a person' })
      await advice.getByText('recommended').waitFor()
      await expectAccessible(page)
      await main.getByRole('link', { name: 'Write the count with this bound' }).click()
      await page.waitForURL(/contribution.*rows/)
      expect(complaints).toEqual([])
    })
  },
)

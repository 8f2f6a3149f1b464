import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { testService } from '../e2e/service.ts'
import { suspendDemo } from './broken-rows.ts'
import { CHROMIUM, expectAccessible, keepScreenshot, openTab } from './browser.ts'

type Role = 'analyst' | 'custodian' | 'auditor'

/** Pages beside Ask: the role that opens one, the request whose failure it must explain, and what it shows otherwise. */
const PAGES = [
  ['/datasets', 'analyst', '**/v1/datasets', 'A made-up census'],
  ['/datasets/census', 'analyst', '**/v1/datasets/census', 'The custodian declared these facts'],
  ['/datasets/census/manage', 'custodian', '**/census/analysts', 'Without one, an analyst may spend'],
  ['/datasets/census/spending', 'auditor', '**/census/analysts', 'Nothing was spent in this time'],
  ['/datasets/census/sessions', 'analyst', '**/v1/releases?*', 'You have not opened a session yet'],
  ['/keys', 'custodian', '**/v1/keys', 'custodian.1'],
  ['/audit', 'auditor', '**/v1/datasets', 'All administrative acts'],
  ['/audit/census', 'auditor', '**/census/ledger?*', 'opened the budget'],
  ['/evaluations', 'analyst', '**/v1/datasets', 'Question as JSON'],
] as const

describe.skipIf(CHROMIUM === undefined)(
  'Pages beside Ask under difficulties in Chromium (skipped if it is not installed)',
  () => {
    const service = testService({ SOTTO_DEMO: 'true' })

    test.each(PAGES)(
      '%s for the role %s says that the connection is lost, and recovers',
      async (...given) => {
        const [address, role, request, shown] = given
        const { page } = await openTab(service, role)
        await page.route(request, (route) => route.abort('connectionreset'))
        await page.goto(address)
        const alert = page.getByRole('alert').filter({ hasText: 'The service did not answer' }).first()
        await alert.waitFor()
        expect(await alert.innerText()).toContain('Check your connection')
        await expectAccessible(page)
        await keepScreenshot(page, `lost${address.replaceAll('/', '-')}-1440-light`)
        await page.unroute(request)
        await alert.getByRole('button', { name: 'Try again' }).click()
        await page.getByText(shown).first().waitFor()
      },
    )

    test.each([
      ['/keys', 'custodian', '**/v1/keys'],
      ['/audit/census', 'auditor', '**/census/ledger?*'],
    ] as const)('%s for the role %s says that there were too many requests', async (...given) => {
      const [address, role, request] = given
      const { page } = await openTab(service, role)
      await page.route(request, (route) =>
        route.fulfill(problem(429, 'rate-limited', 'Too many requests', 'At most 1 request per minute.')),
      )
      await page.goto(address)
      const alert = page.getByRole('alert').first()
      await alert.getByText('Wait a moment, then try again.').waitFor()
    })

    /** Creates a key that a custodian can delete while it is in use. */
    async function briefKey(name: string, role: Role) {
      const { body } = await service.as('custodian').post('/v1/keys').send({ name, role }).expect(201)
      const { id, key } = body as { readonly id: string; readonly key: string }
      return { key, end: () => service.as('custodian').delete(`/v1/keys/${id}`).expect(204) }
    }

    async function signInAgain(page: Page, role: Role) {
      await page.getByText('no longer accepts your key').waitFor()
      await page.getByLabel('API key').fill(service.keyOf(role))
      await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    }

    test('a key that expires in the wizard leads to the sign-in, and back to what was entered', async () => {
      const brief = await briefKey('brief-wizard', 'custodian')
      const { page } = await openTab(service, brief, '/register')
      await page.getByLabel('Made-up people').check()
      await page.getByRole('button', { name: 'Continue', exact: true }).click()
      await page.getByLabel('Title').fill('Kept while signed out')
      await page.getByRole('link', { name: '4. Budget' }).click()
      await page.getByLabel('By number').check()
      await page.getByRole('textbox', { name: 'Epsilon', exact: true }).fill('1')
      await page.getByRole('link', { name: '5. Check and publish' }).click()
      await brief.end()
      await page.getByRole('button', { name: 'Dry run' }).click()
      await signInAgain(page, 'custodian')
      await page.getByRole('heading', { name: 'Kept while signed out' }).waitFor()
      await page.getByRole('button', { name: 'Dry run' }).click()
      await page.getByText('Nothing was published yet').waitFor()
    })

    test('a key that expires before an upload or in a dialog leads to the sign-in', async () => {
      const upload = await briefKey('brief-upload', 'custodian')
      const wizard = await openTab(service, upload)
      await wizard.page.goto('/register')
      await wizard.page
        .getByLabel('File', { exact: true })
        .setInputFiles({ name: 'a.csv', mimeType: 'text/csv', buffer: Buffer.from('age\n41\n') })
      await upload.end()
      await wizard.page.getByRole('button', { name: 'Continue', exact: true }).click()
      await signInAgain(wizard.page, 'custodian')
      await wizard.page.getByText('Where are the data?').waitFor()

      const dialog = await briefKey('brief-dialog', 'custodian')
      const { page } = await openTab(service, dialog, '/datasets/census/manage')
      await page.getByRole('button', { name: 'Raise the cap' }).click()
      await page.getByRole('dialog').getByLabel('Epsilon').fill('1')
      await page.getByRole('dialog').getByLabel('Reason').fill('A study.')
      await dialog.end()
      await page.getByRole('dialog').getByRole('button', { name: 'Grant' }).click()
      await signInAgain(page, 'custodian')
      await page.getByRole('heading', { name: 'Budget and allotments' }).waitFor()
    })

    test('a person who signs in after another sees nothing of them', async () => {
      const brief = await briefKey('brief-role', 'custodian')
      const { page } = await openTab(service, brief, '/datasets/census')
      // Nothing is under way any more that would notice the end of the key before the click.
      await page.getByText('epsilon spent').waitFor()
      await brief.end()
      await page.getByRole('link', { name: 'Manage', exact: true }).click()
      await signInAgain(page, 'analyst')
      await page.getByRole('link', { name: 'Overview', exact: true }).click()
      await page.getByRole('link', { name: 'Ask', exact: true }).waitFor()
      expect(await page.getByRole('link', { name: 'Keys', exact: true }).count()).toBe(0)
      expect(await page.getByText('brief-role').count()).toBe(0)
    })

    test('a grant whose connection is lost is not advised to be repeated blindly', async () => {
      const { page } = await openTab(service, 'custodian', '/datasets/census/manage')
      const capBefore = await capOfDemo()
      await page.getByRole('button', { name: 'Raise the cap' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Epsilon').fill('1')
      await dialog.getByLabel('Reason').fill('A second study.')
      await page.route('**/grants', async (route) => {
        await route.fetch()
        await route.abort('connectionreset')
      })
      await dialog.getByRole('button', { name: 'Grant' }).click()
      await dialog.getByText('a repeat adds the amount a second time').waitFor()
      expect(await capOfDemo()).toBe(capBefore + 1)
      await dialog.getByRole('button', { name: 'Cancel' }).click()
      await page.getByText(`of ${capBefore + 1} epsilon spent`).waitFor()
    })

    async function capOfDemo(): Promise<number> {
      const { body } = await service.as('custodian').get('/v1/datasets/census/budget').expect(200)
      return body.cap.epsilon
    }

    test('a verification whose connection is lost can be repeated', async () => {
      const { page } = await openTab(service, 'auditor', '/audit/census/verification')
      await page.route('**/ledger/export', (route) => route.abort('connectionreset'))
      await page.getByRole('button', { name: 'Verify the ledger' }).click()
      const alert = page.getByRole('alert').filter({ hasText: 'The service did not answer' })
      await alert.waitFor()
      await page.unroute('**/ledger/export')
      await alert.getByRole('button', { name: 'Try again' }).click()
      await page.getByText('The ledger is sound').waitFor()
    })

    test('a dataset that is suspended in between says so to its custodian and to its analyst', async () => {
      const terms = { threshold: 100, positives: 1, epsilon: 0.1 }
      const session = await service
        .as('analyst')
        .post('/v1/datasets/census/sparse-vector-sessions')
        .send(terms)
        .expect(201)
      const analyst = await openTab(service, 'analyst')
      await analyst.page.goto(`/datasets/census/sessions?session=${session.body.id}`)
      await analyst.page.getByRole('button', { name: 'Ask, paid with the session' }).waitFor()
      const custodian = await openTab(service, 'custodian')
      const address = service.url
      await suspendDemo(service)
      // The service may have another port after its restart.
      const move = (page: Page) =>
        page.route(`${address}/v1/**`, async (route) => {
          const { pathname, search } = new URL(route.request().url())
          await route.fulfill({ response: await route.fetch({ url: service.url + pathname + search }) })
        })
      await move(analyst.page)
      await analyst.page.getByRole('button', { name: 'Ask, paid with the session' }).click()
      const alert = analyst.page.getByRole('alert')
      await alert.getByText('A custodian has to look at the dataset').waitFor()
      await keepScreenshot(analyst.page, 'suspended-session-1440-light')

      await custodian.page.goto(`${service.url}/datasets/census`)
      await custodian.page.getByText('The dataset is suspended').waitFor()
      await expectAccessible(custodian.page)
      await custodian.page.getByRole('link', { name: 'Look at the failures' }).click()
      await custodian.page.getByRole('button', { name: 'Resume', exact: true }).waitFor()
    })
  },
)

function problem(status: number, code: string, title: string, detail: string) {
  return {
    status,
    contentType: 'application/problem+json',
    body: JSON.stringify({ type: 'about:blank', title, status, code, detail }),
  }
}

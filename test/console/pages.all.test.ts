import { describe, expect, test } from 'vitest'
import { signInAtProvider, startServiceWithProvider } from '../e2e/access/sign-in-provider.ts'
import { testService } from '../e2e/service.ts'
import { CHROMIUM, expectAccessible, keepScreenshot, openTab, SCREENS } from './browser.ts'

/** Every page, the role that opens it, and a text that it shows once it is complete. */
const PAGES = [
  ['/datasets', 'analyst', 'A made-up census'],
  ['/datasets/census', 'analyst', 'The custodian declared these facts'],
  ['/datasets/census/ask', 'analyst', 'distance from the true value'],
  ['/datasets/census/sessions?threshold=20000', 'analyst', 'Open for epsilon 0.5'],
  ['/datasets/census/manage', 'custodian', 'Without one, an analyst may spend the whole cap'],
  ['/datasets/census/spending', 'auditor', 'Nothing was spent in this time'],
  ['/keys', 'custodian', 'custodian.1'],
  ['/history', 'analyst', 'No question has been asked yet'],
  ['/risk?dataset=census', 'analyst', 'of its range'],
  ['/risk?adversary=universe&risk=0.333333&response=2.2', 'auditor', 'By the tight bound'],
  ['/register', 'custodian', 'Where are the data?'],
  ['/mechanisms', 'analyst', 'smallest'],
  ['/tours', 'analyst', 'steps done'],
  ['/tours/choose-epsilon', 'custodian', 'Mark as done'],
  ['/history/compare', 'analyst', 'Id of the first answer'],
  ['/audit', 'auditor', 'All administrative acts'],
  ['/audit/census', 'auditor', 'opened the budget'],
  ['/audit/census/verification', 'auditor', 'Verify the ledger first'],
  ['/audit/@administration', 'auditor', 'registered census'],
  ['/evaluations', 'custodian', 'Question as JSON'],
] as const

describe.skipIf(CHROMIUM === undefined)('The console in Chromium (skipped if it is not installed)', () => {
  const service = testService({ SOTTO_DEMO: 'true' })

  test.each(PAGES)(
    '%s is accessible and fits every screen, light and dark, for the role %s',
    async (address, role, text) => {
      const name = `${address.slice(1).replaceAll(/[^a-z0-9]+/gi, '-') || 'home'}-${role}`
      const { page, complaints } = await openTab(service, role, address)
      await page.getByText(text).first().waitFor()
      // Rules about colours depend on the theme, and rules about the layout on the screen: not on both at once.
      for (const screen of SCREENS) {
        await page.setViewportSize(screen)
        const width = await page.evaluate('document.documentElement.scrollWidth')
        expect(width, `width at ${screen.width}`).toBe(screen.width)
      }
      await keepScreenshot(page, `${name}-${SCREENS.at(-1)?.width}-light`)
      await expectAccessible(page)
      await page.emulateMedia({ colorScheme: 'dark' })
      await page.setViewportSize(SCREENS[0])
      await keepScreenshot(page, `${name}-${SCREENS[0].width}-dark`)
      await expectAccessible(page, 'colours')
      expect(complaints).toEqual([])
    },
  )

  test('the first page asks for a key, refuses a wrong one and leads on to the page of the address', async () => {
    const { page, complaints } = await openTab(service, undefined, '/datasets/census')
    await expectAccessible(page)
    await keepScreenshot(page, 'sign-in-1440-light')
    await page.getByLabel('API key').fill('sotto_wrong')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('alert').waitFor()
    // The browser itself reports the status of the refused request.
    expect(complaints.filter((text) => !text.includes('401'))).toEqual([])
    await page.getByLabel('API key').fill(service.keyOf('analyst'))
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { level: 1, name: 'A made-up census' }).waitFor()
    expect(await page.evaluate(() => sessionStorage.length)).toBe(0)
  })

  test('a person signs in at an OpenID provider and returns to the page that they came for', async () => {
    const own = await startServiceWithProvider('/sign-in/callback')
    const { page, complaints } = await openTab(own, undefined, '/datasets/census?tab=1')
    await page.getByRole('button', { name: /Sign in at 127/ }).click()
    await signInAtProvider(page)
    await page.getByText('oidc:ada').waitFor()
    expect(new URL(page.url()).pathname + new URL(page.url()).search).toBe('/datasets/census?tab=1')
    expect(await page.evaluate(() => sessionStorage.length)).toBe(0)
    // The address of another sign-in must not sign this tab in.
    await page.goto('/sign-in/callback?code=stolen&state=of-another-tab')
    await page.getByText('You are not signed in').waitFor()
    expect(complaints).toEqual([])
    await own.close()
  })
})

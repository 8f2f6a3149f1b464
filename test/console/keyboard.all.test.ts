import type { Locator, Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { testService } from '../e2e/service.ts'
import { suspendDemo } from './broken-rows.ts'
import { CHROMIUM, openTab } from './browser.ts'

/** Most presses of the tab key on the way to an element; more than any page has elements. */
const MOST_PRESSES = 150

describe.skipIf(CHROMIUM === undefined)(
  'The keyboard alone in Chromium (skipped if it is not installed)',
  () => {
    const service = testService({ SOTTO_DEMO: 'true' })

    /** Opens a page, and signs in there by keyboard. */
    async function signIn(role: 'analyst' | 'custodian' | 'auditor', address: string) {
      const { page, context, complaints } = await openTab(service, undefined, address)
      await expectFocus(page.getByLabel('API key'))
      await page.keyboard.type(service.keyOf(role))
      await tabTo(page, page.getByLabel('Keep me signed in until this tab is closed'))
      await page.keyboard.press('Space')
      await press(page, page.getByRole('button', { name: 'Sign in', exact: true }))
      return { page, context, complaints }
    }

    test('a custodian creates a key and deletes it', async () => {
      const { page, complaints } = await signIn('custodian', '/keys')
      await press(page, page.getByRole('button', { name: 'Create a key' }))
      const dialog = page.getByRole('dialog')
      await expectFocus(dialog.getByRole('textbox', { name: 'Name' }))
      await page.keyboard.type('walker')
      await tabTo(page, dialog.getByRole('radio', { name: 'Analyst' }))
      await page.keyboard.press('ArrowDown')
      expect(await dialog.getByRole('radio', { name: 'Custodian' }).isChecked()).toBe(true)
      await press(page, dialog.getByRole('button', { name: 'Create the key' }))
      await press(page, dialog.getByRole('button', { name: 'I have stored it' }))
      await press(page, page.getByRole('button', { name: 'Delete walker.1' }))
      await press(page, dialog.getByRole('button', { name: 'Delete the key' }))
      await page.getByRole('button', { name: 'Delete walker.1' }).waitFor({ state: 'detached' })
      // Escape closes a dialog, and the focus returns to where it was.
      const rotate = page.getByRole('button', { name: 'Rotate analyst.1' })
      await press(page, rotate)
      await dialog.waitFor()
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
      await expectFocus(rotate)
      expect(complaints).toEqual([])
    })

    test('a custodian registers a file by the wizard', async () => {
      const { page, complaints } = await signIn('custodian', '/register')
      await tabTo(page, page.getByLabel('File', { exact: true }))
      const choosing = page.waitForEvent('filechooser')
      await page.keyboard.press('Enter')
      const buffer = Buffer.from('age,active\n41,true\n17,false\n')
      await (await choosing).setFiles({ name: 'walk.csv', mimeType: 'text/csv', buffer })
      await press(page, page.getByRole('button', { name: 'Continue', exact: true }))
      const age = page.getByRole('group', { name: 'age', exact: true })
      await press(page, age.getByRole('button', { name: 'Edit age' }))
      await type(page, age.getByLabel('Smallest plausible'), '0')
      await type(page, age.getByLabel('Largest plausible'), '110')
      await press(page, page.getByRole('link', { name: 'Continue: People' }))
      await tabTo(page, page.getByLabel('One row'))
      await page.keyboard.press('Space')
      await press(page, page.getByRole('link', { name: 'Continue: Budget' }))
      await type(page, page.getByRole('textbox', { name: 'Accepted risk, in %' }), '80')
      await page.getByText('Epsilon 0.69').waitFor()
      await press(page, page.getByRole('link', { name: 'Continue: Check and publish' }))
      await press(page, page.getByRole('button', { name: 'Publish' }))
      await page.getByText('The dataset walk can be queried').waitFor()
      expect(complaints).toEqual([])
    })

    test('an auditor verifies the ledger', async () => {
      const { page, complaints } = await signIn('auditor', '/audit')
      await press(page, page.getByRole('link', { name: 'census', exact: true }))
      await press(page, page.getByRole('link', { name: 'Verification' }))
      await press(page, page.getByRole('button', { name: 'Verify the ledger' }))
      await page.getByText('The ledger is sound').waitFor()
      expect(complaints).toEqual([])
    })

    test('an analyst compares two answers', async () => {
      for (const epsilon of [0.1, 0.2])
        await service.ask('census', { kind: 'histogram', column: 'Sex', epsilon }).expect(200)
      const { page, complaints } = await signIn('analyst', '/history')
      const boxes = page.getByRole('checkbox', { name: /^Compare/ })
      await boxes.first().waitFor()
      for (const box of await boxes.all()) {
        await tabTo(page, box)
        await page.keyboard.press('Space')
      }
      await press(page, page.getByRole('button', { name: 'Compare two answers' }))
      await page.getByText('The second answer minus the first').waitFor()
      expect(complaints).toEqual([])
    })

    test('a custodian resumes a suspended dataset', async () => {
      await suspendDemo(service)
      const { page, complaints } = await signIn('custodian', '/datasets/census/manage')
      await press(page, page.getByRole('button', { name: 'Resume', exact: true }))
      const dialog = page.getByRole('dialog')
      await type(page, dialog.getByLabel('Reason'), 'The file is restored.')
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'The dataset is suspended' }).waitFor({ state: 'detached' })
      const { body } = await service.as('custodian').get('/v1/datasets/census/suspension').expect(200)
      expect(body.suspended).toBe(false)
      expect(complaints).toEqual([])
    })
  },
)

function isFocused(target: Locator): Promise<boolean> {
  return target.evaluate((element) => element === element.ownerDocument.activeElement)
}

/** Waits until an element has the focus. */
async function expectFocus(target: Locator): Promise<void> {
  await target.waitFor()
  await expect.poll(() => isFocused(target)).toBe(true)
}

/** Presses the tab key until an element has the focus, which must be visible. */
async function tabTo(page: Page, target: Locator): Promise<void> {
  await target.waitFor()
  // The focus passes over a button that is disabled while the service is asked.
  await expect.poll(() => target.isEnabled()).toBe(true)
  for (let presses = 0; !(await isFocused(target)); presses += 1) {
    if (presses === MOST_PRESSES) throw new Error(`the tab key does not lead to ${target}`)
    await page.keyboard.press('Tab')
  }
  const outline = await target.evaluate('(element) => getComputedStyle(element).outlineStyle')
  expect(outline, `outline of ${target}`).not.toBe('none')
}

/** Presses a button or follows a link. */
async function press(page: Page, target: Locator): Promise<void> {
  await tabTo(page, target)
  await page.keyboard.press('Enter')
}

/** Replaces the text of a field. */
async function type(page: Page, target: Locator, text: string): Promise<void> {
  await tabTo(page, target)
  await page.keyboard.press('ControlOrMeta+A')
  await page.keyboard.type(text)
}

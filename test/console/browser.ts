import { existsSync, mkdirSync } from 'node:fs'
import path from 'node:path'
import { AxeBuilder } from '@axe-core/playwright'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'
import type { Role } from '../../src/http/access/principal.ts'
import type { TestService } from '../e2e/service.ts'

/** Chromium of the system; absent if it is not installed. */
export const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find((file) => existsSync(file))

/** Folder of the screenshots of a run with SOTTO_TEST_SCREENSHOTS, and of the pictures for the documentation. */
export const SCREENSHOTS = path.resolve(import.meta.dirname, '../../test-artifacts/console')

/** Screens on which every page must work: a desk, a tablet and a phone. */
export const SCREENS = [
  { width: 1440, height: 900 },
  { width: 768, height: 1024 },
  { width: 375, height: 812 },
] as const

export function launchChromium(): Promise<Browser> {
  if (CHROMIUM === undefined) throw new Error('Chromium is not installed')
  return chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] })
}

/** Chromium of this process. All files share it, and it ends with the process. */
let shared: Promise<Browser> | undefined

/** A tab of the console, and what its pages complained about. */
export interface ConsoleTab {
  readonly page: Page
  readonly context: BrowserContext
  /** Errors that the browser reports for the console, uncaught errors, and violations of the content security policy. */
  readonly complaints: readonly string[]
}

/** Longest time that a step may take; far above what any takes on a slow machine. */
const STEP_TIMEOUT_MS = 120_000

/**
 * Opens a tab in a context of its own, which is closed after the test.
 * @param as role or key that the tab is signed in with; without it, it is signed out
 */
export async function openTab(
  service: Pick<TestService, 'url' | 'keyOf'>,
  as?: Role | { readonly key: string },
  address?: string,
): Promise<ConsoleTab> {
  shared ??= launchChromium()
  const key = typeof as === 'string' ? service.keyOf(as) : as?.key
  const tab = await openTabIn(await shared, service.url, key)
  onTestFinished(() => tab.context.close())
  tab.context.setDefaultTimeout(STEP_TIMEOUT_MS)
  if (address !== undefined) await tab.page.goto(address)
  return tab
}

/** Opens a tab of a browser in a context of its own. */
export async function openTabIn(browser: Browser, url: string, key: string | undefined): Promise<ConsoleTab> {
  const context = await browser.newContext({ baseURL: url, viewport: SCREENS[0] })
  if (key !== undefined)
    await context.addInitScript((token) => sessionStorage.setItem('sotto.credential', token), key)
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('console', (message) => {
    const isOwn = message.location().url.startsWith(url)
    if (isOwn && (message.type() === 'error' || message.text().includes('Content Security Policy')))
      complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(error.message))
  return { page, context, complaints }
}

/** The rules of axe that depend on the theme. */
const RULES_OF_COLOURS = ['color-contrast', 'link-in-text-block']

/** Asserts that axe finds nothing serious in a page. @param rules `colours` for those that the other theme may break */
export async function expectAccessible(page: Page, rules: 'all' | 'colours' = 'all'): Promise<void> {
  // No page has frames of other origins, which alone need a blank page for the result.
  const axe = new AxeBuilder({ page }).setLegacyMode()
  const { violations } = await (rules === 'all' ? axe : axe.withRules(RULES_OF_COLOURS)).analyze()
  expect(
    violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`),
  ).toEqual([])
}

/** Keeps a screenshot of the whole page as an artefact of the run, if SOTTO_TEST_SCREENSHOTS is set. */
export async function keepScreenshot(page: Page, name: string): Promise<void> {
  if (process.env.SOTTO_TEST_SCREENSHOTS === undefined) return
  mkdirSync(SCREENSHOTS, { recursive: true })
  // The navigation stays in sight, and would be drawn in the middle of a scrolled page.
  await page.evaluate('scrollTo(0, 0)')
  await page.screenshot({ path: path.join(SCREENSHOTS, `${name}.png`), fullPage: true })
}

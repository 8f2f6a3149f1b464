import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import type { Browser, Page } from 'playwright-core'
import type { Role } from '../../src/http/access/principal.ts'
import { startTestService, type TestService } from '../e2e/service.ts'
import { launchChromium, openTabIn } from './browser.ts'

/*
 * Pictures of the console in the documentation: `npm run pictures` takes them from a service with the demo. Their noisy
 * numbers differ each time, so a test compares only their names.
 */

const FOLDER = path.resolve(import.meta.dirname, '../../docs/pictures/console')

/** Questions that were asked before the pictures are taken. */
const EARLIER = [
  { kind: 'histogram', column: 'Occupation', epsilon: 0.2 },
  { kind: 'median', column: 'Age', epsilon: 0.3 },
  { kind: 'proportion', of: { column: 'Married', op: '=', value: 'M' }, epsilon: 0.1 },
  { kind: 'percentile', column: 'Earnings', p: [25, 75], epsilon: 0.4 },
]

/** A page as a person with a role sees it. */
interface Scene {
  readonly role: Role
  readonly address: string
  readonly themes?: readonly ('light' | 'dark')[]
  /** Steps in the opened page up to what the picture shows. */
  readonly show: (page: Page) => Promise<void>
}

const MEANS = {
  kind: 'groupBy',
  keys: ['Occupation'],
  statistics: [{ kind: 'count' }, { kind: 'mean', column: 'Earnings' }],
  epsilon: 0.5,
}
const ELDERLY = {
  kind: 'count',
  where: { column: 'Age', op: '>=', value: 65 },
  epsilon: 0.1,
}
const asking = (question: object) => `/datasets/census/ask?q=${encodeURIComponent(JSON.stringify(question))}`
const see = async (page: Page, text: string | RegExp) => page.getByText(text).first().waitFor()

/** Each scene under the name of its picture, in the order in which they are taken. */
const SCENES: Readonly<Record<string, Scene>> = {
  datasets: {
    role: 'analyst',
    address: '/datasets/census',
    show: (page) => see(page, 'The custodian declared these facts'),
  },
  ask: {
    role: 'analyst',
    address: asking(ELDERLY),
    themes: ['light', 'dark'],
    show: (page) => see(page, 'distance from the true value'),
  },
  answer: {
    role: 'analyst',
    address: asking(MEANS),
    show: async (page) => {
      await page.getByRole('button', { name: /^Ask for epsilon/ }).click()
      const answer = page.getByRole('region', { name: 'Answer' })
      await answer
        .getByLabel(/^Chart/)
        .first()
        .waitFor()
      await answer.evaluate('(element) => element.scrollIntoView()')
    },
  },
  history: { role: 'analyst', address: '/history', show: (page) => see(page, /Occupation/) },
  risk: { role: 'custodian', address: '/risk?dataset=census', show: (page) => see(page, 'of its range') },
  register: {
    role: 'custodian',
    address: '/register',
    show: async (page) => {
      const rows = Array.from(
        { length: 40 },
        (_, row) => `p${row % 20},${20 + row},${row % 2 ? 'north' : 'south'}`,
      )
      await page.getByLabel('File', { exact: true }).setInputFiles({
        name: 'visits.csv',
        mimeType: 'text/csv',
        buffer: Buffer.from(`patient,age,region\n${rows.join('\n')}\n`),
      })
      await page.getByRole('button', { name: 'Continue' }).click()
      await page.getByRole('button', { name: 'Edit age' }).click()
    },
  },
  spending: {
    role: 'custodian',
    address: '/datasets/census/spending',
    show: (page) => see(page, 'There is no forecast yet'),
  },
  audit: {
    role: 'auditor',
    address: '/audit/census/verification',
    show: async (page) => {
      await page.getByRole('button', { name: 'Verify the ledger' }).click()
      await see(page, 'The ledger is sound')
    },
  },
}

/** File names of all pictures. */
export const PICTURE_FILES: readonly string[] = Object.entries(SCENES).flatMap(
  ([name, { themes = ['light'] }]) => themes.map((theme) => `${name}-${theme}.png`),
)

/** Takes all pictures into a folder. */
export async function takePictures(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  const service = await startTestService({ SOTTO_DEMO: 'true' })
  const browser = await launchChromium()
  try {
    for (const question of EARLIER) {
      const asker = question.kind === 'histogram' ? service.asColleague() : service.as('analyst')
      await asker.post('/v1/datasets/census/queries').send(question).expect(200)
    }
    for (const [name, scene] of Object.entries(SCENES))
      await takeScene(name, scene, { service, browser, folder })
  } finally {
    await browser.close()
    await service.close()
  }
}

interface Studio {
  readonly service: TestService
  readonly browser: Browser
  readonly folder: string
}

async function takeScene(
  name: string,
  { role, address, themes = ['light'], show }: Scene,
  { service, browser, folder }: Studio,
): Promise<void> {
  const { page, context } = await openTabIn(browser, service.url, service.keyOf(role))
  await page.setViewportSize({ width: 1280, height: 860 })
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
  await page.goto(address)
  await show(page)
  for (const theme of themes) {
    await page.emulateMedia({ colorScheme: theme })
    await page.screenshot({ path: path.join(folder, `${name}-${theme}.png`) })
  }
  await context.close()
}

if (import.meta.main) await takePictures(FOLDER)

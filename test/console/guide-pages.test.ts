import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { GUIDE_PAGES, guidePageOf } from '../../console/src/components/layout/guide-pages.ts'
import { anchorOf, PAGES, pathInSite, ROOT } from '../../guide/navigation.ts'
import { CONSOLE_PAGES } from '../../routes/service/console.ts'

/** Files of the project by their addresses in the guide. */
const FILES = new Map([...PAGES].map((file) => [pathInSite(file).replace(/\.md$/, '.html'), file]))

test.each(GUIDE_PAGES)('help at %s is a page of the guide, and a heading of it', (_, page) => {
  const [address = '', anchor] = page.split('#')
  const file = FILES.get(address)
  expect(file, address).toBeDefined()
  const headings = readFileSync(path.join(ROOT, file ?? ''), 'utf8').matchAll(/^#+ (.+)$/gm)
  if (anchor !== undefined) expect([...headings].map(([, text = '']) => anchorOf(text))).toContain(anchor)
})

test('every page that a person signs in for has help of its own', () => {
  const addresses = CONSOLE_PAGES.filter((address) => address !== '/' && !address.startsWith('/sign-in'))
  for (const address of addresses)
    expect(guidePageOf(address.replace('*', 'any')), address).not.toBe('/guide/')
  expect(guidePageOf('/datasets/census/ask')).not.toBe(guidePageOf('/datasets/census'))
  expect(guidePageOf('/elsewhere')).toBe('/guide/')
})

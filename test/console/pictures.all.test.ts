import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { CHROMIUM, SCREENSHOTS } from './browser.ts'
import { PICTURE_FILES, takePictures } from './pictures.ts'

const docs = path.resolve(import.meta.dirname, '../../docs')

test('each picture of the console is on its page (npm run pictures takes them)', () => {
  const page = readFileSync(path.join(docs, 'console.md'), 'utf8')
  expect(readdirSync(path.join(docs, 'pictures/console')).sort()).toEqual([...PICTURE_FILES].sort())
  expect(PICTURE_FILES.filter((file) => !page.includes(`pictures/console/${file}`))).toEqual([])
})

test.skipIf(CHROMIUM === undefined)(
  'the pictures can be taken (skipped if Chromium is not installed)',
  async () => {
    await takePictures(path.join(SCREENSHOTS, 'docs'))
  },
)

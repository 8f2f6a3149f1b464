import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, test } from 'vitest'
import { GENERATED } from '../../clients/generated.ts'

const root = path.resolve(import.meta.dirname, '../..')

test.each(Object.entries(GENERATED))('%s is as `npm run generate` writes it', async (file, text) => {
  expect(await readFile(path.join(root, file), 'utf8')).toBe(await text())
})

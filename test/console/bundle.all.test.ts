import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'

const DIST = path.resolve(import.meta.dirname, '../../console/dist')

/** Limit for all scripts, compressed. */
const LIMIT_BYTES = 350 * 1024

test('the scripts of all pages stay below the limit', () => {
  const assets = path.join(DIST, 'assets')
  const scripts = readdirSync(assets).filter((name) => name.endsWith('.js'))
  expect(scripts.length).toBeGreaterThan(5)
  const sizes = scripts.map((name) => gzipSync(readFileSync(path.join(assets, name))).length)
  expect(sizes.reduce((total, size) => total + size, 0)).toBeLessThan(LIMIT_BYTES)
})

test('the page loads nothing from other addresses, and no inline script', () => {
  const page = readFileSync(path.join(DIST, 'index.html'), 'utf8')
  expect(page).not.toMatch(/(src|href)="(https?:)?\/\//)
  expect(page).not.toMatch(/<script(?![^>]*\ssrc=)/)
  expect(page).not.toContain('<style')
})

import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import fastify from 'fastify'
import { expect, test } from 'vitest'
import { guideRoutes } from '../../../routes/service/guide.ts'
import type { Problem } from '../../../src/http/problem.ts'
import { testService } from '../service.ts'

const service = testService()

/** Serves a folder as the built guide, and returns the responses to some addresses. */
async function served(addresses: readonly string[]) {
  const folder = mkdtempSync(path.join(tmpdir(), 'sotto-guide-'))
  mkdirSync(path.join(folder, 'assets'))
  writeFileSync(
    path.join(folder, 'index.html'),
    `<script src="a.js"></script><script id="b">${INLINE}</script>`,
  )
  writeFileSync(path.join(folder, 'assets/app.3f2a.js'), '1')
  writeFileSync(path.join(folder, '.env'), 'SECRET=1')
  const app = fastify()
  await app.register(guideRoutes, { guideDirectory: folder })
  const responses = await Promise.all(addresses.map((url) => app.inject({ url })))
  await app.close()
  rmSync(folder, { recursive: true })
  return responses
}

const INLINE = 'document.title = 1'

test('pages may run their own files and the inline scripts that they were built with', async () => {
  const [page] = await served(['/guide/'])
  const policy = String(page?.headers['content-security-policy'])
  const hash = createHash('sha256').update(INLINE).digest('base64')
  expect(policy).toContain("default-src 'none'")
  expect(policy).toContain(`script-src 'self' 'sha256-${hash}';`)
  expect(policy).not.toMatch(/unsafe|\*|http/)
  expect(page?.headers['cache-control']).toBe('no-cache')
})

test('only files with a digest in their names are stored for good, and none but those of the guide are served', async () => {
  const [script, ...others] = await served([
    '/guide/assets/app.3f2a.js',
    '/guide/.env',
    '/guide/..%2f..%2fetc%2fpasswd',
  ])
  expect(script?.headers['cache-control']).toBe('public, max-age=31536000, immutable')
  expect(others.map(({ statusCode }) => statusCode)).toEqual([404, 404])
})

test('without a built guide, its address says how to build it', async () => {
  const app = fastify()
  await app.register(guideRoutes, {})
  const response = await app.inject({ url: '/guide/queries.html' })
  expect([response.statusCode, response.body]).toEqual([404, expect.stringContaining('npm run guide')])
  await app.close()
})

test('the type of a problem leads to its section', async () => {
  const refused = await fetch(`${service.url}/problems/unknown`)
  const problem = (await refused.json()) as Problem
  expect(problem).toMatchObject({ status: 404, code: 'path-unknown', type: '/problems/path-unknown' })
  const found = await fetch(new URL(problem.type, refused.url), { redirect: 'manual' })
  expect([found.status, found.headers.get('location')]).toEqual([302, '/guide/problems.html#path-unknown'])
})

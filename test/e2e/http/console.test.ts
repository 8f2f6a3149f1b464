import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import fastify from 'fastify'
import { expect, test } from 'vitest'
import { consoleRoutes } from '../../../routes/service/console.ts'

/** Serves a folder as the built console, and returns the responses to some addresses. */
async function served(
  files: Readonly<Record<string, string>>,
  addresses: readonly string[],
  signIn?: string,
) {
  const folder = mkdtempSync(path.join(tmpdir(), 'sotto-console-'))
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(folder, name), text)
  const app = fastify()
  await app.register(consoleRoutes, {
    consoleDirectory: folder,
    ...(signIn === undefined ? {} : { signIn: { issuer: signIn, audience: 'sotto' } }),
  })
  const responses = await Promise.all(addresses.map((url) => app.inject({ url })))
  await app.close()
  rmSync(folder, { recursive: true })
  return responses
}

const FILES = { 'index.html': '<title>Sotto</title>', 'main-3f2a.js': '1', '.env': 'SECRET=1' }

test('every page is the index, is never stored, and may load its own files only', async () => {
  for (const response of await served(FILES, [
    '/',
    '/datasets/census/ask',
    '/history',
    '/sign-in/callback?code=1',
  ])) {
    expect(response.body).toBe(FILES['index.html'])
    const policy = String(response.headers['content-security-policy'])
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("script-src 'self';")
    expect(policy).not.toMatch(/unsafe|\*|http/)
    expect(response.headers['cache-control'] ?? '').not.toMatch(/immutable|max-age=[1-9]/)
  }
})

test('files with a digest in their names are stored for good; others than those of the build are not served', async () => {
  const [script, hidden, above, unknown] = await served(FILES, [
    '/main-3f2a.js',
    '/.env',
    '/..%2f..%2fetc%2fpasswd',
    '/assets/unknown.js',
  ])
  expect(script?.headers['cache-control']).toBe('public, max-age=31536000, immutable')
  expect([hidden, above, unknown].map((response) => response?.statusCode)).toEqual([404, 404, 404])
})

test('pages may ask the identity provider for tokens', async () => {
  const [response] = await served(FILES, ['/'], 'https://login.example.org/realms/sotto')
  expect(response?.headers['content-security-policy']).toContain(
    "connect-src 'self' https://login.example.org",
  )
})

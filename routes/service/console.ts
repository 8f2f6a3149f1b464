import fastifyStatic from '@fastify/static'
import type { FastifyPluginAsync } from 'fastify'
import { consolePolicy } from '../../src/http/headers.ts'
import type { SignIn } from './openapi.ts'

/**
 * Pages of the console, in the router's notation. The console shows the page of an address itself, so that each can be
 * shared and reloaded.
 */
export const CONSOLE_PAGES = [
  '/',
  '/sign-in',
  '/sign-in/*',
  '/datasets',
  '/datasets/*',
  '/history',
  '/history/*',
  '/risk',
  '/mechanisms',
  '/evaluations',
  '/tours',
  '/tours/*',
  '/register',
  '/register/*',
  '/populations',
  '/keys',
  '/audit',
  '/audit/*',
] as const

interface ConsoleOptions {
  /** Folder of the built console. */
  readonly consoleDirectory: string
  readonly signIn?: SignIn
}

/**
 * Serves the web console. Its pages contain no data; they ask the API with the person's key.
 * See decision 50.
 */
export const consoleRoutes: FastifyPluginAsync<ConsoleOptions> = async (
  app,
  { consoleDirectory, signIn },
) => {
  const policy = consolePolicy(signIn === undefined ? [] : [new URL(signIn.issuer).origin])
  await app.register(fastifyStatic, {
    root: consoleDirectory,
    // A route for each file that exists, so that unknown paths are refused as everywhere.
    wildcard: false,
    index: false,
    dotfiles: 'ignore',
    // The names of the files contain a digest of their contents.
    immutable: true,
    maxAge: '1y',
    preCompressed: true,
  })
  for (const url of CONSOLE_PAGES)
    app.get(url, { schema: { hide: true } }, (_request, reply) =>
      reply
        .header('content-security-policy', policy)
        .sendFile('index.html', { immutable: false, maxAge: 0, cacheControl: false }),
    )
}

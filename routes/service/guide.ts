import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import { guidePolicy } from '../../src/http/headers.ts'
import { PROBLEMS } from '../../src/privacy/problems.ts'

interface GuideOptions {
  /** Folder of the built guide. Without it, `/guide` says how to build it. */
  readonly guideDirectory?: string
}

const HIDDEN = { schema: { hide: true } } as const

/** Serves the guide, which is built from `docs/`, and leads the `type` of each problem to its section there. */
export const guideRoutes: FastifyPluginAsync<GuideOptions> = async (app, { guideDirectory }) => {
  app.get<{ Params: { code: string } }>('/problems/:code', HIDDEN, async ({ params: { code } }, reply) =>
    Object.hasOwn(PROBLEMS, code) ? reply.redirect(`/guide/problems.html#${code}`) : reply.callNotFound(),
  )
  app.get('/guide', HIDDEN, async (_request, reply) => reply.redirect('/guide/'))
  if (guideDirectory === undefined)
    app.get('/guide/*', HIDDEN, async (_request, reply) => reply.code(404).type('text/plain').send(NOT_BUILT))
  else await serveGuide(app, guideDirectory)
}

const NOT_BUILT =
  'The guide is not built. Run `npm run guide` in the folder of the project, then start the service again. Its pages are in docs/.\n'

async function serveGuide(app: FastifyInstance, guideDirectory: string): Promise<void> {
  const policy = guidePolicy(inlineScripts(await readFile(path.join(guideDirectory, 'index.html'), 'utf8')))
  const named = path.join(guideDirectory, 'assets') + path.sep
  await app.register(fastifyStatic, {
    root: guideDirectory,
    prefix: '/guide/',
    dotfiles: 'ignore',
    preCompressed: true,
    cacheControl: false,
    setHeaders: (reply, file) => {
      // The names of these files contain a digest of their contents.
      const isNamed = file.startsWith(named)
      reply.header('cache-control', isNamed ? 'public, max-age=31536000, immutable' : 'no-cache')
      reply.header('content-security-policy', policy)
    },
  })
}

/** Returns the sources of a content security policy for the inline scripts of a page. Every page of the guide has the same. */
function inlineScripts(page: string): readonly string[] {
  return [...page.matchAll(/<script(?![^>]*\ssrc=)[^>]*>([\s\S]*?)<\/script>/g)].map(
    ([, script = '']) => `'sha256-${createHash('sha256').update(script).digest('base64')}'`,
  )
}

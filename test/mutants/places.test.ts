import { globSync, readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { expect, it } from 'vitest'

/*
 * Loads every test file of mutants without its tests, so that `selectMutants`, `describeMutants` and `placed` look for all places in the
 * present source. A refactoring that moves one is told here, and not by a run of hours.
 */

const TEST = new URL('../', import.meta.url).href
const LOADED = '?places'

/** Stands in for Vitest: runs the bodies of suites, in which tables of mutants stand, and no tests. */
const WITHOUT_TESTS = `
const nothing = new Proxy(function () {}, {
  get: (_, name) => (name === 'then' || name === Symbol.toPrimitive ? undefined : nothing),
  apply: () => nothing,
})
const bodyOf = (...args) => {
  const body = args.find((each) => typeof each === 'function')
  if (body !== undefined) body(...Array(body.length).fill(nothing))
}
const suites = () => bodyOf
export const describe = Object.assign(bodyOf, {
  each: (table) => (name, body) => [...table].forEach((entry) => body(...[entry].flat())),
  for: (table) => (name, body) => [...table].forEach((entry) => body(entry)),
  runIf: suites,
  skipIf: suites,
})
export const [it, test, expect, vi, inject, beforeAll, beforeEach, afterAll, afterEach, onTestFinished] =
  Array(10).fill(nothing)
`

registerHooks({
  resolve(specifier, context, nextResolve) {
    if (!context.parentURL?.endsWith(LOADED)) return nextResolve(specifier, context)
    if (specifier === 'vitest')
      return { url: `data:text/javascript,${encodeURIComponent(WITHOUT_TESTS)}`, shortCircuit: true }
    const resolved = nextResolve(specifier, context)
    const isOfTest =
      resolved.url.startsWith(TEST) && !/\/(changed-source|source-places)\.ts$/.test(resolved.url)
    return isOfTest ? { ...resolved, url: `${resolved.url}${LOADED}` } : resolved
  },
})

const root = new URL('../../', import.meta.url)
/** Those of the slow tiers. A fast test makes its changes itself. */
const files = globSync('test/**/*.{all,long}.test.ts', { cwd: root })
  .map((file) => ({ file, text: readFileSync(new URL(file, root), 'utf8') }))
  .filter(({ text }) => /withChangedSource|SourceChange|selectMutants|describeMutants/.test(text))

it.each(files)('every change to the source finds its place: $file', async ({ file, text }) => {
  expect(text).toMatch(/\b(selectMutants|describeMutants|placed)\(/)
  await import(/* @vite-ignore */ `${new URL(file, root).href}${LOADED}`)
})

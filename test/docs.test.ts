import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { environmentSchema } from '../src/config.ts'
import { PROBLEMS } from '../src/problem.ts'

const root = path.resolve(import.meta.dirname, '..')
const page = (name: string) => readFileSync(path.join(root, name), 'utf8')

test('every problem code is documented with its status, and no other', () => {
  const sections = page('docs/problems.md').split(/^## /m).slice(1)
  const documented = Object.fromEntries(sections.map((text) => text.split(/\n+/, 2) as [string, string]))
  expect(Object.keys(documented).sort()).toEqual(Object.keys(PROBLEMS).sort())
  for (const [code, { status }] of Object.entries(PROBLEMS)) {
    expect(documented[code], code).toMatch(code === 'http-error' ? /^4xx\./ : new RegExp(`^${status}[.,]`))
  }
})

test('every variable is documented with its default and meaning, and no other', () => {
  const rows = [...page('docs/operations.md').matchAll(/^\| `(SOTTO_\w+)` +\| `([^`]*)` +\| (.*?) +\|$/gm)]
  const expected = Object.entries(environmentSchema.shape).map(([name, schema]) => [
    name,
    String(schema.parse(undefined)),
    schema.description,
  ])
  expect(rows.map(([, ...cells]) => cells)).toEqual(expected)
})

test('every link between our pages leads somewhere', () => {
  const pages = [
    'README.md',
    'CONTRIBUTING.md',
    ...readdirSync(path.join(root, 'docs'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .map((name) => `docs/${name}`),
  ]
  expect(pages.length).toBeGreaterThan(8)
  for (const name of pages) {
    for (const [, target = ''] of page(name).matchAll(/\]\((?!https?:)([^)#]+)/g)) {
      const file = path.join(root, path.dirname(name), target)
      expect(() => readdirSync(path.dirname(file)), `${name} -> ${target}`).not.toThrow()
      expect([...readdirSync(path.dirname(file)), '.'], `${name} -> ${target}`).toContain(path.basename(file))
    }
  }
})

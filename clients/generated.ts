import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { anchorOf } from '../guide/navigation.ts'
import { PROBLEMS } from '../src/privacy/problems.ts'
import {
  pythonFunctions,
  pythonMethods,
  rFunctions,
  rHelp,
  typescriptFunctions,
  wrapped,
} from './functions.ts'
import { tableOfKinds } from './kinds.ts'
import { REFERENCE } from './reference.ts'

/*
 * The files that are made from others: the reference pages, the page and the clients' codes of problems from the service's table, the
 * console's table of kinds and the clients' functions from the schemas and the planner's kinds, and the synchronous
 * Python client from the asynchronous one. `npm run generate` writes them.
 */

const root = path.resolve(import.meta.dirname, '..')

/** Files by their path in the project, and functions that return their text. */
export const GENERATED: Readonly<Record<string, () => string | Promise<string>>> = {
  'docs/problems.md': problemPage,
  ...REFERENCE,
  'clients/typescript/src/problem-codes.ts': typescriptCodes,
  'clients/python/src/sotto/problem_codes.py': pythonExceptions,
  'clients/python/src/sotto/client.py': synchronousClient,
  'clients/python/src/sotto/queries.py': () => pythonFunctions(notice(KINDS)),
  'clients/python/src/sotto/asking.py': () => pythonMethods(notice(KINDS)),
  'clients/typescript/src/queries.ts': () => formatted(`// ${notice(KINDS)}\n\n${typescriptFunctions()}`),
  'clients/r/R/questions.R': () => rFunctions(notice(KINDS)),
  'clients/r/man/sotto_questions.Rd': () => rHelp(notice(KINDS)),
  'console/src/api/kinds.ts': consoleKinds,
}

const notice = (source: string) => `Generated from ${source} by \`npm run generate\`. Do not edit.`

const SOURCE = 'src/privacy/problems.ts'
const KINDS = 'schemas/answers/query.ts and src/core/planner/kinds'

function problemPage(): string {
  const sections = Object.entries(PROBLEMS).map(([code, problem]) => {
    const status = code === 'http-error' ? '4xx' : problem.status
    const details = 'details' in problem ? [problem.details] : []
    const see = 'see' in problem ? [`See ${linkToSection(problem.see)}.`] : []
    const text = [problem.meaning, ...details, ...see].join(' ')
    // The further lines of an item of a list are indented.
    const paragraphs = `**${status}.** ${text}`
      .split('\n')
      .map((line) => wrapped(line, 118, line.startsWith('- ') ? '  ' : '').join('\n'))
    // An empty line stands before a list, not between its items.
    const body = paragraphs.map((text, index) =>
      text.startsWith('- ') && paragraphs[index - 1]?.startsWith('- ') ? text : `\n${text}`,
    )
    return `## ${code}\n${body.join('\n')}\n`
  })
  return `<!-- ${notice(SOURCE)} -->
# Problems

Every refusal and every failure is an \`application/problem+json\` document (RFC 9457). It has a stable \`code\`,
a \`detail\` in English, the \`requestId\` that the log also contains, and, if fields are at fault, \`errors\`: a
list of \`{field, rule}\`. Its \`type\`, such as \`/problems/forbidden\`, is an address of the service that leads to the entry below.
Nothing was charged, unless the entry says otherwise.

${sections.join('\n')}`
}

/** Returns a link to a page of `docs/`, or to a section of it, with its heading as text. */
function linkToSection(target: string): string {
  const [file = '', anchor] = target.split('#')
  const headings = readFileSync(path.join(root, 'docs', file), 'utf8').matchAll(/^#+ (.*)$/gm)
  const titles = [...headings].map(([, title = '']) => title)
  const title = anchor === undefined ? titles[0] : titles.find((each) => anchorOf(each) === anchor)
  if (title === undefined) throw new Error(`src/privacy/problems.ts: docs/${file} has no section ${anchor}`)
  return `[${title}](${target})`
}

function typescriptCodes(): string {
  return `// ${notice(SOURCE)}

/** Codes of the problem documents of the service, in the order of docs/problems.md. */
export const PROBLEM_CODES = [
${Object.keys(PROBLEMS)
  .map((code) => `  '${code}',\n`)
  .join('')}] as const
`
}

function pythonExceptions(): string {
  const classes = Object.entries(PROBLEMS).map(([code, problem]) => ({
    name: pascalCase(code),
    base: 'family' in problem ? pascalCase(problem.family) : 'Problem',
    text: `class ${pascalCase(code)}(${'family' in problem ? pascalCase(problem.family) : 'Problem'}, code="${code}"):
    """${problem.meaning}"""
`,
  }))
  const bases = [...new Set(classes.map(({ base }) => base))].sort()
  const names = classes.map(({ name }) => name).sort()
  const listed = (all: readonly string[], quote: string) =>
    all.map((name) => `    ${quote}${name}${quote},\n`).join('')
  return `"""One exception for each problem code of the service."""

# ${notice(SOURCE)}

from .problems import (
${listed(bases, '')})

__all__ = [
${listed(names, '"')}]


${classes.map(({ text }) => text).join('\n\n')}`
}

function pascalCase(code: string): string {
  return code
    .split('-')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')
}

/** What differs between the asynchronous and the synchronous client, as words of their texts. */
const SYNCHRONOUS: readonly (readonly [RegExp, string])[] = [
  [/\b(?:async|await) /g, ''],
  [/\b[Aa]n (?=(?:asynchronous |`with`))/g, 'a '],
  [/\basynchronous\b/g, 'synchronous'],
  [/\bAsync(?=[A-Z])|_async\b/g, ''],
  [/__a(?=enter__|exit__)/g, '__'],
  [/\baclose\b/g, 'close'],
]

async function synchronousClient(): Promise<string> {
  const source = 'clients/python/src/sotto/aio.py'
  const text = await readFile(path.join(root, source), 'utf8')
  const changed = SYNCHRONOUS.reduce((before, [word, other]) => before.replaceAll(word, other), text)
  return changed.replace('"""\n', `"""\n\n# ${notice(source)}\n`)
}

function consoleKinds(): Promise<string> {
  const entries = Object.entries(tableOfKinds()).map(([kind, { description: _, result: __, ...entry }]) => [
    kind,
    entry,
  ])
  return formatted(`// ${notice(KINDS)}

import type { Kind, KindEntry } from '../../../clients/kind-entry.ts'

/** Kinds of questions, in the order in which they are offered. */
export const KINDS: Readonly<Record<Kind, KindEntry>> = ${JSON.stringify(Object.fromEntries(entries))}
`)
}

/** Returns TypeScript as Biome formats it. */
function formatted(text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const biome = path.join(root, 'node_modules/.bin/biome')
    const child = execFile(
      biome,
      ['format', '--stdin-file-path=generated.ts'],
      { cwd: root },
      (error, stdout) => (error === null ? resolve(stdout) : reject(error)),
    )
    child.stdin?.end(text)
  })
}

if (import.meta.main)
  for (const [file, text] of Object.entries(GENERATED)) await writeFile(path.join(root, file), await text())

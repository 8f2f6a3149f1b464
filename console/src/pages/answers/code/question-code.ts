import { KINDS } from '../../../api/kinds.ts'
import type { AskedQuestion } from '../question-text.ts'
import { PYTHON, TYPESCRIPT } from './code-language.ts'
import { askedText } from './question-expression.ts'

/** Where the code sends a question. */
export interface Target {
  readonly dataset: string
  /** Address of the service, such as `https://sotto.example.org`. */
  readonly origin: string
  /** True if made-up rows answer, free of charge. */
  readonly practice?: boolean
}

/** Returns a question or a batch as a command of curl, or undefined for the terms of a session. */
export function curlOf(question: AskedQuestion, { dataset, origin, practice }: Target): string | undefined {
  const path = pathOf(question)
  if (path === undefined) return undefined
  const address = `${origin}/v1/datasets/${dataset}/${path}${practice === true ? '?on=dummy' : ''}`
  return [
    `curl -s '${address}'`,
    '-H "Authorization: Bearer $(cat analyst.key)"',
    "-H 'Content-Type: application/json'",
    `-d '${JSON.stringify(question).replaceAll("'", "'\\''")}'`,
  ].join(' \\\n  ')
}

function pathOf({ kind, queries }: AskedQuestion): string | undefined {
  if (Array.isArray(queries)) return 'queries/batch'
  return typeof kind === 'string' ? 'queries' : undefined
}

/** Returns a program of the Python client that asks a question or a batch, or undefined for the terms of a session. */
export function pythonOf(question: AskedQuestion, { dataset, origin, practice }: Target): string | undefined {
  const name = variableOf(dataset.replaceAll('-', '_'))
  const asked = askedText(question, name, PYTHON)
  if (asked === undefined) return undefined
  return [
    'import sotto',
    ...(asked.includes('col(') ? ['from sotto import col'] : []),
    '',
    '# The key is read from the environment variable SOTTO_KEY.',
    `client = sotto.connect(${PYTHON.text(origin)})`,
    `${name} = client.dataset(${PYTHON.text(dataset)}${practice === true ? ', on="dummy"' : ''})`,
    `answer = ${asked}`,
    'print(answer)',
  ].join('\n')
}

/**
 * Returns a program of the TypeScript client that asks a question or a batch, or undefined if its functions do not make
 * the same question: for statistics of groups with names of their own, and for the terms of a session.
 */
export function typescriptOf(
  question: AskedQuestion,
  { dataset, origin, practice }: Target,
): string | undefined {
  const name = variableOf(dataset.replace(/-+(.?)/g, (_, letter: string) => letter.toUpperCase()))
  const asked = askedText(question, name, TYPESCRIPT)
  if (asked === undefined) return undefined
  const used = TYPESCRIPT_NAMES.filter((each) => new RegExp(`(?<![.\\w'])${each}\\(`).test(asked))
  return [
    `import { ${[...used, 'connect'].sort().join(', ')} } from 'sotto-client'`,
    '',
    `const client = connect(${TYPESCRIPT.text(origin)}, process.env.SOTTO_KEY ?? '')`,
    `const ${name} = client.dataset(${TYPESCRIPT.text(dataset)}${practice === true ? ", { on: 'dummy' }" : ''})`,
    `const answer = await ${asked}`,
    'console.log(answer)',
  ].join('\n')
}

const TYPESCRIPT_NAMES = ['col', ...Object.keys(KINDS)]

/** Words of a single lower-case part that are no names in Python or TypeScript, and names that the programs use. */
const RESERVED = new Set(
  (
    'and as assert async await break case catch class const continue debugger def default del delete do elif else enum ' +
    'except export extends false finally for from function global if implements import in instanceof interface is lambda ' +
    'let new nonlocal not null or package pass private protected public raise return static super switch this throw true ' +
    'try typeof var void while with yield arguments eval answer client console col connect print process sotto ' +
    'contingency correlation count covariance histogram maximum mean median minimum percentile proportion sum variance'
  ).split(' '),
)

function variableOf(name: string): string {
  return RESERVED.has(name) || /[^\w]/.test(name) ? `${name.replace(/[^\w]/g, '_')}_` : name
}

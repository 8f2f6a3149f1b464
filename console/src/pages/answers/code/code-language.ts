import { isRecord } from '../../../format/json.ts'
import type { AskedQuestion } from '../question-text.ts'

/** How a language writes values, conditions and calls. */
export interface Language {
  text(value: string): string
  json(value: unknown): string
  option(name: string, text: string): string
  /** Name of the function of a kind. */
  name(kind: string): string
  /** Value of an option whose parts have names. */
  parts(name: string, value: unknown): string
  comparison(column: string, op: string, value: string): string
  membership(column: string, values: string): string
  isNull(column: string): string
  combination(op: 'and' | 'or', parts: readonly string[]): string
  negation(part: string, isOperand: boolean): string
  calendar(column: string, by: string, ends: readonly (readonly [string, string])[]): string
  /** Candidates that are the cells of a column. */
  cells(text: string): string
  /** Candidates that are conditions. */
  conditions(named: readonly (readonly [string, string])[]): string
  /** Arguments of a call: those by position, then the options. */
  given(positions: readonly string[], options: readonly string[]): readonly string[]
  /** Names the statistics of groups. */
  statistics(named: readonly (readonly [string, string])[]): readonly string[]
  /** Prefix of the functions that make a question without asking it. */
  readonly module: string
}

const QUOTED = /\\"/g

export const TYPESCRIPT: Language = {
  module: '',
  text: (value) => `'${JSON.stringify(value).slice(1, -1).replace(QUOTED, '"').replaceAll("'", "\\'")}'`,
  json: (value) => {
    if (typeof value === 'string') return TYPESCRIPT.text(value)
    if (Array.isArray(value)) return `[${value.map(TYPESCRIPT.json).join(', ')}]`
    if (!isRecord(value)) return String(value)
    const fields = Object.entries(value).map(([name, part]) => `${fieldName(name)}: ${TYPESCRIPT.json(part)}`)
    return fields.length === 0 ? '{}' : `{ ${fields.join(', ')} }`
  },
  option: (name, text) => `${name}: ${text}`,
  name: (kind) => kind,
  parts: (_, value) => TYPESCRIPT.json(value),
  comparison: (column, op, value) => `${column}.${METHODS[op]}(${value})`,
  membership: (column, values) => `${column}.in(${values})`,
  isNull: (column) => `${column}.isNull()`,
  combination: (op, [first, ...others]) => `${first}.${op}(${others.join(', ')})`,
  negation: (part) => `${part}.not()`,
  calendar: (column, by, ends) => {
    const given = ends.map(([name, value]) => `${name}: ${value}`).join(', ')
    return given === '' ? `${column}.by(${by})` : `${column}.by(${by}, { ${given} })`
  },
  cells: (text) => `{ column: ${text} }`,
  conditions: (named) =>
    `{ predicates: { ${named.map(([name, text]) => `${fieldName(name)}: ${text}`).join(', ')} } }`,
  given: (positions, options) =>
    options.length === 0 ? positions : [...positions, `{ ${options.join(', ')} }`],
  statistics: (named) => [`{ ${named.map(([name, text]) => `${name}: ${text}`).join(', ')} }`],
}

const METHODS: Readonly<Record<string, string>> = {
  '=': 'eq',
  '!=': 'ne',
  '<': 'lt',
  '<=': 'lte',
  '>': 'gt',
  '>=': 'gte',
}

function fieldName(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? name : TYPESCRIPT.text(name)
}

export const PYTHON: Language = {
  module: 'sotto.',
  text: (value) => JSON.stringify(value),
  json: (value) => {
    if (typeof value === 'boolean') return value ? 'True' : 'False'
    if (Array.isArray(value)) return `[${value.map(PYTHON.json).join(', ')}]`
    if (!isRecord(value)) return JSON.stringify(value)
    return `{${Object.entries(value)
      .map(([name, part]) => `${PYTHON.text(name)}: ${PYTHON.json(part)}`)
      .join(', ')}}`
  },
  option: (name, text) => `${snake(name)}=${text}`,
  name: snake,
  parts: (name, value) => {
    const fields = Object.entries(value as AskedQuestion).map(([part, given]) => {
      const isRange = name === 'contribution' && part === 'perPerson' && isRecord(given)
      const text = isRange ? `(${given.lower}, ${given.upper})` : PYTHON.json(given)
      return `"${snake(part)}": ${text}`
    })
    return `{${fields.join(', ')}}`
  },
  comparison: (column, op, value) => `${column} ${op === '=' ? '==' : op} ${value}`,
  membership: (column, values) => `${column}.isin(${values})`,
  isNull: (column) => `${column}.is_null()`,
  combination: (op, parts) => parts.map((part) => `(${part})`).join(op === 'and' ? ' & ' : ' | '),
  negation: (part, isOperand) => (isOperand ? `~${part}` : `~(${part})`),
  calendar: (column, by, ends) => {
    const given = ends.map(([name, value]) => `${name === 'from' ? 'from_' : snake(name)}=${value}`)
    return `${column}.by(${[by, ...given].join(', ')})`
  },
  cells: (text) => text,
  conditions: (named) => `{${named.map(([name, text]) => `${PYTHON.text(name)}: ${text}`).join(', ')}}`,
  given: (positions, options) => [...positions, ...options],
  statistics: (named) => named.map(([name, text]) => `${name}=${text}`),
}

/** Returns a name such as `groupBy` as Python writes it. */
export function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

import { isRecord, type Question } from './question-text.ts'

/** Where the code sends a question. */
export interface Target {
  readonly dataset: string
  /** Address of the service, such as `https://sotto.example.org`. */
  readonly origin: string
  /** True if made-up rows answer, free of charge. */
  readonly practice?: boolean
}

/** Returns a question or a batch as a command of curl, or undefined for the terms of a session. */
export function curlOf(question: Question, { dataset, origin, practice }: Target): string | undefined {
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

function pathOf({ kind, queries }: Question): string | undefined {
  if (Array.isArray(queries)) return 'queries/batch'
  return typeof kind === 'string' ? 'queries' : undefined
}

/** Returns a program of the Python client that asks a question or a batch, or undefined for the terms of a session. */
export function pythonOf(question: Question, { dataset, origin, practice }: Target): string | undefined {
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
export function typescriptOf(question: Question, { dataset, origin, practice }: Target): string | undefined {
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

/** Part of a call: a value of JSON, or an expression over columns. */
interface Argument {
  readonly is: 'value' | 'condition' | 'grouping' | 'groupings' | 'candidates'
  readonly value: unknown
}

/** Call of the function of a kind. Options have the names of the service. */
interface Call {
  readonly kind: string
  readonly given: readonly Argument[]
  readonly options: readonly (readonly [string, Argument])[]
}

/** Fields of each kind that its function takes by position, and how they are written. */
const POSITIONS: Readonly<Record<string, readonly (readonly [string, Argument['is']])[]>> = {
  count: [],
  sum: [['column', 'value']],
  mean: [['column', 'value']],
  variance: [['column', 'value']],
  standardDeviation: [['column', 'value']],
  median: [['column', 'value']],
  percentile: [
    ['column', 'value'],
    ['p', 'value'],
  ],
  minimum: [['column', 'value']],
  maximum: [['column', 'value']],
  covariance: [['columns', 'value']],
  correlation: [['columns', 'value']],
  linearRegression: [
    ['outcome', 'value'],
    ['predictors', 'value'],
  ],
  proportion: [['of', 'condition']],
  countDistinct: [['column', 'grouping']],
  histogram: [['column', 'grouping']],
  contingency: [['columns', 'groupings']],
  topGroups: [['keys', 'groupings']],
  noisyMax: [['candidates', 'candidates']],
  keySelection: [['column', 'value']],
}

/** Returns the call that makes a question, or undefined if there is no function of its kind. */
function callOf(question: Question): Call | undefined {
  const { kind, ...fields } = question
  const positions = POSITIONS[String(kind)]
  if (positions === undefined || positions.some(([field]) => !(field in fields))) return undefined
  const taken = new Set(positions.map(([field]) => field))
  return {
    kind: String(kind),
    given: positions.flatMap(([field, is]) => givenOf(String(kind), is, fields[field])),
    options: optionsOf(Object.fromEntries(Object.entries(fields).filter(([field]) => !taken.has(field)))),
  }
}

function givenOf(kind: string, is: Argument['is'], value: unknown): readonly Argument[] {
  // The functions of pairs take each column on its own.
  if ((kind === 'covariance' || kind === 'correlation') && Array.isArray(value))
    return value.map((column) => ({ is: 'value', value: column }))
  return [{ is, value }]
}

/** Returns fields of a question as options. An accuracy becomes a half-width and its confidence. */
function optionsOf(fields: Question): Call['options'] {
  return Object.entries(fields).flatMap(([field, value]): Call['options'] => {
    if (field === 'accuracy') return optionsOf(value as Question)
    return [[field, { is: field === 'where' ? 'condition' : 'value', value }]]
  })
}

/** How a language writes values, conditions and calls. */
interface Language {
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

const TYPESCRIPT: Language = {
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

const TYPESCRIPT_NAMES = ['col', ...Object.keys(POSITIONS)]

function fieldName(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? name : TYPESCRIPT.text(name)
}

const PYTHON: Language = {
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
    const fields = Object.entries(value as Question).map(([part, given]) => {
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
    const given = ends.map(([name, value]) => `${name === 'from' ? 'from_' : name}=${value}`)
    return `${column}.by(${[by, ...given].join(', ')})`
  },
  cells: (text) => text,
  conditions: (named) => `{${named.map(([name, text]) => `${PYTHON.text(name)}: ${text}`).join(', ')}}`,
  given: (positions, options) => [...positions, ...options],
  statistics: (named) => named.map(([name, text]) => `${name}=${text}`),
}

function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** Returns the expression that asks a question of the dataset in a variable. */
function askedText(question: Question, variable: string, language: Language): string | undefined {
  const { kind, queries } = question
  if (Array.isArray(queries)) {
    const made = queries.map((query) => madeText(query, variable, language))
    return made.includes(undefined) ? undefined : broken(`${variable}.batch([`, made as string[], '])')
  }
  if (typeof kind !== 'string') return undefined
  const asked =
    kind === 'groupBy'
      ? groupsText(question, variable, 'run', language)
      : functionText(question, `${variable}.`, language)
  return asked ?? (language === PYTHON ? `${variable}.ask(${PYTHON.json(question)})` : undefined)
}

/** Returns the expression that makes a question without asking it. The Python client takes JSON in its place. */
function madeText(question: Question, variable: string, language: Language): string | undefined {
  if (language === PYTHON) return functionText(question, language.module, language) ?? PYTHON.json(question)
  return question.kind === 'groupBy'
    ? groupsText(question, variable, 'query', language)
    : functionText(question, language.module, language)
}

function functionText(question: Question, prefix: string, language: Language): string | undefined {
  const call = callOf(question)
  if (call === undefined) return undefined
  const given = call.given.map((argument) => argumentText(argument, language))
  if (given.includes(undefined)) return undefined
  const options = optionTexts(call.options, language)
  return broken(`${prefix}${language.name(call.kind)}(`, language.given(given as string[], options), ')')
}

const NAMED_PARTS = ['contribution', 'postprocess', 'supposed']

function optionTexts(options: Call['options'], language: Language): readonly string[] {
  return options.map(([name, { is, value }]) => {
    if (NAMED_PARTS.includes(name)) return language.option(name, language.parts(name, value))
    return language.option(
      name,
      is === 'condition' ? whereText(value as Question, language) : language.json(value),
    )
  })
}

function argumentText({ is, value }: Argument, language: Language): string | undefined {
  switch (is) {
    case 'value':
      return language.json(value)
    case 'condition':
      return whereText(value as Question, language)
    case 'grouping':
      return groupingText(value, language)
    case 'groupings': {
      const texts = (value as readonly unknown[]).map((each) => groupingText(each, language))
      return texts.includes(undefined) ? undefined : `[${texts.join(', ')}]`
    }
    case 'candidates':
      return candidatesText(value as Question, language)
  }
}

/** Returns the candidates of a selection: the cells of a column, or conditions by name. */
function candidatesText({ column, predicates }: Question, language: Language): string | undefined {
  if (!Array.isArray(predicates)) {
    const text = groupingText(column, language)
    return text === undefined ? undefined : language.cells(text)
  }
  const names = predicates.map(({ name }) => String(name))
  // An object of JavaScript keeps a name once, and puts names such as "2" first.
  const kept = Object.keys(Object.fromEntries(names.map((name) => [name, true])))
  if (names.includes('__proto__') || JSON.stringify(kept) !== JSON.stringify(names)) return undefined
  return language.conditions(predicates.map(({ name, where }) => [String(name), whereText(where, language)]))
}

/** Returns the expression of a column that groups rows. */
function groupingText(grouping: unknown, language: Language): string | undefined {
  if (!isRecord(grouping)) return language.text(String(grouping))
  const { column, edges, by, from, to } = grouping
  const subject = columnText(column, language)
  if (Array.isArray(edges)) return `${subject}.bins(${language.json(edges)})`
  if (typeof by !== 'string') return undefined
  const ends = Object.entries({ from, to }).filter(([, value]) => value !== undefined)
  return language.calendar(
    subject,
    language.text(by),
    ends.map(([name, value]) => [name, language.json(value)]),
  )
}

function columnText(column: unknown, language: Language): string {
  return `col(${language.text(String(column))})`
}

/** Returns a condition as an expression, or as JSON if the expression would be another condition. */
function whereText(predicate: Question, language: Language): string {
  return isExpression(predicate) ? conditionText(predicate, language) : language.json(predicate)
}

/** True unless a combination has one part only, or a part of its own kind: the clients join such parts to one list. */
function isExpression({ op, predicates, predicate }: Question): boolean {
  if (op === 'not') return isRecord(predicate) && isExpression(predicate)
  if (op !== 'and' && op !== 'or') return true
  return (
    Array.isArray(predicates) &&
    predicates.length > 1 &&
    predicates.every((each: Question) => each.op !== op && isExpression(each))
  )
}

function conditionText(condition: Question, language: Language): string {
  const { op, column, value, values, lower, upper, predicates, predicate } = condition
  const subject = columnText(column, language)
  switch (op) {
    case 'and':
    case 'or':
      return language.combination(
        op,
        (predicates as readonly Question[]).map((each) => conditionText(each, language)),
      )
    case 'not': {
      const negated = predicate as Question
      const isOperand = ['in', 'between', 'isNull'].includes(String(negated.op))
      return language.negation(conditionText(negated, language), isOperand)
    }
    case 'in':
      return language.membership(subject, language.json(values))
    case 'between':
      return `${subject}.between(${language.json(lower)}, ${language.json(upper)})`
    case 'isNull':
      return language.isNull(subject)
    default:
      return language.comparison(subject, String(op), language.json(value))
  }
}

function groupsText(
  { keys, statistics, kind: _, ...fields }: Question,
  variable: string,
  method: 'run' | 'query',
  language: Language,
): string | undefined {
  if (!Array.isArray(keys) || !Array.isArray(statistics) || !hasSentNames(statistics)) return undefined
  const by = keys.map((key) => groupingText(key, language))
  const named = statistics.map(({ name: _name, ...statistic }: Question, place) => [
    statisticName(statistic, place, statistics, language),
    functionText(statistic, language.module, language),
  ])
  if (by.includes(undefined) || named.some(([, text]) => text === undefined)) return undefined
  const grouped = `${variable}.${language.name('groupBy')}(${by.join(', ')})`
  const agg = broken('.agg(', language.statistics(named as unknown as readonly [string, string][]), ')')
  return `${grouped}${agg}.${method}(${language.given([], optionTexts(optionsOf(fields), language)).join(', ')})`
}

/** True if statistics have the names that the clients send: one for each of several proportions, and no other. */
function hasSentNames(statistics: readonly Question[]): boolean {
  const proportions = statistics.filter(({ kind }) => kind === 'proportion')
  return statistics.every((statistic) => {
    const place = proportions.length > 1 ? proportions.indexOf(statistic) : -1
    return statistic.name === (place < 0 ? undefined : `proportion${place + 1}`)
  })
}

/** Returns a name for a statistic of groups, such as `mean_earnings` or `meanEarnings`. */
function statisticName(
  statistic: Question,
  place: number,
  all: readonly Question[],
  language: Language,
): string {
  const plain = plainName(statistic)
  const isTaken = all.some((other, at) => at !== place && plainName(other) === plain)
  const words = isTaken ? `${plain} ${place + 1}` : plain
  return language === PYTHON
    ? words.replaceAll(' ', '_')
    : words.replace(/ (.)/g, (_, letter: string) => letter.toUpperCase())
}

function plainName({ kind, column, of, p }: Question): string {
  if (kind === 'count') return of === 'people' ? 'people' : 'n'
  const subject = isRecord(column) ? column.column : column
  return [snake(String(kind)), p, subject]
    .filter((part) => part !== undefined)
    .join(' ')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, ' ')
    .trim()
}

/** Longest line of a call. */
const LINE_LENGTH = 88

/** Returns a call on one line if it is short, else with an argument on each line. */
function broken(open: string, parts: readonly string[], close: string): string {
  const line = `${open}${parts.join(', ')}${close}`
  if (parts.length === 0 || (line.length <= LINE_LENGTH && !line.includes('\n'))) return line
  return `${open}\n${parts.map((part) => `  ${part.replaceAll('\n', '\n  ')},\n`).join('')}${close}`
}

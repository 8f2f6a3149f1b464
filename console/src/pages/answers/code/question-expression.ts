import type { KindField } from '../../../../../clients/kind-entry.ts'
import { isRecord } from '../../../format/json.ts'
import { type AskedQuestion, entryOf } from '../question-text.ts'
import { type Language, PYTHON, snake } from './code-language.ts'

/** Returns the expression that asks a question of the dataset in a variable. */
export function askedText(question: AskedQuestion, variable: string, language: Language): string | undefined {
  const { kind, queries, plan, objective, weights } = question
  if (Array.isArray(queries)) {
    const made = queries.map((query) => madeText(query, variable, language))
    if (made.includes(undefined)) return undefined
    const terms = Object.entries({ plan, objective, weights }).filter(([, value]) => value !== undefined)
    const options = language.given([''], optionTexts(Object.fromEntries(terms), language))
    return broken(`${variable}.batch([`, made as string[], `]${options.join(', ')})`)
  }
  if (typeof kind !== 'string') return undefined
  const asked =
    kind === 'groupBy'
      ? groupsText(question, variable, 'run', language)
      : functionText(question, `${variable}.`, language)
  return asked ?? (language === PYTHON ? `${variable}.ask(${PYTHON.json(question)})` : undefined)
}

/** Returns the expression that makes a question without asking it. The Python client takes JSON in its place. */
function madeText(question: AskedQuestion, variable: string, language: Language): string | undefined {
  if (language === PYTHON) return functionText(question, language.module, language) ?? PYTHON.json(question)
  return question.kind === 'groupBy'
    ? groupsText(question, variable, 'query', language)
    : functionText(question, language.module, language)
}

/**
 * Returns the call of the function that makes a question, or undefined if there is none of its kind. The functions take
 * required fields by position, except numbers, which Python and TypeScript have as options.
 */
function functionText(question: AskedQuestion, prefix: string, language: Language): string | undefined {
  const { kind, ...fields } = question
  const entry = entryOf(question)
  if (entry === undefined) return undefined
  const known = Object.entries(entry.fields)
  const positions = known.filter(([, { optional, type }]) => optional === undefined && type !== 'number')
  const isGiven = positions.every(([name, { type }]) => type !== 'statistics' && name in fields)
  if (!isGiven) return undefined
  const given = positions.flatMap(([name, field]) => argumentTexts(field, fields[name], language))
  if (given.includes(undefined)) return undefined
  const others = Object.entries(fields).filter(([field]) => positions.every(([name]) => name !== field))
  const options = optionTexts(Object.fromEntries(others), language)
  return broken(`${prefix}${language.name(String(kind))}(`, language.given(given as string[], options), ')')
}

function argumentTexts(
  { type, least, most }: KindField,
  value: unknown,
  language: Language,
): readonly (string | undefined)[] {
  switch (type) {
    case 'condition':
      return [whereText(value as AskedQuestion, language)]
    case 'grouping':
      return [groupingText(value, language)]
    case 'groupings': {
      const texts = (value as readonly unknown[]).map((each) => groupingText(each, language))
      return [texts.includes(undefined) ? undefined : `[${texts.join(', ')}]`]
    }
    case 'candidates':
      return [candidatesText(value as AskedQuestion, language)]
    case 'columns':
      // The functions of pairs take each column on its own.
      if (least === 2 && most === 2 && Array.isArray(value))
        return value.map((column) => language.json(column))
  }
  return [language.json(value)]
}

const NAMED_PARTS = ['contribution', 'postprocess', 'supposed']

/** Returns fields of a question as options. An accuracy becomes a half-width and its confidence. */
function optionTexts(fields: AskedQuestion, language: Language): readonly string[] {
  return Object.entries(fields).flatMap(([name, value]) => {
    if (name === 'accuracy') return optionTexts(value as AskedQuestion, language)
    if (NAMED_PARTS.includes(name)) return [language.option(name, language.parts(name, value))]
    const text = name === 'where' ? whereText(value as AskedQuestion, language) : language.json(value)
    return [language.option(name, text)]
  })
}

/** Returns the candidates of a selection: the cells of a column, or conditions by name. */
function candidatesText({ column, predicates }: AskedQuestion, language: Language): string | undefined {
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
  const { column, edges, by, from, to, timeZone } = grouping
  const subject = columnText(column, language)
  if (Array.isArray(edges)) return `${subject}.bins(${language.json(edges)})`
  if (typeof by !== 'string') return undefined
  const ends = Object.entries({ from, to, timeZone }).filter(([, value]) => value !== undefined)
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
function whereText(predicate: AskedQuestion, language: Language): string {
  return isExpression(predicate) ? conditionText(predicate, language) : language.json(predicate)
}

/** True unless a combination has one part only, or a part of its own kind: the clients join such parts to one list. */
function isExpression({ op, predicates, predicate }: AskedQuestion): boolean {
  if (op === 'not') return isRecord(predicate) && isExpression(predicate)
  if (op !== 'and' && op !== 'or') return true
  return (
    Array.isArray(predicates) &&
    predicates.length > 1 &&
    predicates.every((each: AskedQuestion) => each.op !== op && isExpression(each))
  )
}

function conditionText(condition: AskedQuestion, language: Language): string {
  const { op, column, value, values, lower, upper, predicates, predicate } = condition
  const subject = columnText(column, language)
  switch (op) {
    case 'and':
    case 'or':
      return language.combination(
        op,
        (predicates as readonly AskedQuestion[]).map((each) => conditionText(each, language)),
      )
    case 'not': {
      const negated = predicate as AskedQuestion
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
  { keys, statistics, kind: _, ...fields }: AskedQuestion,
  variable: string,
  method: 'run' | 'query',
  language: Language,
): string | undefined {
  if (!Array.isArray(keys) || !Array.isArray(statistics) || !hasSentNames(statistics)) return undefined
  const by = keys.map((key) => groupingText(key, language))
  const named = statistics.map(({ name: _name, ...statistic }: AskedQuestion, place) => [
    statisticName(statistic, place, statistics, language),
    functionText(statistic, language.module, language),
  ])
  if (by.includes(undefined) || named.some(([, text]) => text === undefined)) return undefined
  const grouped = `${variable}.${language.name('groupBy')}(${by.join(', ')})`
  const agg = broken('.agg(', language.statistics(named as unknown as readonly [string, string][]), ')')
  return `${grouped}${agg}.${method}(${language.given([], optionTexts(fields, language)).join(', ')})`
}

/** True if statistics have the names that the clients send: one for each of several proportions, and no other. */
function hasSentNames(statistics: readonly AskedQuestion[]): boolean {
  const proportions = statistics.filter(({ kind }) => kind === 'proportion')
  return statistics.every((statistic) => {
    const place = proportions.length > 1 ? proportions.indexOf(statistic) : -1
    return statistic.name === (place < 0 ? undefined : `proportion${place + 1}`)
  })
}

/** Returns a name for a statistic of groups, such as `mean_earnings` or `meanEarnings`. */
function statisticName(
  statistic: AskedQuestion,
  place: number,
  all: readonly AskedQuestion[],
  language: Language,
): string {
  const plain = plainName(statistic)
  const isTaken = all.some((other, at) => at !== place && plainName(other) === plain)
  const words = isTaken ? `${plain} ${place + 1}` : plain
  return language === PYTHON
    ? words.replaceAll(' ', '_')
    : words.replace(/ (.)/g, (_, letter: string) => letter.toUpperCase())
}

function plainName({ kind, column, of, p }: AskedQuestion): string {
  if (kind === 'count') return of === 'people' ? 'people' : 'n'
  const subject = isRecord(column) ? column.column : column
  return [snake(String(kind)), p, subject]
    .filter((part) => part !== undefined)
    .join(' ')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, ' ')
    .trim()
}

const LINE_LENGTH = 88

/** Returns a call on one line if it is short, else with an argument on each line. */
function broken(open: string, parts: readonly string[], close: string): string {
  const line = `${open}${parts.join(', ')}${close}`
  if (parts.length === 0 || (line.length <= LINE_LENGTH && !line.includes('\n'))) return line
  return `${open}\n${parts.map((part) => `  ${part.replaceAll('\n', '\n  ')},\n`).join('')}${close}`
}

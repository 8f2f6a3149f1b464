import { parseDecimal } from '../../../../privacy/decimal.ts'

/*
 * The text of expressions: that of SQL, as far as it goes. See decision 70.
 *
 *   condition  = and { "or" and }
 *   and        = not { "and" not }
 *   not        = "not" not | comparison
 *   comparison = sum [ operator sum | [ "not" ] "in" "(" sum { "," sum } ")" | [ "not" ] "between" sum "and" sum
 *              | "is" [ "not" ] "null" ]
 *   sum        = product { ( "+" | "-" ) product }
 *   product    = unary { ( "*" | "/" ) unary }
 *   unary      = "-" unary | primary
 *   primary    = number | 'text' | "true" | "false" | case | function "(" condition { "," condition } ")" | column
 *              | "(" condition ")"
 *   case       = "case" { "when" condition "then" condition } [ "else" condition ] "end"
 *   column     = name { "." name } | '"' any text '"'
 */

/** Operators of comparisons. */
type Operator = '=' | '!=' | '<' | '<=' | '>' | '>='

/** An expression as it is written. A number is a whole number of 1e-9. */
export type Expression =
  | { readonly kind: 'column'; readonly name: string }
  | { readonly kind: 'number'; readonly nano: bigint }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'truth'; readonly value: boolean }
  | {
      readonly kind: 'arithmetic'
      readonly op: '+' | '-' | '*' | '/'
      readonly left: Expression
      readonly right: Expression
    }
  | { readonly kind: 'call'; readonly name: string; readonly values: readonly Expression[] }
  | { readonly kind: 'case'; readonly cases: readonly Case[]; readonly otherwise?: Expression }
  | Condition

/** One branch of a `case`. */
interface Case {
  readonly when: Expression
  readonly result: Expression
}

/** An expression that holds or does not. */
export type Condition =
  | { readonly kind: 'and' | 'or'; readonly conditions: readonly Expression[] }
  | { readonly kind: 'not'; readonly condition: Expression }
  | { readonly kind: 'is-null'; readonly operand: Expression }
  | { readonly kind: 'in'; readonly operand: Expression; readonly values: readonly Expression[] }
  | {
      readonly kind: 'between'
      readonly operand: Expression
      readonly lower: Expression
      readonly upper: Expression
    }
  | { readonly kind: 'compare'; readonly op: Operator; readonly left: Expression; readonly right: Expression }

/** The rule that a text breaks, in words that continue "must". Planning reports it with the field of the text. */
export class ExpressionError extends Error {
  readonly rule: string

  constructor(rule: string) {
    super(rule)
    this.name = 'ExpressionError'
    this.rule = rule
  }
}

const WORDS = new Set('and or not in between is null case when then else end true false'.split(' '))

const LONGEST_NUMBER = 25

/** Largest number of parts of an expression, so that no stack overflows. */
const MOST_TOKENS = 400

const TOKEN =
  /\s*(?:(?<name>[\p{L}_][\p{L}\p{N}_]*(?:\.[\p{L}_][\p{L}\p{N}_]*)*)|"(?<quoted>(?:[^"]|"")+)"|'(?<text>(?:[^']|'')*)'|(?<number>\d+(?:\.\d+)?)|(?<sign><=|>=|<>|!=|[-+*/(),<>=]))/uy

interface Token {
  readonly kind: 'word' | 'name' | 'quoted' | 'text' | 'number' | 'sign' | 'end'
  readonly text: string
  /** Position in the text, counted from 1. */
  readonly at: number
}

/** Writes the name of a column in an expression: quoted, unless it is a word that stands for nothing else. */
export function writtenName(name: string): string {
  const plain = /^[\p{L}_][\p{L}\p{N}_]*(?:\.[\p{L}_][\p{L}\p{N}_]*)*$/u.test(name)
  return plain && !WORDS.has(name.toLowerCase()) ? name : `"${name.replaceAll('"', '""')}"`
}

/** Writes a text in an expression. */
export function writtenText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

function tokensOf(text: string): readonly Token[] {
  const tokens: Token[] = []
  const pattern = new RegExp(TOKEN)
  const end = text.trimEnd().length
  while (pattern.lastIndex < end) {
    const start = pattern.lastIndex
    const groups = pattern.exec(text)?.groups
    if (groups === undefined)
      throw new ExpressionError(`has no part of an expression at character ${start + 1}`)
    tokens.push(tokenOf(groups, start + 1))
    if (tokens.length > MOST_TOKENS) throw new ExpressionError(`has more than ${MOST_TOKENS} parts`)
  }
  return [...tokens, { kind: 'end', text: 'the end', at: end + 1 }]
}

function tokenOf(groups: Readonly<Record<string, string | undefined>>, at: number): Token {
  const { name, quoted, text, number, sign = '' } = groups
  if (name !== undefined)
    return WORDS.has(name.toLowerCase())
      ? { kind: 'word', text: name.toLowerCase(), at }
      : { kind: 'name', text: name, at }
  if (quoted !== undefined) return { kind: 'quoted', text: quoted.replaceAll('""', '"'), at }
  if (text !== undefined) return { kind: 'text', text: text.replaceAll("''", "'"), at }
  if (number !== undefined) return { kind: 'number', text: number, at }
  return { kind: 'sign', text: sign === '<>' ? '!=' : sign, at }
}

/**
 * Parses an expression.
 * @throws ExpressionError for a text that is none
 */
export function parseExpression(text: string): Expression {
  const tokens = tokensOf(text)
  let place = 0
  const peek = (): Token => tokens[place] ?? { kind: 'end', text: 'the end', at: text.length + 1 }
  const unexpected = (): never => {
    const { text: found, at, kind } = peek()
    throw new ExpressionError(
      kind === 'end' ? 'ends too early' : `has "${found}" where it does not belong, at character ${at}`,
    )
  }
  const take = (kind: Token['kind'], ...texts: readonly string[]): string | undefined => {
    const token = peek()
    if (token.kind !== kind || !(texts.length === 0 || texts.includes(token.text))) return undefined
    place += 1
    return token.text
  }
  const require = (kind: Token['kind'], token: string): void => {
    if (take(kind, token) === undefined) unexpected()
  }
  const list = (): readonly Expression[] => {
    require('sign', '(')
    const values = [condition()]
    while (take('sign', ',') !== undefined) values.push(condition())
    require('sign', ')')
    return values
  }

  const joined = (kind: 'and' | 'or', operand: () => Expression): Expression => {
    const first = operand()
    const others: Expression[] = []
    while (take('word', kind) !== undefined) others.push(operand())
    return others.length === 0 ? first : { kind, conditions: [first, ...others] }
  }
  const condition = (): Expression => joined('or', () => joined('and', negation))
  const negation = (): Expression =>
    take('word', 'not') === undefined ? comparison() : { kind: 'not', condition: negation() }

  const comparison = (): Expression => {
    const operand = sum()
    const op = take('sign', '=', '!=', '<', '<=', '>', '>=')
    if (op !== undefined) return { kind: 'compare', op: op as Operator, left: operand, right: sum() }
    if (take('word', 'is') !== undefined) {
      const isNegated = take('word', 'not') !== undefined
      require('word', 'null')
      return negated(isNegated, { kind: 'is-null', operand })
    }
    const isNegated = take('word', 'not') !== undefined
    if (take('word', 'in') !== undefined) return negated(isNegated, { kind: 'in', operand, values: list() })
    if (take('word', 'between') !== undefined) {
      const lower = sum()
      require('word', 'and')
      return negated(isNegated, { kind: 'between', operand, lower, upper: sum() })
    }
    return isNegated ? unexpected() : operand
  }

  const arithmetic = (signs: readonly string[], operand: () => Expression): Expression => {
    let left = operand()
    for (let op = take('sign', ...signs); op !== undefined; op = take('sign', ...signs))
      left = { kind: 'arithmetic', op: op as '+' | '-' | '*' | '/', left, right: operand() }
    return left
  }
  const sum = (): Expression => arithmetic(['+', '-'], () => arithmetic(['*', '/'], unary))
  const unary = (): Expression =>
    take('sign', '-') === undefined
      ? primary()
      : { kind: 'arithmetic', op: '-', left: { kind: 'number', nano: 0n }, right: unary() }

  const primary = (): Expression => {
    const number = take('number')
    if (number !== undefined) {
      if (number.length > LONGEST_NUMBER)
        throw new ExpressionError(`must have numbers of at most ${LONGEST_NUMBER} digits`)
      const nano = parseDecimal(number, 9)
      if (nano === undefined)
        throw new ExpressionError(`has the number ${number}, with more than 9 fractional digits`)
      return { kind: 'number', nano }
    }
    const literal = take('text')
    if (literal !== undefined) return { kind: 'text', text: literal }
    const truth = take('word', 'true', 'false')
    if (truth !== undefined) return { kind: 'truth', value: truth === 'true' }
    const quoted = take('quoted')
    if (quoted !== undefined) return { kind: 'column', name: quoted }
    const name = take('name')
    if (name !== undefined)
      return peek().kind === 'sign' && peek().text === '('
        ? { kind: 'call', name: name.toLowerCase(), values: list() }
        : { kind: 'column', name }
    if (take('word', 'case') !== undefined) return cases()
    require('sign', '(')
    const inner = condition()
    require('sign', ')')
    return inner
  }

  const cases = (): Expression => {
    const found: Case[] = []
    while (take('word', 'when') !== undefined) {
      const when = condition()
      require('word', 'then')
      found.push({ when, result: condition() })
    }
    if (found.length === 0) unexpected()
    const otherwise = take('word', 'else') === undefined ? undefined : condition()
    require('word', 'end')
    return { kind: 'case', cases: found, ...(otherwise === undefined ? {} : { otherwise }) }
  }

  const whole = condition()
  return peek().kind === 'end' ? whole : unexpected()
}

function negated(isNegated: boolean, condition: Condition): Condition {
  return isNegated ? { kind: 'not', condition } : condition
}

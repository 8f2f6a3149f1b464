import type { KindField } from './kind-entry.ts'
import { type DescribedKind, tableOfKinds } from './kinds.ts'

/*
 * The functions of the clients that make a query of each kind, written from the table of kinds. Required fields are
 * parameters, and the others are options. Statistics of groups have functions of their own, which are written by hand.
 */

/** Most characters of a line, as the formatters of Python and TypeScript have it. */
const PYTHON_WIDTH = 120
const TYPESCRIPT_WIDTH = 110

interface Parameter {
  readonly name: string
  readonly type: string
}

/** A kind and its fields, divided into those that a function takes by position and its options. */
interface Maker {
  readonly kind: string
  readonly entry: DescribedKind
  readonly given: readonly (readonly [name: string, field: KindField])[]
  readonly optional: readonly (readonly [name: string, field: KindField])[]
}

function makers(): readonly Maker[] {
  return Object.entries(tableOfKinds()).flatMap(([kind, entry]) => {
    const fields = Object.entries(entry.fields)
    if (fields.some(([, { type }]) => type === 'statistics')) return []
    const given = fields.filter(([, { optional }]) => optional === undefined)
    // A choice of the mechanism stands after what the query asks.
    const rank = ({ type }: KindField) => (type === 'choice' ? 1 : 0)
    const optional = fields
      .filter(([, field]) => field.optional)
      .sort(([, one], [, other]) => rank(one) - rank(other))
    return [{ kind, entry, given, optional }]
  })
}

const isPair = ({ type, least, most }: KindField) => type === 'columns' && least === 2 && most === 2
const union = (choices: readonly string[] = [], quote: string, separator: string) =>
  choices.map((choice) => `${quote}${choice}${quote}`).join(separator)

/** Returns `clients/typescript/src/queries.ts` without its notice. */
export function typescriptFunctions(): string {
  const functions = makers().map(typescriptFunction)
  return `import type { ColumnName, Grouping, Where } from './columns.ts'
import type { Decimal } from './decimal.ts'
import {
  type Candidates,
  type Clamp,
  type Counted,
  candidatesOf,
  type NoisyOptions,
  type Options,
  type PerPerson,
  query,
  type SupposableOptions,
} from './query.ts'

/* One function for each kind of query. \`dataset.count(...)\` and the like take the same parameters. */

${functions.join('\n')}`
}

function typescriptFunction({ kind, entry, given, optional }: Maker): string {
  const positions = given.filter(([, { type }]) => type !== 'number')
  const named = [...given.filter(([, { type }]) => type === 'number'), ...optional]
  const inline = named.filter(([, { type }]) => type !== 'counted' && type !== 'perPerson')
  const options = [
    optionsType(entry),
    ...named.flatMap(([, { type }]) =>
      type === 'counted' ? ['Counted'] : type === 'perPerson' ? ['PerPerson'] : [],
    ),
    ...(inline.length === 0 ? [] : [`{ ${inline.map(typescriptOption).join('; ')} }`]),
  ].join(' & ')
  const isRequired = named.some(([, field]) => field.optional === undefined)
  const parameters = positions.flatMap(([name, field]): readonly Parameter[] =>
    isPair(field)
      ? ['column', 'other'].map((each) => ({ name: each, type: 'ColumnName' }))
      : [{ name, type: typescriptType(field) }],
  )
  const fields = positions.map(([name, field]) => {
    if (isPair(field)) return `${name}: [column, other]`
    return field.type === 'candidates' ? `${name}: candidatesOf(${name})` : name
  })
  const listed = parameters.map(({ name, type }) => `${name}: ${type}`)
  return `${comment(entry.description)}
export const ${kind} = (${[...listed, `options: ${options}${isRequired ? '' : ' = {}'}`].join(', ')}) => query('${kind}', { ${fields.join(', ')} }, options)
`
}

function optionsType({ terms }: DescribedKind): string {
  if (terms.includes('supposed')) return 'SupposableOptions'
  return terms.includes('mechanism') ? 'NoisyOptions' : 'Options'
}

function typescriptOption([name, field]: readonly [string, KindField]): string {
  return `readonly ${name}${field.optional ? '?' : ''}: ${typescriptType(field)}`
}

function typescriptType({ type, whole, choices }: KindField): string {
  switch (type) {
    case 'column':
      return 'ColumnName'
    case 'columns':
      return 'readonly ColumnName[]'
    case 'grouping':
      return 'Grouping'
    case 'groupings':
      return 'readonly Grouping[]'
    case 'condition':
      return 'Where'
    case 'candidates':
      return 'Candidates'
    case 'percentages':
    case 'numbers':
    case 'weights':
      return 'Decimal | readonly Decimal[]'
    case 'number':
      return whole ? 'number' : 'Decimal'
    case 'flag':
      return 'boolean'
    case 'choice':
      return union(choices, "'", ' | ')
    case 'text':
      return 'string'
    case 'clamp':
      return 'Clamp'
    case 'clamps':
      return 'Readonly<Record<string, Clamp>>'
    case 'ranges':
      return 'readonly Clamp[]'
    default:
      throw new TypeError(`a parameter of type ${type} is written by hand`)
  }
}

/** Returns `clients/python/src/sotto/queries.py`. */
export function pythonFunctions(notice: string): string {
  const all = makers()
  const names = all.map(({ kind }) => snake(kind)).sort()
  return `"""Queries as values: one function for each kind. A dataset answers, previews, groups and batches them."""

# ${notice}

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from .answers import Cumulative, Keys, Marginals, Percentiles, Regression, Selection, Table, Value
from .columns import ColumnName, Grouping, Where
from .query import (
    Candidates,
    Clamp,
    NoisyOptions,
    Options,
    Per,
    Query,
    Subject,
    SupposableOptions,
    candidates_of,
    grouping_list,
    query_kind,
)

if sys.version_info >= (3, 11):
    from typing import Unpack
else:
    from typing_extensions import Unpack

__all__ = [
${names.map((name) => `    "${name}",\n`).join('')}]

${all.map(pythonFunction).join('\n')}`
}

const PYTHON_RESULTS: Readonly<Record<string, string>> = { Number: 'Value' }

function pythonFunction({ kind, entry, given, optional }: Maker): string {
  const result = PYTHON_RESULTS[entry.result] ?? entry.result
  const fields = [...given, ...optional]
  const parameters = [
    ...fields.flatMap(([name, field]) =>
      isPair(field)
        ? ['column: ColumnName', 'other: ColumnName']
        : [`${snake(name)}: ${pythonType(field)}${field.optional ? ' = None' : ''}`],
    ),
    `**options: Unpack[${optionsType(entry)}]`,
  ]
  const values = fields.map(([name, field]) => `"${snake(name)}": ${pythonValue(name, field)}`)
  return `
@query_kind
${brokenPython(`def ${snake(kind)}(`, parameters, `) -> Query[${result}]:`)}
    """${docstring(entry.description)}"""
    ${brokenPython('return Query(', [`"${kind}"`, pythonFields(values), 'options'], ')', '    ')}
`
}

/** A dictionary as ruff formats an argument of a call: on one line, or an entry on each. */
function pythonFields(values: readonly string[]): string {
  const line = `{${values.join(', ')}}`
  if (`        ${line},`.length <= PYTHON_WIDTH) return line
  return `{\n${values.map((each) => `            ${each},\n`).join('')}        }`
}

function pythonType(field: KindField): string {
  const type = plainPythonType(field)
  return field.optional && type !== 'Any' ? `${type} | None` : type
}

function plainPythonType({ type, whole, choices, least = 0 }: KindField): string {
  switch (type) {
    case 'column':
      return 'ColumnName'
    case 'columns':
      return 'Iterable[ColumnName]'
    case 'grouping':
      return 'Grouping'
    case 'groupings':
      return least > 1 ? 'Iterable[Grouping]' : 'Grouping | Iterable[Grouping]'
    case 'condition':
      return 'Where'
    case 'candidates':
      return 'Candidates'
    case 'counted':
      return 'Subject'
    case 'perPerson':
      return 'Per'
    case 'clamp':
      return 'Clamp'
    case 'clamps':
      return 'Mapping[str, Clamp]'
    case 'ranges':
      return 'Iterable[Clamp]'
    case 'percentages':
    case 'numbers':
    case 'weights':
      return 'Any'
    case 'number':
      return whole ? 'int' : 'Any'
    case 'flag':
      return 'bool'
    case 'choice':
      return `Literal[${union(choices, '"', ', ')}]`
    case 'text':
      return 'str'
    default:
      throw new TypeError(`a parameter of type ${type} is written by hand`)
  }
}

function pythonValue(name: string, field: KindField): string {
  if (isPair(field)) return '[column, other]'
  switch (field.type) {
    case 'columns':
      return `list(${snake(name)})`
    case 'groupings':
      return `grouping_list(${snake(name)})`
    case 'candidates':
      return `candidates_of(${snake(name)})`
    default:
      return snake(name)
  }
}

/** Breaks a signature or a call as ruff does: the parameters on a line of their own, or each on one. */
function brokenPython(open: string, parameters: readonly string[], close: string, indent = ''): string {
  const line = `${open}${parameters.join(', ')}${close}`
  if (indent.length + line.length <= PYTHON_WIDTH) return line
  const inner = `${indent}    ${parameters.join(', ')}`
  if (inner.length <= PYTHON_WIDTH) return `${open}\n${inner}\n${indent}${close}`
  return `${open}\n${parameters.map((each) => `${indent}    ${each},\n`).join('')}${indent}${close}`
}

/** Returns a description as a docstring: its first sentence, then the others. */
function docstring(description: string): string {
  const [, first = '', others = ''] = /^(.*?\.)(?: (.*))?$/s.exec(description) ?? []
  const lines = (text: string, used: number) => wrapped(text, PYTHON_WIDTH - 4, '', used).join('\n    ')
  // The quotation marks stand on the first and on the last line.
  return others === '' ? lines(first, 6) : `${lines(first, 3)}\n\n    ${lines(others, 0)}\n    `
}

/** Returns a description as a comment of TypeScript. */
function comment(description: string): string {
  const line = `/** ${description} */`
  if (line.length <= TYPESCRIPT_WIDTH) return line
  return ['/**', ...wrapped(description, TYPESCRIPT_WIDTH - 3).map((each) => ` * ${each}`), ' */'].join('\n')
}

/**
 * Breaks a text between words.
 * @param indent stands before all lines but the first
 * @param used number of characters of the first line that are taken
 */
export function wrapped(text: string, width: number, indent = '', used = 0): readonly string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    const taken = lines.length === 1 ? used : 0
    if (last !== undefined && taken + last.length + 1 + word.length <= width)
      lines[lines.length - 1] = `${last} ${word}`
    else lines.push(last === undefined ? word : indent + word)
  }
  return lines
}

/** Returns `clients/python/src/sotto/asking.py`. */
export function pythonMethods(notice: string): string {
  const names = makers().map(({ kind }) => snake(kind))
  const methods = (asks: string) => names.map((name) => `    ${name} = ${asks}(queries.${name})\n`).join('')
  return `"""Methods of the datasets of both clients that ask a query of each kind."""

# ${notice}

from . import queries
from .methods import asks, asks_async


class Asking:
    """Asks a query of each kind and returns its answer."""

${methods('asks')}

class AsyncAsking:
    """Asks a query of each kind and returns a coroutine of its answer."""

${methods('asks_async')}`
}

/** Returns `clients/r/R/questions.R`. */
export function rFunctions(notice: string): string {
  const functions = makers().map((maker) => {
    const values = fieldsOf(maker).map(([name, field]) => `${snake(name)} = ${rValue(name, field)}`)
    const body = `question("${maker.kind}", list(${values.join(', ')}), ...)`
    return `${rName(maker)} <- function(${rParameters(maker)}) {\n  ${body}\n}\n`
  })
  return `# ${notice}\n\n${functions.join('\n')}`
}

/** Returns `clients/r/man/sotto_questions.Rd`, the help page of these functions. */
export function rHelp(notice: string): string {
  const all = makers()
  const listed = (line: (maker: Maker) => string) => all.map((maker) => `${line(maker)}\n`).join('')
  const names = new Set(all.flatMap((maker) => fieldsOf(maker).flatMap(rParameterNames)))
  return `% ${notice}
\\name{sotto_questions}
${listed((maker) => `\\alias{${rName(maker)}}`)}\\title{Questions}
\\description{
Each function makes a question, which \\code{\\link{sotto_ask}} answers.
\\describe{
${listed((maker) => `\\item{\\code{${rName(maker)}}}{${maker.entry.description.replaceAll(/[%{}\\]/g, '\\$&')}}`)}}
}
\\usage{
${listed((maker) => `${rName(maker)}(${rParameters(maker)})`)}}
\\arguments{
\\item{${[...names].join(', ')}}{Fields of the question: names of columns, numbers, and conditions as formulas. The guide of
  the service describes each kind of question.}
\\item{\\dots}{Options by name: \\code{epsilon}, or \\code{half_width} and \\code{confidence}; \\code{where}, a condition such as
  \\code{~ Age >= 65 & Sex == "F"}; \\code{contribution}, such as \\code{list(rows = 5)}; \\code{mechanism}, \\code{calibration},
  \\code{delta}, \\code{postprocess}, \\code{supposed}.}
}
\\value{A question.}
`
}

const fieldsOf = ({ given, optional }: Maker) => [...given, ...optional]
const rName = ({ kind }: Maker) => `sotto_${snake(kind)}`

function rParameterNames([name, field]: readonly [string, KindField]): readonly string[] {
  return isPair(field) ? ['column', 'other'] : [snake(name)]
}

function rParameters(maker: Maker): string {
  const parameters = fieldsOf(maker).flatMap((named) =>
    rParameterNames(named).map((name) => (named[1].optional ? `${name} = NULL` : name)),
  )
  return [...parameters, '...'].join(', ')
}

function rValue(name: string, field: KindField): string {
  if (isPair(field)) return 'list(column, other)'
  switch (field.type) {
    case 'columns':
      return `as.list(${snake(name)})`
    case 'groupings':
      return `groupings(${snake(name)})`
    case 'candidates':
      return `candidates_of(${snake(name)})`
    default:
      return snake(name)
  }
}

function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

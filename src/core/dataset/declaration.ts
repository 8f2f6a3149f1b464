import type { z } from 'zod'
import type { dataset, registration } from '../../../schemas/datasets/dataset.ts'
import { decimalFromNumber } from '../../privacy/decimal.ts'
import { defined } from '../../privacy/defined.ts'
import { EPSILON_FRACTION_DIGITS, epsilonFromWire, epsilonNano } from '../../privacy/loss.ts'
import { divideRoundingDown } from '../../privacy/rational.ts'
import { type FieldError, refuseField, requireNone } from '../../privacy/refusal.ts'
import { findColumn } from '../planner/language/columns.ts'
import type {
  Column,
  Dataset,
  GridColumn,
  InvalidValueRule,
  QueryableColumn,
  QueryLimits,
  StringColumn,
} from './dataset.ts'
import { ONE_NANO, parseGridValue, valueOfIndex } from './grid-value.ts'
import { LONGEST_SPAN_SECONDS, timeZoneNamed } from './iso-time.ts'
import { joinTree } from './joins.ts'
import { DEFAULT_SELECTABLE, LONGEST_TEXT, MOST_CHARACTERS, MOST_TEXTS, MOST_VALUES } from './value-limits.ts'

/** Largest number of digits after the decimal point of bounds and steps. */
const GRID_FRACTION_DIGITS = EPSILON_FRACTION_DIGITS
/** Largest grid index. Up to it indexes are exact in doubles, and sums of 10^22 rows fit into 128 bits. */
const LARGEST_INDEX = 2n ** 53n

/** A custodian's declaration of a dataset's public facts. */
export type DatasetDeclaration = Pick<z.output<typeof registration>, 'derived'> &
  Omit<
    z.output<typeof dataset>,
    | 'derived'
    | 'version'
    | 'reachable'
    | 'rows'
    | 'people'
    | 'coverage'
    | 'coverageStatement'
    | 'registeredAt'
    | 'suspended'
  >

/** A custodian's declaration of one column. */
export type ColumnDeclaration = DatasetDeclaration['columns'][number]

type IdentifierDeclaration = Extract<ColumnDeclaration, { type: 'identifier' }>
type QueryableDeclaration = Exclude<ColumnDeclaration, IdentifierDeclaration>

/** Least epsilon of a query over real people, where a registration declares none: 1,000 queries for an epsilon of 1. */
const DEFAULT_MIN_EPSILON = 0.001

/** Declarations that have defaults, for a registration without them. */
export function defaultDeclarations({
  synthetic,
}: Pick<DatasetDeclaration, 'synthetic'>): Pick<
  DatasetDeclaration,
  'timing' | 'failureLimit' | 'queryLimits'
> {
  // Made-up people need no protection from timing attacks, or from many small questions.
  return {
    timing: synthetic ? 'off' : { slotMs: 50 },
    failureLimit: 3,
    queryLimits: synthetic ? {} : { minEpsilon: DEFAULT_MIN_EPSILON },
  }
}

/** Returns columns with their limits written out, as they are stored and shown. */
export function withSelectableLimits(columns: readonly ColumnDeclaration[]): readonly ColumnDeclaration[] {
  return columns.map((column) =>
    column.type === 'string' && column.selectable === true
      ? { ...column, selectable: DEFAULT_SELECTABLE }
      : column,
  )
}

/**
 * Converts a declaration to a dataset, with its numbers as exact grid indexes.
 *
 * @param version identifies the content and the declaration together
 * @param units public number of privacy units: rows or people; ignored under `add-remove`, where it is private
 * @throws Refusal listing every field that breaks a rule.
 */
export function declareDataset(declaration: DatasetDeclaration, version: string, units?: number): Dataset {
  const columns = declareColumns(declaration)
  const { privacyUnit, neighbours } = declaration
  return declareDerived(declaration, {
    id: declaration.id,
    title: declaration.title,
    version,
    source: declaration.source,
    columns,
    privacyUnit,
    neighbours,
    synthetic: declaration.synthetic,
    accounting: declaration.accounting,
    sharing: declaration.sharing,
    timing: declaration.timing,
    failureLimit: declaration.failureLimit,
    queryLimits: declareQueryLimits(declaration),
    ...declareLeftOut(declaration),
    ...(units === undefined || neighbours === 'add-remove'
      ? {}
      : privacyUnit.kind === 'row'
        ? { rows: units }
        : { people: units }),
  })
}

/**
 * Adds the derived columns of a declaration, each of which may use those before it.
 * @throws Refusal listing every field that breaks a rule.
 */
function declareDerived({ derived = [] }: DatasetDeclaration, dataset: Dataset): Dataset {
  const errors: FieldError[] = []
  const names = new Set(dataset.columns.map(({ name }) => caseFolded(name)))
  const declared: QueryableColumn[] = []
  for (const [position, { name, expression }] of derived.entries()) {
    const report = (field: string, rule: string) =>
      errors.push({ field: `derived.${position}.${field}`, rule })
    const before = { ...dataset, derived: [...declared] }
    const meant = findColumn(before, name)
    if (names.has(caseFolded(name))) report('name', DIFFERENT_NAME)
    // It would change what questions and the expressions after it mean.
    else if ('column' in meant) report('name', `must not stand for ${meant.column.name} already`)
    names.add(caseFolded(name))
    const found = findColumn(before, expression)
    if (!('column' in found))
      report('expression', `as an expression ${found.rule ?? `names no column "${expression}"`}`)
    else if (found.column.formula === undefined || found.column.expression !== undefined)
      report('expression', `must compute a column of its own, and this is ${found.column.name}`)
    else declared.push({ ...found.column, name, expression: found.column.name })
  }
  requireNone(errors)
  return declared.length === 0 ? dataset : { ...dataset, derived: declared }
}

const DIFFERENT_NAME = 'must differ from every other column, in more than upper and lower case'

/**
 * Converts the columns of a declaration.
 * @throws Refusal listing every field that breaks a rule.
 */
export function declareColumns(declaration: DatasetDeclaration): readonly Column[] {
  const errors: FieldError[] = []
  const add: Report = (field, rule) => errors.push({ field, rule })
  checkPrivacyUnit(declaration, add)
  joinTree(declaration, add)
  const columns = declaration.columns.map((column, position) => {
    const report = (name: string, rule: string) => errors.push({ field: `columns.${position}.${name}`, rule })
    const name = caseFolded(column.name)
    // Databases compare identifiers case-insensitively, so two such columns would be one.
    const first = declaration.columns.findIndex((other) => caseFolded(other.name) === name)
    if (first !== position) report('name', DIFFERENT_NAME)
    return declareColumn(column, report)
  })
  requireNone(errors)
  return columns
}

/**
 * Converts the limits on queries of a declaration.
 * @throws Refusal `invalid-request` for a limit that no query could have, or limits that contradict each other.
 */
export function declareQueryLimits({ queryLimits }: Pick<DatasetDeclaration, 'queryLimits'>): QueryLimits {
  const { minEpsilon, minHalfWidth } = queryLimits
  const [minEpsilonNano, maxEpsilonNano] = (['minEpsilon', 'maxEpsilon'] as const).map((name) => {
    const epsilon = queryLimits[name]
    return epsilon === undefined ? undefined : epsilonFromWire(epsilon, `queryLimits.${name}`)
  })
  if (minEpsilonNano !== undefined && maxEpsilonNano !== undefined && maxEpsilonNano < minEpsilonNano)
    throw refuseField(
      'invalid-request',
      'queryLimits.maxEpsilon',
      `must be at least minEpsilon, ${minEpsilon}`,
    )
  if (minHalfWidth !== undefined && !(minHalfWidth > 0))
    throw refuseField('invalid-request', 'queryLimits.minHalfWidth', 'must be greater than 0')
  return defined({ minEpsilonNano, maxEpsilonNano, minHalfWidth })
}

/**
 * Converts the price of measuring what `maxRows` leaves out.
 * @throws Refusal `invalid-request` for one that is out of range, or where rows are the privacy units.
 */
export function declareLeftOut({
  leftOut,
  privacyUnit,
}: Pick<DatasetDeclaration, 'leftOut' | 'privacyUnit'>): Pick<Dataset, 'leftOutNano'> {
  if (leftOut === undefined) return {}
  if (privacyUnit.kind === 'row')
    throw refuseField('invalid-request', 'leftOut', 'applies only where the privacy unit is a person')
  const { epsilon } = leftOut
  return { leftOutNano: epsilon === 0 ? epsilonNano(0n) : epsilonFromWire(epsilon, 'leftOut.epsilon') }
}

/** Start of the names of columns that ingestion adds. */
const RESERVED_PREFIX = 'sotto_'

/**
 * Refuses names of columns that are reserved. Only new registrations are checked: a dataset that was registered before
 * the rule has none of the added columns.
 * @throws Refusal `invalid-request` naming the column.
 */
export function requireUnreservedNames({ columns, derived = [] }: DatasetDeclaration): void {
  for (const [list, named] of Object.entries({ columns, derived }))
    for (const [position, { name }] of named.entries())
      if (caseFolded(name).startsWith(RESERVED_PREFIX))
        throw refuseField(
          'invalid-request',
          `${list}.${position}.name`,
          `must not start with "${RESERVED_PREFIX}"`,
        )
}

/**
 * Returns a name in a form that is equal for names which differ in upper and lower case only, such as `Maß` and `MASS`.
 */
function caseFolded(name: string): string {
  // `ẞ` has the lower case `ß`, whose upper case is `SS`; without the first step it would differ from `ß`.
  return name.toLowerCase().toUpperCase().toLowerCase()
}

type Report = (field: string, rule: string) => void

function checkPrivacyUnit({ privacyUnit, columns }: DatasetDeclaration, report: Report): void {
  switch (privacyUnit.kind) {
    case 'row':
      for (const [position, column] of columns.entries())
        if ('constantPerPerson' in column && column.constantPerPerson)
          report(`columns.${position}.constantPerPerson`, 'must not be set where each row is another person')
      return
    case 'person': {
      const column = columns.find(({ name }) => name === privacyUnit.column)
      if (column === undefined) report('privacyUnit.column', 'must be the name of a declared column')
      else if (column.type !== 'identifier')
        report(
          'privacyUnit.column',
          `must be a column of type identifier; ${column.name} is of type ${column.type}`,
        )
      const { maxRows, plausibleRows = maxRows } = privacyUnit
      if (plausibleRows < maxRows) report('privacyUnit.plausibleRows', `must be at least maxRows, ${maxRows}`)
    }
  }
}

function declareColumn(declared: ColumnDeclaration, report: Report): Column {
  if (declared.type === 'identifier') return declareIdentifier(declared, report)
  const facts = {
    name: declared.name,
    nullable: declared.nullable,
    ...(declared.constantPerPerson ? { constantPerPerson: true } : {}),
  }
  switch (declared.type) {
    case 'integer':
    case 'number': {
      const { type } = declared
      const grid = { ...declareGrid(declared, report), ...declareRankable(declared, report) }
      const invalidValue = invalidValueRule(declared, report, (value) => gridIndex(value, { ...grid, type }))
      return { ...facts, ...grid, type, invalidValue }
    }
    case 'date':
    case 'timestamp': {
      const { type, dateFormat } = declared
      const grid = { ...declareGrid(declared, report), ...declareRankable(declared, report), dateFormat }
      const invalidValue = invalidValueRule(declared, report, (value) => gridIndex(value, { ...grid, type }))
      if (type === 'date') return { ...facts, ...grid, type, invalidValue }
      const timeZone = declareTimeZone(declared.timeZone, grid, report)
      return { ...facts, ...grid, type, timeZone, invalidValue }
    }
    case 'boolean': {
      const parse = (value: unknown): Parsed<boolean> =>
        typeof value === 'boolean' ? { value } : { rule: 'must be true or false' }
      return { ...facts, type: 'boolean', invalidValue: invalidValueRule(declared, report, parse) }
    }
    case 'category': {
      if (new Set(declared.categories).size !== declared.categories.length) {
        report('categories', 'must not contain a category twice')
      }
      const parse = (value: unknown): Parsed<number> => {
        const index = declared.categories.indexOf(String(value))
        return index === -1 ? { rule: 'must be one of the declared categories' } : { value: index }
      }
      const invalidValue = invalidValueRule(declared, report, parse)
      return { ...facts, type: 'category', categories: declared.categories, invalidValue }
    }
    case 'string': {
      const parse = (value: unknown): Parsed<string> =>
        typeof value === 'string' ? { value } : { rule: 'must be a string' }
      return {
        ...facts,
        type: 'string',
        ...declareSelectable(declared, report),
        invalidValue: invalidValueRule(declared, report, parse),
      }
    }
  }
}

/** A row without an identifier belongs to no known person, so no value can be stored in its place. */
function declareIdentifier(declared: IdentifierDeclaration, report: Report): Column {
  const { name, nullable, onInvalidValue = 'refuse' } = declared
  if (nullable && onInvalidValue === 'refuse')
    report('onInvalidValue', 'must be "dropRow" for an identifier that is nullable')
  return {
    type: 'identifier',
    name,
    nullable,
    invalidValue: onInvalidValue === 'dropRow' ? { kind: 'drop-row' } : { kind: 'refuse' },
  }
}

/** A replacement in its stored form, or the rule that it breaks. */
type Parsed<Value> = { readonly value: Value } | { readonly rule: string }

function invalidValueRule(
  declared: QueryableDeclaration,
  report: Report,
  parse: (value: unknown) => Parsed<bigint | number | boolean | string>,
): InvalidValueRule {
  const rule = declared.onInvalidValue ?? (declared.nullable ? 'null' : 'refuse')
  if (rule === 'refuse') return { kind: 'refuse' }
  if (rule === 'null') {
    if (!declared.nullable) report('onInvalidValue', 'must not be "null" for a column that is not nullable')
    return { kind: 'null' }
  }
  const parsed = parse(rule.replaceWith)
  if ('value' in parsed) return { kind: 'replace', value: parsed.value }
  report('onInvalidValue.replaceWith', parsed.rule)
  return { kind: 'refuse' }
}

function declareRankable({ rankable }: GridDeclaration, report: Report): Pick<GridColumn, 'rankable'> {
  if (rankable === undefined) return {}
  if (!isLimit(rankable.maxValues, MOST_VALUES))
    report('rankable.maxValues', `must be a whole number from 1 to ${MOST_VALUES}`)
  return { rankable }
}

function declareSelectable(
  { selectable: declared = false }: Extract<ColumnDeclaration, { type: 'string' }>,
  report: Report,
): Pick<StringColumn, 'selectable'> {
  if (declared === false) return {}
  const selectable = declared === true ? DEFAULT_SELECTABLE : declared
  const { maxValues, maxLength } = selectable
  if (!isLimit(maxValues, MOST_TEXTS))
    report('selectable.maxValues', `must be a whole number from 1 to ${MOST_TEXTS}`)
  if (!isLimit(maxLength, LONGEST_TEXT))
    report('selectable.maxLength', `must be a whole number from 1 to ${LONGEST_TEXT}`)
  if (maxValues * maxLength > MOST_CHARACTERS)
    report('selectable', `must allow at most ${MOST_CHARACTERS} characters in all: maxValues times maxLength`)
  return { selectable }
}

function isLimit(limit: number, most: number): boolean {
  return Number.isInteger(limit) && limit >= 1 && limit <= most
}

type GridDeclaration = Extract<ColumnDeclaration, { step: number }>
type Grid = Pick<GridColumn, 'stepNano' | 'lowerIndex' | 'upperIndex'>

/** Stands for a bound that was reported, so that the other rules of the declaration can be checked. */
const UNKNOWN_BOUND = { nano: 0n, index: 0n }

function declareGrid(declared: GridDeclaration, report: Report): Grid {
  const stepNano = declareStep(declared, report)
  const bound = (name: 'lower' | 'upper') => {
    const parsed = parseGridValue(declared.type, declared[name])
    if ('rule' in parsed) {
      report(name, parsed.rule)
      return UNKNOWN_BOUND
    }
    const index = divideRoundingDown(parsed.nano, stepNano)
    if (parsed.nano % stepNano !== 0n) report(name, notOnGrid(declared.type, stepNano, index))
    if (index > LARGEST_INDEX || index < -LARGEST_INDEX) report(name, 'must be within 2^53 steps of 0')
    return { nano: parsed.nano, index }
  }
  const [lower, upper] = [bound('lower'), bound('upper')]
  if (lower !== UNKNOWN_BOUND && upper !== UNKNOWN_BOUND && lower.nano >= upper.nano)
    report('upper', 'must be greater than lower')
  return { stepNano, lowerIndex: lower.index, upperIndex: upper.index }
}

/** Returns the rule that a value between two steps breaks. The steps of times are hard to find, so it names one. */
function notOnGrid(type: GridColumn['type'], stepNano: bigint, indexBefore: bigint): string {
  if (type === 'integer' || type === 'number') return 'must be a multiple of step'
  const before = valueOfIndex({ type, stepNano }, indexBefore)
  return `must be a whole number of steps from 1970-01-01, such as "${before}"`
}

/** Returns the step in 1e-9 of the column's unit. */
function declareStep({ type, step }: GridDeclaration, report: Report): bigint {
  const nano = decimalFromNumber(step, GRID_FRACTION_DIGITS)
  const isPositive = nano !== undefined && nano > 0n
  if (type === 'number' && !isPositive)
    report('step', 'must be greater than 0, with at most 9 fractional digits')
  else if (type !== 'number' && !(isPositive && nano % ONE_NANO === 0n)) {
    const what = {
      integer: 'number for an integer column',
      date: 'number of days',
      timestamp: 'number of seconds',
    }
    report('step', `must be a whole ${what[type]}, at least 1`)
  }
  return isPositive ? nano : ONE_NANO
}

function declareTimeZone(
  declared: string,
  { lowerIndex, upperIndex, stepNano }: Grid,
  report: Report,
): string {
  const timeZone = timeZoneNamed(declared)
  if (timeZone === undefined) {
    report('timeZone', 'must be the name of an IANA time zone, such as "Europe/Berlin"')
    return 'UTC'
  }
  if (timeZone !== 'UTC' && (upperIndex - lowerIndex) * stepNano > LONGEST_SPAN_SECONDS * ONE_NANO)
    report('timeZone', 'must be "UTC" if the bounds are more than 400 years apart')
  return timeZone
}

function gridIndex(value: unknown, grid: Grid & Pick<GridColumn, 'type'>): Parsed<bigint> {
  const parsed = parseGridValue(grid.type, value)
  if ('rule' in parsed) return parsed
  if (parsed.nano % grid.stepNano !== 0n) {
    return { rule: notOnGrid(grid.type, grid.stepNano, divideRoundingDown(parsed.nano, grid.stepNano)) }
  }
  const index = parsed.nano / grid.stepNano
  return index < grid.lowerIndex || index > grid.upperIndex
    ? { rule: 'must lie within lower and upper' }
    : { value: index }
}

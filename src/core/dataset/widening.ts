import { type FieldError, requireNone } from '../../privacy/refusal.ts'
import type { ColumnDeclaration, DatasetDeclaration } from './declaration.ts'
import { parseGridValue } from './grid-value.ts'

type DeclaredColumns = Pick<DatasetDeclaration, 'columns' | 'derived'>
type Report = (field: string, rule: string) => void

/**
 * Checks that the columns of a new version widen those of the version before: every question that could be asked before
 * can still be asked and means the same.
 *
 * Allowed are further columns, further categories after the known ones, wider bounds, values that may be missing, higher
 * limits on values, and columns that need not be constant per person. How values that do not fit are treated may change.
 * Derived columns keep their expressions, to the letter.
 * @throws Refusal `invalid-request` listing every field that narrows or changes a column.
 */
export function requireWidening(before: DeclaredColumns, after: DeclaredColumns): void {
  const errors: FieldError[] = []
  for (const column of before.columns) {
    const position = after.columns.findIndex(({ name }) => name === column.name)
    const widened = after.columns[position]
    const report: Report = (field, rule) =>
      errors.push({ field: `columns.${position === -1 ? after.columns.length : position}.${field}`, rule })
    if (widened === undefined) report('name', `must be ${column.name}: a new version keeps every column`)
    else checkColumn(column, widened, report)
  }
  const { derived = [] } = after
  for (const { name, expression } of before.derived ?? []) {
    const found = derived.findIndex((each) => each.name === name)
    const position = found === -1 ? derived.length : found
    const report: Report = (field, rule) => errors.push({ field: `derived.${position}.${field}`, rule })
    if (found === -1) report('name', `must be ${name}: a new version keeps every column`)
    else if (derived[found]?.expression !== expression)
      report('expression', `must be "${expression}", as in the version before`)
  }
  requireNone(errors)
}

function checkColumn(before: ColumnDeclaration, after: ColumnDeclaration, report: Report): void {
  if (before.type !== after.type) {
    report('type', `must be ${before.type}, as in the version before`)
    return
  }
  if (before.nullable && !after.nullable) report('nullable', 'must be true, as in the version before')
  if ('constantPerPerson' in after && after.constantPerPerson && !isConstant(before))
    report('constantPerPerson', 'must not be added by a new version')
  if ('step' in before && 'step' in after) checkGrid(before, after, report)
  if (before.type === 'category' && after.type === 'category') {
    if (before.categories.some((category, index) => after.categories[index] !== category))
      report('categories', 'must begin with the categories of the version before, in the same order')
  }
  if (before.type === 'string' && after.type === 'string')
    checkSelectable(before.selectable, after.selectable, report)
}

function isConstant(column: ColumnDeclaration): boolean {
  return 'constantPerPerson' in column && column.constantPerPerson === true
}

type GridDeclaration = Extract<ColumnDeclaration, { step: number }>

function checkGrid(before: GridDeclaration, after: GridDeclaration, report: Report): void {
  const [old, now] = [before, after].map(readingOf)
  for (const [name, value] of Object.entries(old ?? {}))
    if (now?.[name] !== value) report(name, `must be ${JSON.stringify(value)}, as in the version before`)
  if (isBelow(before, before.lower, after.lower))
    report('lower', `must be at most ${before.lower}, the bound of the version before`)
  if (isBelow(before, after.upper, before.upper))
    report('upper', `must be at least ${before.upper}, the bound of the version before`)
  const [limitBefore, limitAfter] = [before.rankable?.maxValues, after.rankable?.maxValues]
  if (limitBefore !== undefined && (limitAfter === undefined || limitAfter < limitBefore))
    report('rankable', `must allow at least ${limitBefore} values, as the version before`)
}

/** The declarations that determine which grid point a value of the source becomes. */
function readingOf(column: GridDeclaration): Readonly<Record<string, unknown>> {
  return {
    step: column.step,
    ...('dateFormat' in column ? { dateFormat: column.dateFormat } : {}),
    ...('timeZone' in column ? { timeZone: column.timeZone } : {}),
  }
}

/** False for a text that is no bound, which the check of the declaration refuses. */
function isBelow({ type }: GridDeclaration, first: number | string, second: number | string): boolean {
  const [one, other] = [parseGridValue(type, first), parseGridValue(type, second)]
  return 'nano' in one && 'nano' in other && one.nano < other.nano
}

type Selectable = Extract<ColumnDeclaration, { type: 'string' }>['selectable']

/** Limits are written out before declarations are compared. */
function checkSelectable(before: Selectable, after: Selectable, report: Report): void {
  if (typeof before !== 'object') return
  for (const name of ['maxValues', 'maxLength'] as const)
    if (typeof after !== 'object' || after[name] < before[name])
      report('selectable', `must allow a ${name} of at least ${before[name]}, as the version before`)
}

import type { Expression, Statement, Target } from './statement.ts'

/* Expressions as trees, whatever they mean. */

/** A statement, or a part of one, with expressions. */
type Parts = Partial<Statement>

/** Changes the parts of an expression or a statement. The depth of expressions is bounded by the syntax that is allowed. */
export function mapParts<Whole extends Expression | Parts>(
  whole: Whole,
  change: (part: Expression) => Expression,
): Whole {
  const changed = Object.entries(whole).map(([name, value]) => [name, changedIn(value, change)] as const)
  return Object.fromEntries(changed) as Whole
}

function changedIn(value: unknown, change: (part: Expression) => Expression): unknown {
  if (Array.isArray(value)) return value.map((each) => changedIn(each, change))
  if (typeof value !== 'object' || value === null) return value
  if ('kind' in value) return change(value as Expression)
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, changedIn(each, change)]))
}

/** True if an expression or a part of it passes a test. */
export function contains(expression: Expression | Parts, test: (part: Expression) => boolean): boolean {
  let found = 'kind' in expression && test(expression)
  mapParts(expression, (part) => {
    found ||= contains(part, test)
    return part
  })
  return found
}

/** True for a window function, which is none of the aggregates. */
export function isWindow(expression: Expression): boolean {
  return expression.kind === 'call' && expression.over !== undefined
}

/** Returns a text that is the same for expressions that are written in the same way. */
export function withoutPlaces(expression: Expression): string {
  return JSON.stringify(expression, (name, part: unknown) => (name === 'at' ? undefined : part))
}

/** The name of a column of a SELECT list that has none by itself. */
export const UNNAMED = 'column'

/** The name of a column of a SELECT list as PostgreSQL chooses it; `undefined` for one without a name. */
export function nameOf({ alias, expression }: Target): string | undefined {
  if (alias !== undefined) return alias
  switch (expression.kind) {
    case 'column':
    case 'call':
      return expression.name
    case 'case':
      return nameOfCase(expression.otherwise)
    case 'cast':
      return nameOf({ expression: expression.value })
    default:
      return undefined
  }
}

function nameOfCase(otherwise: Expression | undefined): string {
  return (otherwise && otherwise.kind === 'column' ? otherwise.name : undefined) ?? 'case'
}

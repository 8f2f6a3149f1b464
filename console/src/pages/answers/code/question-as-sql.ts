import { KINDS } from '../../../api/kinds.ts'
import { isRecord } from '../../../format/json.ts'
import { type AskedQuestion, entryOf } from '../question-text.ts'

/** Fields of a question that stand beside a statement: its price, its bounds on people, and its options. */
const TERMS = [...new Set(Object.values(KINDS).flatMap(({ terms }) => terms))]
const BESIDE = ['kind', 'where', ...TERMS]

/** Returns what a question states beside its statement. A request has the statement as `sql`, and these fields. */
export function statedBeside(question: AskedQuestion): AskedQuestion {
  return Object.fromEntries(
    TERMS.flatMap((name) => (question[name] === undefined ? [] : [[name, question[name]]])),
  )
}

/**
 * Returns a question as a SELECT statement, or undefined if SQL cannot say it.
 * @param person name of the column that identifies people, by which they are counted
 */
export function sqlOf(question: AskedQuestion, dataset: string, person?: string): string | undefined {
  const where = question.where === undefined ? '' : conditionSql(question.where)
  const selected = selectionOf(question, person)
  if (where === undefined || selected === undefined) return undefined
  return [
    `SELECT ${selected.list.join(', ')}`,
    `FROM ${name(dataset)}`,
    ...(where === '' ? [] : [`WHERE ${where}`]),
    ...(selected.keys.length === 0 ? [] : [`GROUP BY ${selected.keys.join(', ')}`]),
  ].join('\n')
}

interface Selection {
  readonly list: readonly string[]
  readonly keys: readonly string[]
}

function selectionOf(question: AskedQuestion, person?: string): Selection | undefined {
  const { kind, column, columns, keys, statistics, of } = question
  const counts = [of === undefined ? { kind: 'count' } : { kind: 'count', of }]
  if (kind === 'histogram')
    return hasOnly(question, 'column', 'of') ? grouped([column], counts, person) : undefined
  if (kind === 'contingency')
    return hasOnly(question, 'columns', 'of') && Array.isArray(columns)
      ? grouped(columns, counts, person)
      : undefined
  if (kind === 'groupBy')
    return Array.isArray(keys) && Array.isArray(statistics) && !isSimpler(keys, statistics)
      ? grouped(keys, statistics, person)
      : undefined
  const statistic = statisticSql(question, person)
  return statistic === undefined ? undefined : { list: [statistic], keys: [] }
}

/**
 * True for statistics of groups whose statement is translated to a question of another kind, with a release of its own:
 * one statistic of all rows, and one count of groups.
 */
function isSimpler(keys: readonly unknown[], statistics: readonly unknown[]): boolean {
  const [only, ...others] = statistics
  return others.length === 0 && (keys.length === 0 || (isRecord(only) && only.kind === 'count'))
}

function grouped(
  keys: readonly unknown[],
  statistics: readonly unknown[],
  person?: string,
): Selection | undefined {
  const named = keys.map(keySql)
  const listed = statistics.map((each) => (isRecord(each) ? statisticSql(each, person) : undefined))
  const all = [...named, ...listed]
  if (all.includes(undefined)) return undefined
  return { list: all as string[], keys: named as string[] }
}

/** Periods that `date_trunc` has. */
const TRUNCATED = ['year', 'quarter', 'month', 'week', 'day', 'hour']

function keySql(key: unknown): string | undefined {
  if (typeof key === 'string') return name(key)
  if (!isRecord(key) || typeof key.column !== 'string') return undefined
  const { column, by } = key
  // `width_bucket` also has bins below the first edge and above the last.
  if (Object.keys(key).length > 2 || !TRUNCATED.includes(String(by))) return undefined
  return `date_trunc('${by}', ${name(column)})`
}

function statisticSql(statistic: AskedQuestion, person?: string): string | undefined {
  const { kind, column, of } = statistic
  if (kind === 'count' && of === 'people')
    return person === undefined ? undefined : `COUNT(DISTINCT ${name(person)})`
  if (kind === 'count') return hasOnly(statistic, 'of') ? 'COUNT(*)' : undefined
  if (kind === 'median')
    return hasOnly(statistic, 'column', 'clamp')
      ? `percentile_disc(0.5) WITHIN GROUP (ORDER BY ${columnSql(column, statistic)})`
      : undefined
  return aggregateSql(statistic)
}

/** Returns the aggregate of a kind whose only fields are its columns. */
function aggregateSql(statistic: AskedQuestion): string | undefined {
  const { aggregate, fields = {} } = entryOf(statistic) ?? {}
  const names = Object.keys(fields).filter((field) => /^columns?$/.test(fields[field]?.type ?? ''))
  if (aggregate === undefined || !hasOnly(statistic, 'clamp', ...names)) return undefined
  const columns = names.flatMap((field) => statistic[field])
  return columns.length === 0
    ? undefined
    : `${aggregate}(${columns.map((each) => columnSql(each, statistic)).join(', ')})`
}

/** Returns a column, clamped if the question clamps it. */
function columnSql(column: unknown, { clamp }: AskedQuestion): string {
  const own = isRecord(clamp) && isRecord(clamp[String(column)]) ? clamp[String(column)] : clamp
  const quoted = name(String(column))
  if (!isRecord(own) || isRecord(own.lower) || own.lower === undefined) return quoted
  return `LEAST(GREATEST(${quoted}, ${literal(own.lower)}), ${literal(own.upper)})`
}

/** True if a question has no fields but the given ones, and those that a statement does not state. */
function hasOnly(question: AskedQuestion, ...fields: readonly string[]): boolean {
  return Object.keys(question).every((field) => BESIDE.includes(field) || fields.includes(field))
}

function conditionSql(predicate: unknown): string | undefined {
  if (!isRecord(predicate)) return undefined
  const { op, column, value, values, lower, upper, predicates, predicate: negated } = predicate
  switch (op) {
    case 'and':
    case 'or': {
      const parts = Array.isArray(predicates) ? predicates.map(conditionSql) : [undefined]
      return parts.includes(undefined) ? undefined : `(${parts.join(` ${op.toUpperCase()} `)})`
    }
    // SQL's NOT leaves out rows without a value, and that of a question keeps them.
    case 'not':
      return negatedSql(negated)
    case 'in':
      return Array.isArray(values)
        ? `${name(String(column))} IN (${values.map(literal).join(', ')})`
        : undefined
    case 'between':
      return `${name(String(column))} BETWEEN ${literal(lower)} AND ${literal(upper)}`
    case 'isNull':
      return `${name(String(column))} IS NULL`
    default:
      return `${name(String(column))} ${op === '!=' ? '<>' : op} ${literal(value)}`
  }
}

function negatedSql(predicate: unknown): string | undefined {
  return isRecord(predicate) && predicate.op === 'isNull'
    ? `${name(String(predicate.column))} IS NOT NULL`
    : undefined
}

/** Quotes a name, so that upper-case letters are kept. */
function name(text: string): string {
  return `"${text.replaceAll('"', '""')}"`
}

function literal(value: unknown): string {
  return typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value)
}

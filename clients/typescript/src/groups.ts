import type { GroupsAnswer, Row } from './answers.ts'
import type { Grouping } from './columns.ts'
import type { Json } from './decimal.ts'
import { type Query, query, type SupposableOptions } from './query.ts'
import type { components } from './schema.ts'
import { printableAnswer, printableRow } from './text.ts'

/** A query that can be a statistic of groups, such as `mean('Earnings')`. */
export type Statistic = Query<components['schemas']['GroupStatistic']['kind']>

type Body = Statistic['body']

/** Fields that a query of groups states for all statistics. */
const OF_ALL_GROUPS = new Set([
  'where',
  'epsilon',
  'accuracy',
  'contribution',
  'mechanism',
  'calibration',
  'delta',
  'postprocess',
  'supposed',
])

/** Returns the query for statistics of groups, and the name of each statistic in the answer by its name here. */
export function groupQuery(
  keys: readonly Grouping[],
  statistics: Readonly<Record<string, Statistic>>,
  options: SupposableOptions,
): { readonly query: Query<'groupBy'>; readonly names: ReadonlyMap<string, string> } {
  for (const [name, { body, idempotencyKey, signal }] of Object.entries(statistics)) {
    const other = Object.keys(body).find((field) => OF_ALL_GROUPS.has(field))
    if (other !== undefined || idempotencyKey !== undefined || signal !== undefined)
      throw new TypeError(`${name}: ${other ?? 'the option of the call'} belongs to run(...)`)
  }
  const distinct = new Map(Object.values(statistics).map(({ body }) => [JSON.stringify(body), body]))
  const proportions = [...distinct].filter(([, body]) => body.kind === 'proportion').map(([text]) => text)
  // Names on the wire do not depend on those here, so that a renamed column is still the same question.
  const sent = new Map(
    [...distinct].map(([text, body]): [string, Body] => {
      const place = proportions.length > 1 ? proportions.indexOf(text) : -1
      return [text, place < 0 ? body : { ...body, name: `proportion${place + 1}` }]
    }),
  )
  const names = new Map(
    Object.entries(statistics).map(([name, { body }]) => [
      name,
      nameInAnswer(sent.get(JSON.stringify(body)) ?? body),
    ]),
  )
  return { query: query('groupBy', { keys, statistics: [...sent.values()] }, options), names }
}

/** Returns the name that the service gives a statistic of groups. */
function nameInAnswer({ kind, column, of, perPerson, p, name }: Body): string {
  switch (kind) {
    case 'count':
      return of === 'people' ? 'count_people' : 'count'
    case 'proportion':
      return String(name ?? 'proportion')
    case 'percentile':
      return `percentile_${p}_${column}`
    case 'mean':
      return perPerson === undefined ? `mean_${column}` : `mean_perPerson_${perPerson}_${column}`
    default:
      return `${kind}_${typeof column === 'string' ? column : (column as { readonly column: Json }).column}`
  }
}

/** Returns an answer whose statistics have the names of the analyst. */
export function renamed<Name extends string>(
  answer: GroupsAnswer,
  names: ReadonlyMap<string, string>,
): GroupsAnswer<Name> {
  const rows = answer.rows.map(({ key, values }) =>
    printableRow({
      key,
      values: Object.fromEntries([...names].map(([name, sent]) => [name, values[sent]])),
    } as Row<Name>),
  )
  return printableAnswer({ ...answer, rows }) as GroupsAnswer<Name>
}

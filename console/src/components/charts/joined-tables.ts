import type { Schemas } from '../../api/schemas.ts'

export type JoinedSource = Extract<Schemas['Registration']['source'], { readonly kind: 'joined' }>
export type DeclaredJoin = JoinedSource['joins'][number]

/** A table with the tables to which its rows refer. */
export interface JoinedTable {
  readonly name: string
  /** The join that leads to it; absent for the table of the rows. */
  readonly join?: DeclaredJoin
  /**
   * `rows`: its rows are those of the dataset. `owner`: they lead to people. `people`: they are people. `facts`: each is combined
   * with each of the rows of its person. `public`: a list.
   */
  readonly role: 'rows' | 'owner' | 'people' | 'facts' | 'public'
  readonly refersTo: readonly JoinedTable[]
}

/** Splits `table.column`. */
export function endOf(name: string): { readonly table: string; readonly column: string } {
  const dot = name.indexOf('.')
  return { table: name.slice(0, Math.max(0, dot)), column: name.slice(dot + 1) }
}

/** Returns the key at which the joins of people end; `undefined` without such joins. */
export function keyOfPeople({ joins }: Pick<JoinedSource, 'joins'>): string | undefined {
  const owners = joins.filter((join) => join.public !== true && join.maxRows === undefined && join.to !== '')
  const last = owners.find(({ to }) => !owners.some(({ from }) => endOf(from).table === endOf(to).table))
  return last?.to ?? joins.find(({ maxRows }) => maxRows !== undefined)?.from
}

/**
 * Arranges the tables as trees: one for each table to which no join leads. A declaration under way may have several trees, and
 * circles, which are cut.
 */
export function joinedTables({ tables, joins }: JoinedSource): readonly JoinedTable[] {
  const people = endOf(keyOfPeople({ joins }) ?? '').table
  const names = Object.keys(tables)
  const roleOf = (name: string, join: DeclaredJoin | undefined): JoinedTable['role'] => {
    // Without a table of people, their column is in the rows themselves.
    if (join === undefined)
      return name === people && joins.every(({ maxRows }) => maxRows === undefined) ? 'people' : 'rows'
    if (join.maxRows !== undefined) return 'facts'
    if (name === people) return 'people'
    return join.public === true ? 'public' : 'owner'
  }
  const tableOf = (name: string, above: readonly string[], join?: DeclaredJoin): JoinedTable => {
    const path = [...above, name]
    const leadsOn = (table: string) => names.includes(table) && !path.includes(table)
    const refersTo = joins
      .filter(({ from, to }) => endOf(from).table === name && leadsOn(endOf(to).table))
      .map((next) => tableOf(endOf(next.to).table, path, next))
    const role = roleOf(name, join)
    return { name, ...(join && { join }), role, refersTo }
  }
  return names
    .filter((name) => !joins.some(({ to }) => endOf(to).table === name))
    .map((name) => tableOf(name, []))
}

/** Says in a sentence who owns a row. */
export function ownerText(source: JoinedSource): string {
  const key = keyOfPeople(source)
  const [rows] = joinedTables(source)
  if (key === undefined)
    return `No join leads to people: a person is told by ${rows?.name ?? 'the rows'} alone.`
  return (
    `Every row belongs to one person of ${endOf(key).table}, by ${key}. An answer hides one person with all of their rows in ` +
    'every table that is not public.'
  )
}

import { defined } from '../../privacy/defined.ts'
import { entry, must } from '../../privacy/must.ts'
import type { FieldError } from '../../privacy/refusal.ts'
import { type Declared, isLiveSource, type JoinedSource, type Source } from './dataset.ts'

/* Declared joins of a source of several tables: docs/joins.md, and decision 64. */

/** A column of a table of a joined source. */
export interface JoinedColumn {
  readonly table: string
  readonly column: string
}

/** A declared join. */
export interface Join {
  /** Position among the declared joins. */
  readonly position: number
  readonly from: JoinedColumn
  readonly to: JoinedColumn
  /**
   * `lookup`: the other table is public. `owner`: its rows are people, or lead to people. `facts`: its rows are further facts
   * of the same people, of whom each may have many.
   */
  readonly kind: 'lookup' | 'owner' | 'facts'
  /** Rule for rows whose reference is missing or leads nowhere. */
  readonly dangling: 'null' | 'drop' | 'refuse'
}

/** The tables of a joined source as a tree. */
export interface JoinTree {
  /** The table to which no join leads. Its rows are the rows of the dataset. */
  readonly root: string
  /** All joins, each after the one that leads to its own table. */
  readonly joins: readonly Join[]
  /** The table whose rows are people: the last one of the joins of people, or the root without such joins. */
  readonly people: string
  /** The two facts of a person that the rows combine; absent where they are those of the root. */
  readonly facts?: Facts
}

/** Two facts of each person. A row of the dataset is a row of one with a row of the other, of the same person. */
export interface Facts {
  readonly join: Join
  /** That of the root of all, and that of the table to which the join leads. */
  readonly sides: readonly [FactSide, FactSide]
}

/** The joined rows of one fact, of which each person keeps some before they meet those of the other fact. */
export interface FactSide extends Omit<JoinTree, 'facts'> {
  readonly maxRows: number
}

/** Largest number of tables from the rows to their people. */
const LONGEST_CHAIN = 4

/**
 * Splits `table.column`. Table names have no dots.
 * @returns `undefined` for a name without a table
 */
export function parseJoinedColumn(name: string): JoinedColumn | undefined {
  const dot = name.indexOf('.')
  return dot <= 0 || dot === name.length - 1
    ? undefined
    : { table: name.slice(0, dot), column: name.slice(dot + 1) }
}

type ColumnDeclaration = Declared['columns'][number]
type PersonUnit = Extract<Declared['privacyUnit'], { kind: 'person' }>

/** True for a source of several tables. */
export function isJoined(source: Source): source is JoinedSource {
  return source.kind === 'joined'
}

type Report = (field: string, rule: string) => void

/**
 * Checks the joins of a declaration, and arranges them as a tree. What the rules protect: docs/joins.md.
 * @param report receives every broken rule with its field
 * @returns `undefined` for joins that break a rule
 */
export function joinTree(
  { source, privacyUnit, columns }: Pick<Declared, 'source' | 'privacyUnit' | 'columns'>,
  report: Report,
): JoinTree | undefined {
  if (!isJoined(source)) return undefined
  const errors: FieldError[] = []
  const add: Report = (field, rule) => errors.push({ field, rule })
  const joins = source.joins.map((join, position) =>
    readJoin(join, position, Object.keys(source.tables), add),
  )
  if (isLiveSource(source)) checkLive(joins, add)
  const tree = errors.length === 0 ? arrange(Object.keys(source.tables), joins, add) : undefined
  const facts = tree && factsOf(tree, source.joins, add)
  if (tree !== undefined) checkPeople(tree, privacyUnit, facts, add)
  checkNames(source, columns, add)
  for (const { field, rule } of errors) report(field, rule)
  return errors.length > 0 || tree === undefined ? undefined : defined({ ...tree, facts })
}

function readJoin(
  { from, to, public: isPublic, dangling, maxRows }: JoinedSource['joins'][number],
  position: number,
  tables: readonly string[],
  report: Report,
): Join {
  const end = (name: 'from' | 'to', text: string): JoinedColumn => {
    const parsed = parseJoinedColumn(text)
    if (parsed !== undefined && tables.includes(parsed.table)) return parsed
    report(`source.joins.${position}.${name}`, `must name a column of one of the tables ${tables.join(', ')}`)
    return { table: '', column: '' }
  }
  const kind = isPublic ? 'lookup' : maxRows === undefined ? 'owner' : 'facts'
  if (maxRows !== undefined && isPublic)
    report(`source.joins.${position}.maxRows`, 'must be absent for a public table, which is about no person')
  if (kind === 'facts' && dangling !== undefined && dangling !== 'drop')
    report(`source.joins.${position}.dangling`, 'must be "drop": a row combines both facts of its person')
  if (kind === 'owner' && dangling === 'null')
    report(
      `source.joins.${position}.dangling`,
      'must be "drop" or "refuse" for a table that is not public: a row without its person belongs to nobody',
    )
  const rule = dangling ?? (kind === 'lookup' ? 'null' : 'drop')
  return { position, from: end('from', from), to: end('to', to), kind, dangling: rule }
}

/** A refusal at any later time would tell that one row has such a reference. */
function checkLive(joins: readonly Join[], report: Report): void {
  for (const { position, kind, dangling } of joins)
    if (dangling === 'refuse')
      report(
        `source.joins.${position}.dangling`,
        `must be ${kind === 'owner' ? '"drop"' : '"null" or "drop"'} for live tables: a refusal would tell of one row`,
      )
}

/** Arranges the joins from the one table to which none leads. */
function arrange(tables: readonly string[], joins: readonly Join[], report: Report): JoinTree | undefined {
  for (const { position, to } of joins)
    if (joins.some((other) => other.position < position && other.to.table === to.table))
      report(`source.joins.${position}.to`, 'must not lead to a table to which another join leads')
  const [root, ...others] = tables.filter((table) => joins.every(({ to }) => to.table !== table))
  if (root === undefined) {
    report('source.joins', 'must not lead in a circle')
    return undefined
  }
  for (const other of others)
    report(`source.tables.${other}`, `must be joined: no join leads to it, and the rows are those of ${root}`)
  const [reached, ordered] = [new Set([root]), [] as Join[]]
  let [people, chain] = [root, 1]
  for (let found = joins.length; found > 0; ) {
    const next = joins.filter((join) => reached.has(join.from.table) && !reached.has(join.to.table))
    found = next.length
    for (const join of next) {
      reached.add(join.to.table)
      ordered.push(join)
      if (join.kind !== 'owner' || !isOwned(join, people, report)) continue
      people = join.to.table
      chain += 1
    }
  }
  if (chain > LONGEST_CHAIN)
    report('source.joins', `must lead to the people over at most ${LONGEST_CHAIN} tables; these are ${chain}`)
  for (const { position, from } of joins)
    if (!reached.has(from.table)) report(`source.joins.${position}.from`, 'must not be part of a circle')
  return { root, joins: ordered, people }
}

/** A row may depend on its own person only, who is found by one chain of references. */
function isOwned({ position, from, to }: Join, people: string, report: Report): boolean {
  if (from.table === people) return true
  report(
    `source.joins.${position}`,
    `must start from ${people}, so that every row belongs to one person: a row of ${to.table} could be somebody ` +
      `else's. Declare "public": true if ${to.table} is not about people`,
  )
  return false
}

/** Separates the joins of two facts. Each side is one relation of rows that have at most one person. */
function factsOf(
  { root, joins, people }: JoinTree,
  declared: JoinedSource['joins'],
  report: Report,
): Facts | undefined {
  const [join, another] = joins.filter(({ kind }) => kind === 'facts')
  if (join === undefined) return undefined
  if (another !== undefined)
    report(`source.joins.${another.position}.maxRows`, 'must be in one join at most: rows combine two facts')
  const { position, to } = join
  const maxRows = new Map(Object.entries(must(declared[position]?.maxRows, 'the rows of facts')))
  const ofSide = (table: string): number => {
    const most = maxRows.get(table)
    if (most === undefined)
      report(`source.joins.${position}.maxRows.${table}`, 'must be the largest number of rows of a person')
    return most ?? 0
  }
  for (const table of [...maxRows.keys()].filter((name) => name !== root && name !== to.table))
    report(
      `source.joins.${position}.maxRows.${table}`,
      `must be absent: the facts are ${root} and ${to.table}`,
    )
  const beyond = tablesBelow(to.table, joins)
  const others = joins.filter(({ from }) => beyond.has(from.table))
  const own = joins.filter((each) => each !== join && !others.includes(each))
  return {
    join,
    sides: [
      { root, people, joins: own, maxRows: ofSide(root) },
      { root: to.table, people: to.table, joins: others, maxRows: ofSide(to.table) },
    ],
  }
}

/** Returns a table with those to which it leads. */
export function tablesBelow(table: string, joins: readonly Join[]): ReadonlySet<string> {
  const tables = new Set([table])
  for (const { from, to } of joins) if (tables.has(from.table)) tables.add(to.table)
  return tables
}

/** The people must be the keys of the table at which the joins of people end. */
function checkPeople(
  { joins, people, root }: JoinTree,
  unit: Declared['privacyUnit'],
  facts: Facts | undefined,
  report: Report,
): void {
  const owners = joins.filter(({ kind }) => kind === 'owner')
  const last = owners.at(-1)
  if (unit.kind === 'row') {
    for (const { position } of owners)
      report(`source.joins.${position}.public`, 'must be true where each row is another person')
    if (facts !== undefined)
      report(`source.joins.${facts.join.position}.maxRows`, 'must be absent where each row is another person')
    return
  }
  if (facts !== undefined) checkFacts(facts, unit, report)
  if (last !== undefined) {
    const name = `${people}.${last.to.column}`
    if (unit.column !== name)
      report('privacyUnit.column', `must be ${name}, at which the joins of people end`)
  } else if (parseJoinedColumn(unit.column)?.table !== root)
    report('privacyUnit.column', `must be a column of ${root}, whose rows are the rows of the dataset`)
}

/** Both facts must be joined by the person of the privacy unit: by another column a joined row could depend on two people. */
function checkFacts({ join: { position, from }, sides }: Facts, unit: PersonUnit, report: Report): void {
  if (`${from.table}.${from.column}` !== unit.column)
    report(
      `source.joins.${position}.from`,
      `must be ${unit.column}, the column of the privacy unit, so that both facts are those of one person`,
    )
  const [one, other] = [entry(sides, 0).maxRows, entry(sides, 1).maxRows]
  const most = one * other
  if (unit.maxRows > most)
    report(
      'privacyUnit.maxRows',
      `must be at most ${most} = ${one} * ${other}, the most that a person can have`,
    )
}

function checkNames(source: JoinedSource, columns: readonly ColumnDeclaration[], report: Report): void {
  const tables = Object.keys(source.tables)
  for (const [i, name] of tables.entries())
    if (tables.slice(0, i).some((other) => other.toLowerCase() === name.toLowerCase()))
      report(`source.tables.${name}`, 'must differ from the names of the other tables by more than case')
  for (const [position, { name }] of columns.entries()) {
    const table = parseJoinedColumn(name)?.table
    if (table === undefined || !tables.includes(table))
      report(`columns.${position}.name`, `must be table.column, with one of the tables ${tables.join(', ')}`)
  }
}

/** Returns the public tables. */
export function publicTables({ joins }: JoinTree): ReadonlySet<string> {
  return new Set(joins.flatMap(({ kind, to }) => (kind === 'lookup' ? [to.table] : [])))
}

/** Changes the source of each table. */
export function mapTables(
  source: JoinedSource,
  change: (table: JoinedSource['tables'][string], name: string) => JoinedSource['tables'][string],
): JoinedSource {
  const tables = Object.entries(source.tables).map(([name, table]) => [name, change(table, name)])
  return { ...source, tables: Object.fromEntries(tables) }
}

/**
 * Declares the columns that have one value per person because their table has one row per person.
 * @returns the columns as they are where the source is not joined
 */
export function withConstants(
  declaration: Pick<Declared, 'source' | 'privacyUnit' | 'columns'>,
): readonly ColumnDeclaration[] {
  const tree = joinTree(declaration, () => undefined)
  if (tree === undefined || declaration.privacyUnit.kind === 'row') return declaration.columns
  const constant = tablesOfPeople(tree)
  return declaration.columns.map((column) => {
    const table = parseJoinedColumn(column.name)?.table
    const isConstant = column.type !== 'identifier' && table !== undefined && constant.has(table)
    return isConstant ? { ...column, constantPerPerson: true } : column
  })
}

/**
 * Returns the tables whose columns have one value per person: the table of people, and the public tables to which only it
 * leads.
 */
function tablesOfPeople({ joins, people, root }: JoinTree): ReadonlySet<string> {
  // A person has many further facts.
  const single = joins.filter(({ kind }) => kind !== 'facts')
  return people === root ? new Set() : tablesBelow(people, single)
}

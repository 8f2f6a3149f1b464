import type { Dataset } from '../../core/dataset/dataset.ts'
import { isJoined, type Join, type JoinedColumn, type JoinTree, joinTree } from '../../core/dataset/joins.ts'
import { must } from '../../privacy/must.ts'
import type { Refusal } from '../../privacy/refusal.ts'
import { fold } from './parsing/identifiers.ts'
import type { Expression, Statement, TableJoin, TableName } from './parsing/statement.ts'

/** What a statement may write before a column, with the start of the declared names that it means. */
export type NamedTables = ReadonlyMap<string, string>

/** Creates the refusal of a part that does not fit the dataset. */
type Misfit = (at: number, rule: string) => Refusal

/**
 * Resolves FROM: the dataset of the path, or tables of a joined dataset, joined as they are declared. The rows are those of the
 * dataset in either case.
 * @throws Refusal `query-does-not-fit` for another table, and for a join that is not declared
 */
export function namedTables({ from, joins }: Statement, dataset: Dataset, misfit: Misfit): NamedTables {
  const { source, privacyUnit } = dataset
  const [first] = joins
  if (!isJoined(source)) {
    if (from.name !== dataset.id)
      throw misfit(from.at, `FROM must name the dataset of the path, "${dataset.id}".`)
    if (first !== undefined)
      throw misfit(first.table.at, `${dataset.id} has no joins: it is one table. Its columns need no other.`)
    return new Map([[from.alias ?? from.name, '']])
  }
  const tree = must(
    joinTree({ source, privacyUnit, columns: [] }, () => undefined),
    'the joins of a dataset',
  )
  if (from.name === dataset.id && first === undefined) {
    const tables = Object.keys(source.tables).map((table) => [fold(table), `${table}.`] as const)
    return new Map([...tables, [from.alias ?? from.name, '']])
  }
  if (!isName(from.name, tree.root))
    throw misfit(from.at, `FROM must begin with "${tree.root}", whose rows are those of "${dataset.id}".`)
  const named = new Map([[nameOf(from), `${tree.root}.`]])
  for (const join of joins) {
    const declared = declaredJoin(join, named, tree)
    if (declared === undefined)
      throw misfit(
        join.table.at,
        `joins must be those that are declared: ${tree.joins.map(spelled).join('; ')}.`,
      )
    named.set(nameOf(join.table), `${declared.to.table}.`)
  }
  requireFacts(from, named, tree, misfit)
  return named
}

/** A statement over one fact would seem to count its rows, and counts the combined ones. */
function requireFacts(from: TableName, named: NamedTables, { facts, root }: JoinTree, misfit: Misfit): void {
  if (facts === undefined || [...named.values()].includes(`${facts.join.to.table}.`)) return
  throw misfit(
    from.at,
    `FROM must also have ${spelled(facts.join)}: each row is one of ${root} with one of ${facts.join.to.table}.`,
  )
}

function nameOf({ name, alias }: TableName): string {
  return alias ?? name
}

/** A name is that of a table or column if it is spelled so, or differs in capital letters only. */
function isName(written: string, declared: string): boolean {
  return written === declared || written === fold(declared)
}

/** The declared join that a join of a statement equals. */
function declaredJoin(join: TableJoin, named: NamedTables, { joins }: JoinTree): Join | undefined {
  return joins.find(
    ({ from, to, dangling }) =>
      isName(join.table.name, to.table) &&
      [...named.values()].includes(`${from.table}.`) &&
      join.left === (dangling === 'null') &&
      isCondition(join, from, to, new Map([...named, [nameOf(join.table), `${to.table}.`]])),
  )
}

function isCondition({ using, on }: TableJoin, from: JoinedColumn, to: JoinedColumn, named: NamedTables) {
  if (using !== undefined) return isName(using, from.column) && isName(using, to.column)
  if (on?.kind !== 'comparison' || on.op !== '=') return false
  const isEnd = (side: Expression, { table, column }: JoinedColumn) =>
    side.kind === 'column' &&
    side.table !== undefined &&
    named.get(side.table) === `${table}.` &&
    isName(side.name, column)
  const { left, right } = on
  return (isEnd(left, from) && isEnd(right, to)) || (isEnd(left, to) && isEnd(right, from))
}

function spelled({ from, to, dangling }: Join): string {
  const join = dangling === 'null' ? 'LEFT JOIN' : 'JOIN'
  return `${join} ${to.table} ON ${from.table}.${from.column} = ${to.table}.${to.column}`
}

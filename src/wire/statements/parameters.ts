import type { A_Const, Node, TypeCast } from 'libpg-query'
import { eachPart, fieldsOf, lastName } from '../../answers/sql/parsing/tree.ts'
import { defined } from '../../privacy/defined.ts'
import { Refusal } from '../../privacy/refusal.ts'

/** A constant of a statement. A number is spelled in decimal. */
export type Literal =
  | { readonly kind: 'number'; readonly text: string }
  | { readonly kind: 'text'; readonly value: string }
  | { readonly kind: 'boolean'; readonly value: boolean }
  | { readonly kind: 'null' }

/** What the statement tells about the type of a parameter. */
export interface ParameterUse {
  /** Name of the type that it is cast to. */
  readonly cast?: string
  /** Name of the column that it is compared with. */
  readonly column?: string
  /** True for the number of rows to return or to leave out. */
  readonly isCount?: boolean
}

/** Largest number of parameters of a statement. */
const MOST_PARAMETERS = 1_000

const PLAIN_CASTS: readonly string[] = ['text', 'varchar', 'bpchar', 'bool']

/**
 * Finds the uses of the parameters of a statement, by number from 1 on: index 0 is that of $1.
 * @throws Refusal for a number out of range
 */
export function parametersIn(tree: Node): readonly ParameterUse[] {
  const uses: ParameterUse[] = []
  const note = (node: Node | undefined, use: ParameterUse) => {
    const number = numberOf(node)
    if (number === undefined) return
    if (number < 1 || number > MOST_PARAMETERS)
      throw new Refusal('sql-not-supported', `Parameters have numbers from 1 to ${MOST_PARAMETERS}.`)
    uses[number - 1] = { ...use, ...uses[number - 1] }
  }
  eachPart(tree, (part) => {
    const node = part as Node
    note(node, {})
    const cast = fieldsOf(node, 'TypeCast')
    note(cast?.arg, defined({ cast: castName(cast) }))
    const { lexpr, rexpr } = fieldsOf(node, 'A_Expr') ?? {}
    const sides = [lexpr, ...(fieldsOf(rexpr, 'List')?.items ?? [rexpr])]
    const column = sides
      .map((side) => lastName(fieldsOf(side, 'ColumnRef')?.fields))
      .find((name) => name !== undefined)
    for (const side of sides) note(side, defined({ column }))
    const { limitCount, limitOffset } = fieldsOf(node, 'SelectStmt') ?? {}
    for (const count of [limitCount, limitOffset]) note(count, { isCount: true })
  })
  return Array.from(uses, (use) => use ?? {})
}

/** Takes casts off constants whose spelling tells the type, such as `'M'::varchar(10)`. */
export function dropPlainCasts(tree: Node): void {
  eachPart(tree, (part) => {
    const cast = fieldsOf(part as Node, 'TypeCast')
    const constant = fieldsOf(cast?.arg, 'A_Const')
    const name = castName(cast) ?? ''
    if (constant === undefined || !PLAIN_CASTS.includes(name)) return
    delete part.TypeCast
    part.A_Const = constant
  })
}

/** Replaces each parameter of a tree by its value. */
export function bindParameters(tree: Node, values: readonly Literal[]): void {
  eachPart(tree, (part) => {
    const number = numberOf(part as Node)
    const value = number === undefined ? undefined : values[number - 1]
    if (value === undefined) return
    const location = fieldsOf(part as Node, 'ParamRef')?.location
    delete part.ParamRef
    part.A_Const = { ...constantOf(value), location }
  })
}

function constantOf(value: Literal): A_Const {
  switch (value.kind) {
    case 'number':
      return { fval: { fval: value.text } }
    case 'text':
      return { sval: { sval: value.value } }
    case 'boolean':
      return { boolval: { boolval: value.value } }
    case 'null':
      return { isnull: true }
  }
}

/** The number of a parameter; undefined for another node. */
function numberOf(node: Node | undefined): number | undefined {
  const parameter = fieldsOf(node, 'ParamRef')
  return parameter && (parameter.number ?? 0)
}

function castName(cast: TypeCast | undefined): string | undefined {
  return lastName(cast?.typeName?.names)
}

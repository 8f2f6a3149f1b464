import type { Node } from 'libpg-query'
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

type Fields = Record<string, unknown>

const NUMERIC_CASTS: readonly string[] = ['int2', 'int4', 'int8', 'numeric', 'float4', 'float8']
const PLAIN_CASTS: readonly string[] = [...NUMERIC_CASTS, 'text', 'varchar', 'bpchar', 'bool']

/**
 * Finds the uses of the parameters of a statement, by number from 1 on: index 0 is that of $1.
 * @throws Refusal for a number out of range
 */
export function parametersIn(tree: unknown): readonly ParameterUse[] {
  const uses: ParameterUse[] = []
  eachNode(tree, (node) => {
    const reference = referenceIn(node)
    if (reference !== undefined) note(uses, reference, {})
    for (const [number, use] of usesAt(node)) note(uses, number, use)
  })
  return Array.from(uses, (use) => use ?? {})
}

function note(uses: ParameterUse[], number: number, use: ParameterUse): void {
  if (number < 1 || number > MOST_PARAMETERS)
    throw new Refusal('sql-not-supported', `Parameters have numbers from 1 to ${MOST_PARAMETERS}.`)
  uses[number - 1] = { ...use, ...uses[number - 1] }
}

/** Yields what a node tells about the parameters directly below it. */
function* usesAt(node: Fields): Generator<readonly [number, ParameterUse]> {
  const { TypeCast: cast, A_Expr: operation, SelectStmt: select } = node as Readonly<Record<string, Fields>>
  if (cast !== undefined) {
    const number = referenceIn(cast.arg)
    const name = castName(cast)
    if (number !== undefined && name !== undefined) yield [number, { cast: name }]
  }
  if (operation !== undefined) {
    const sides = [operation.lexpr, operation.rexpr].flatMap((side) => itemsOf(side))
    const column = sides.map(columnNameOf).find((name) => name !== undefined)
    if (column !== undefined)
      for (const side of sides) {
        const number = referenceIn(side)
        if (number !== undefined) yield [number, { column }]
      }
  }
  for (const count of [select?.limitCount, select?.limitOffset]) {
    const number = referenceIn(count)
    if (number !== undefined) yield [number, { isCount: true }]
  }
}

/** Takes casts off constants whose spelling tells the type, such as `'M'::text`. Questions have constants without types. */
export function dropPlainCasts(tree: unknown): void {
  eachNode(tree, (node) => {
    const cast = node.TypeCast as Fields | undefined
    const name = cast === undefined ? undefined : castName(cast)
    if (cast === undefined || name === undefined || !PLAIN_CASTS.includes(name)) return
    const { A_Const: constant } = cast.arg as { readonly A_Const?: Fields }
    if (constant === undefined) return
    delete node.TypeCast
    const { sval: text, ...facts } = constant as { readonly sval?: { readonly sval?: string } }
    const isNumber = NUMERIC_CASTS.includes(name) && text !== undefined
    node.A_Const = isNumber ? { ...facts, fval: { fval: text.sval ?? '' } } : constant
  })
}

/** Replaces each parameter of a tree by its value. */
export function bindParameters(tree: unknown, values: readonly Literal[]): void {
  eachNode(tree, (node) => {
    const number = referenceIn(node)
    const value = number === undefined ? undefined : values[number - 1]
    if (value === undefined) return
    const { location } = node.ParamRef as Fields
    delete node.ParamRef
    node.A_Const = { ...constantOf(value), location }
  })
}

function constantOf(value: Literal): Fields {
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

function referenceIn(node: unknown): number | undefined {
  const reference = (node as { readonly ParamRef?: { readonly number?: number } } | undefined)?.ParamRef
  return reference === undefined ? undefined : (reference.number ?? 0)
}

function itemsOf(side: unknown): readonly unknown[] {
  const list = (side as { readonly List?: { readonly items?: readonly unknown[] } } | undefined)?.List
  return list === undefined ? [side] : (list.items ?? [])
}

function columnNameOf(node: unknown): string | undefined {
  const column = (node as { readonly ColumnRef?: { readonly fields?: readonly Node[] } } | undefined)
    ?.ColumnRef
  return nameOf(column?.fields?.at(-1))
}

function castName({ typeName }: Fields): string | undefined {
  const { names = [] } = (typeName ?? {}) as { readonly names?: readonly Node[] }
  return nameOf(names.at(-1))
}

function nameOf(node: Node | undefined): string | undefined {
  return (node as { readonly String?: { readonly sval?: string } } | undefined)?.String?.sval
}

/** Visits the nodes of a tree, each before those below it. Without recursion, because trees can be deep. */
export function eachNode(tree: unknown, visit: (node: Fields) => void): void {
  const waiting: unknown[] = [tree]
  while (waiting.length > 0) {
    const part = waiting.pop()
    if (typeof part !== 'object' || part === null) continue
    if (!Array.isArray(part)) visit(part as Fields)
    for (const below of Object.values(part)) waiting.push(below)
  }
}

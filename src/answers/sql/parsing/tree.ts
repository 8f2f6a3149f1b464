import type { Node } from 'libpg-query'

/* Reads the tree of PostgreSQL's parser. A node is an object with one field, which is named after its kind. */

/** Name of a kind of node. */
export type NodeKind = Node extends infer Each ? (Each extends object ? keyof Each : never) : never

/** The fields of nodes of a kind. */
export type FieldsOf<Kind extends NodeKind> = Extract<Node, { readonly [K in Kind]: unknown }>[Kind]

/** Returns the fields of a node of one kind; undefined for a node of another kind. */
export function fieldsOf<Kind extends NodeKind>(
  node: Node | undefined,
  kind: Kind,
): FieldsOf<Kind> | undefined {
  return (node as Readonly<Record<string, FieldsOf<Kind>>> | undefined)?.[kind]
}

/** Functions of the fields of nodes, by kind. */
export type ByKind<Others extends readonly unknown[], Result> = {
  readonly [Kind in NodeKind]?: (fields: FieldsOf<Kind>, ...others: Others) => Result
}

/** Calls the function for the kind of a node; undefined if there is none. */
export function callByKind<Others extends readonly unknown[], Result>(
  functions: ByKind<Others, Result>,
  node: Node | undefined,
  ...others: Others
): Result | undefined {
  const [[kind, fields] = ['', {}]] = Object.entries(node ?? {})
  const found = Object.hasOwn(functions, kind) ? functions[kind as NodeKind] : undefined
  return found?.(fields as never, ...others)
}

/** The text of a node that is a part of a name. */
export function nameOf(node: Node | undefined): string | undefined {
  return fieldsOf(node, 'String')?.sval
}

/** The last part of a qualified name. */
export function lastName(names: readonly Node[] | undefined): string | undefined {
  return nameOf(names?.at(-1))
}

/** A node, its fields, or a part of these. */
export type Part = Record<string, unknown>

/** Visits the parts of a tree, each before those below it. Without recursion, because trees can be deep. */
export function eachPart(tree: unknown, visit: (part: Part) => void): void {
  const waiting: unknown[] = [tree]
  while (waiting.length > 0) {
    const part = waiting.pop()
    if (typeof part !== 'object' || part === null) continue
    if (!Array.isArray(part)) visit(part as Part)
    for (const below of Object.values(part)) waiting.push(below)
  }
}

/** Returns the fields of all nodes of a kind in a tree. */
export function allOf<Kind extends NodeKind>(tree: unknown, kind: Kind): readonly FieldsOf<Kind>[] {
  const found: FieldsOf<Kind>[] = []
  eachPart(tree, (part) => {
    const fields = fieldsOf(part as Node, kind)
    if (fields !== undefined) found.push(fields)
  })
  return found
}

/*
 * A SELECT statement in the closed language that is translated to queries. It has no other syntax than this. Every part
 * has its place in the text, `at`: the number of bytes before it in UTF-8.
 */

/** A SELECT over a table or another SELECT. */
export interface Select {
  readonly targets: readonly Target[]
  readonly from: TableName | Subquery
  /** Tables that are joined to it, in their order. */
  readonly joins: readonly TableJoin[]
  /** The SELECTs of WITH, by their names. */
  readonly named: Readonly<Record<string, Subquery>>
  readonly where?: Expression
  readonly groupBy: readonly Expression[]
  readonly having?: Expression
  readonly orderBy: readonly SortKey[]
  readonly limit?: Expression
  readonly offset?: Expression
}

/** A SELECT over one dataset. */
export type Statement = Omit<Select, 'from' | 'named'> & {
  readonly from: TableName
  /** The condition of a SELECT around it, on groups with the values of their windows. */
  readonly qualify?: Expression
}

/** A SELECT in FROM or WITH, and its name. */
export interface Subquery {
  readonly select: Select
  readonly alias?: string
  readonly at: number
}

/** An expression of the SELECT list, with the name of its column in the result. */
export interface Target {
  readonly expression: Expression
  readonly alias?: string
}

/** The table of a FROM clause. Names that are not quoted have lower-case letters. */
export interface TableName {
  readonly name: string
  readonly alias?: string
  readonly at: number
}

/** A table of a JOIN, with its condition: equal columns of the same name, or ON. */
export interface TableJoin {
  readonly table: TableName
  readonly left: boolean
  readonly using?: string
  readonly on?: Expression
}

/** An expression of ORDER BY, and its direction. */
export interface SortKey {
  readonly expression: Expression
  /** True for an expression over the table, in which no name is one of the SELECT list. */
  readonly isResolved?: true
  readonly descending: boolean
  /** Default: last in ascending order, first in descending order. */
  readonly nullsFirst: boolean
}

/** Comparison as queries spell it. */
export type ComparisonOperator = '=' | '!=' | '<' | '<=' | '>' | '>='

/** `timestamp` is without a time zone, and `timestamptz` with one. */
export type CastType = 'date' | 'timestamp' | 'timestamptz'

/** The type of a cast. `integer` rounds, and `number` rounds only to the digits that it names. */
export type ValueType = 'date' | 'timestamp' | 'integer' | 'number' | 'text' | 'boolean'

export type ArithmeticOperator = '+' | '-' | '*' | '/'

/**
 * An expression of the closed language, with the byte offset of its place in the text. The opposite of a condition, such as NOT
 * IN, is `not`.
 */
export type Expression = { readonly at: number } & (
  | { readonly kind: 'column'; readonly table?: string; readonly name: string }
  /** A decimal number, as it is spelled. `signed` is true if an operator for a sign is before it. */
  | { readonly kind: 'number'; readonly text: string; readonly signed?: true }
  /** A text, or a text that is cast to a type. */
  | { readonly kind: 'text'; readonly value: string; readonly type?: CastType }
  | { readonly kind: 'boolean'; readonly value: boolean }
  | { readonly kind: 'null' }
  /** `*` or `t.*` in a SELECT list. */
  | { readonly kind: 'star'; readonly table?: string }
  /** A constant length of time. */
  | { readonly kind: 'interval'; readonly months: number; readonly seconds: number }
  | {
      readonly kind: 'arithmetic'
      readonly op: ArithmeticOperator
      readonly left: Expression
      readonly right: Expression
    }
  | {
      readonly kind: 'cast'
      readonly type: ValueType
      readonly digits?: number
      readonly value: Expression
    }
  | {
      readonly kind: 'case'
      readonly whens: readonly { readonly condition: Expression; readonly result: Expression }[]
      readonly otherwise?: Expression
    }
  | { readonly kind: 'array'; readonly elements: readonly Expression[] }
  | Call
  | {
      readonly kind: 'comparison'
      readonly op: ComparisonOperator
      readonly left: Expression
      readonly right: Expression
    }
  /** IS NOT DISTINCT FROM: an equality in which NULL is a value. */
  | { readonly kind: 'same'; readonly left: Expression; readonly right: Expression }
  | {
      readonly kind: 'between'
      readonly value: Expression
      readonly lower: Expression
      readonly upper: Expression
    }
  | { readonly kind: 'in'; readonly value: Expression; readonly list: readonly Expression[] }
  /** LIKE and ILIKE. */
  | {
      readonly kind: 'like'
      readonly anyCase: boolean
      readonly value: Expression
      readonly pattern: Expression
    }
  | { readonly kind: 'isNull'; readonly value: Expression }
  /** IS TRUE, IS FALSE and IS UNKNOWN. */
  | { readonly kind: 'truth'; readonly is: 'true' | 'false' | 'unknown'; readonly value: Expression }
  | { readonly kind: 'and' | 'or'; readonly parts: readonly Expression[] }
  | { readonly kind: 'not'; readonly part: Expression }
)

/** An expression of a kind. */
export type ExpressionOf<Kind extends Expression['kind']> = Extract<Expression, { readonly kind: Kind }>

/** A call of a function or an aggregate. */
export interface Call {
  readonly kind: 'call'
  readonly name: string
  /** True for `count(*)`. */
  readonly star: boolean
  readonly distinct: boolean
  readonly arguments: readonly Expression[]
  readonly withinGroup?: { readonly value: Expression; readonly descending: boolean }
  /** The condition of FILTER. */
  readonly filter?: Expression
  /** The window of OVER. */
  readonly over?: Window
  readonly at: number
}

/** A window over the groups of a statement. */
export interface Window {
  readonly partitionBy: readonly Expression[]
  readonly orderBy: readonly SortKey[]
  readonly frame: Frame
}

/** The rows of a window, by their distances from the current row; an end that is absent is that of the partition. */
export interface Frame {
  /** At a distance of 0, `range` also has the rows that ORDER BY does not tell from the current one. */
  readonly unit: 'rows' | 'range'
  readonly start?: number
  readonly end?: number
}

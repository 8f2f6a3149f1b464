import type { components } from 'sotto-client'

/*
 * Types of the table of kinds of questions, which `kinds.ts` makes from the schemas of queries and the planner's kinds.
 * The console reads it as `console/src/api/kinds.ts`.
 */

/** Name of a kind of question. */
export type Kind = components['schemas']['Query']['kind']

/** Columns that a field takes, by their types; with `selectable`, free text must be declared as that. */
export interface ColumnRule {
  readonly types: readonly string[]
  readonly selectable?: true
}

/** Types of fields. Each has one control in the form, one text, and one expression in programs. */
export type FieldType =
  | 'column'
  | 'columns'
  | 'grouping'
  | 'groupings'
  | 'condition'
  | 'statistics'
  | 'candidates'
  | 'percentages'
  | 'numbers'
  | 'weights'
  | 'counted'
  | 'perPerson'
  | 'clamp'
  | 'clamps'
  | 'ranges'
  | 'number'
  | 'flag'
  | 'choice'
  | 'text'

/** Field of a question, beside those that kinds have in common. */
export interface KindField {
  readonly type: FieldType
  readonly title: string
  readonly hint?: string
  /** True if a question may leave it out. */
  readonly optional?: true
  /** Value of a field that is left out. */
  readonly default?: number | boolean
  /** First value of a required field. */
  readonly initial?: number | readonly number[]
  readonly columns?: ColumnRule
  /** Columns that the question takes instead if each person has one value, by how that is computed. */
  readonly personColumns?: Readonly<Record<string, ColumnRule>>
  /** Range of a number, or of the length of a list. */
  readonly least?: number
  readonly most?: number
  /** True for a whole number. */
  readonly whole?: true
  readonly choices?: readonly string[]
  /** Another field, which must have this value or be left out. No field has the empty text, so that it must be left out. */
  readonly onlyWith?: readonly [field: string, value: string]
}

export type KindFields = Readonly<Record<string, KindField>>

/** Entry of a kind. */
export interface KindEntry {
  readonly title: string
  /** A question in a line. `{field}` stands for a field; a part in brackets is left out where its field is empty. */
  readonly phrase: string
  /** Heading under which it is offered. */
  readonly heading: string
  /** True if rows are counted in groups, whose number can be bounded. */
  readonly grouped?: true
  /** True if it needs a dataset whose privacy unit is a person. */
  readonly ofPeople?: true
  /** When the total of a person can be clamped: in every question, or only if there is one value per person. */
  readonly clamps?: 'always' | 'perPerson'
  /** Aggregate of SQL that has the same meaning, if there is one. */
  readonly aggregate?: string
  readonly fields: KindFields
  /** Fields that it has in common with other kinds, besides `where`. */
  readonly terms: readonly string[]
  /** Fields of a statistic of groups; absent if the kind is none. */
  readonly statistic?: KindFields
}

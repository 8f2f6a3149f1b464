import type { Query } from '../../../../schemas/answers/query.ts'
import type { Dataset } from '../../dataset/dataset.ts'
import { planAdditiveQuery } from '../additive/kind.ts'
import type { AdditiveParts, AdditiveQuery } from '../additive/shape.ts'
import type { Fields } from '../identity/normal-fields.ts'
import type { ColumnRule } from '../language/column-rules.ts'
import type { PlanLimits } from '../plans/plan-kind.ts'
import type { Plan } from '../plans/plan-kinds.ts'
import type { Offer } from '../price/accuracy-first.ts'
import type { OfKind } from './of-kind.ts'

/** Name of a kind of question, as queries give it. */
export type KindName = Query['kind']

/** The query of each kind. */
type Queries = { readonly [Kind in KindName]: OfKind<Query, Kind> }

/** Query of one kind. Functions that are generic in the kind find its entry in a table without a switch. */
export type QueryOf<Kind extends KindName> = { [K in Kind]: Queries[K] & { readonly kind: K } }[Kind]

/** Fields that name columns to measure, to group by or to select from. */
type ColumnField = 'column' | 'columns' | 'keys' | 'outcome' | 'predictors' | 'candidates'

/** The rule for each field of a request that names columns. */
export type ColumnRules<Asked> = {
  readonly [Field in Extract<keyof Asked, ColumnField>]: ColumnRule
}

/** Contract of one kind of question. Every member depends on the query and on public facts only. */
export interface QuestionKind<Kind extends KindName> {
  /** Name of the kind for people, such as in the console. */
  readonly title: string
  /** A question in a line. `{field}` stands for a field; a part in brackets is left out where its field is empty. */
  readonly phrase: string
  /** Heading under which people choose it. */
  readonly heading: string
  /** The aggregates of SQL that it answers. Without one it has no spelling of its own in SQL, or that of a clause. */
  readonly aggregates?: readonly string[]
  /** True if its values are numbers or sums of rows, to which every further row would add. */
  readonly addsUp?: true
  /** True if it has a value for each of several cells, groups or candidates. */
  readonly inCells?: true
  /** True if it counts rows in groups, whose number `contribution` can bound. */
  readonly grouped?: true
  /** True if it needs a dataset whose privacy unit is a person. */
  readonly ofPeople?: true
  /** When `contribution` can clamp the total of a person: in every question, or only if each person has one value. */
  readonly clamps?: 'always' | 'perPerson'
  /** The columns that its fields take. A value per person has rules of its own: {@link PERSON_VALUE_COLUMNS}. */
  readonly columns: ColumnRules<QueryOf<Kind>>
  /**
   * Plans a question by the mechanism that answers it.
   * @throws Refusal for a question that does not fit the dataset or the mechanism.
   */
  readonly plan: (query: QueryOf<Kind>, dataset: Dataset, limits: PlanLimits, offer: Offer) => Plan
  /**
   * The fields that say what is asked, in normal form: without those that equal their defaults, and with predicates and
   * groupings in theirs. The rows that count, the bounds on contributions and the price are added by the normal form.
   */
  readonly subject: (query: QueryOf<Kind>, dataset: Dataset) => Fields
  /** Fields whose default, which the schema of queries declares, is not that of the same field of other kinds. */
  readonly defaults?: Fields
}

/** Returns the `plan` of a kind of question that sums and counts answer. */
export function planOfSums<Kind extends AdditiveQuery['kind']>(
  parts: AdditiveParts<QueryOf<Kind> & AdditiveQuery>,
): QuestionKind<Kind>['plan'] {
  return (query, dataset, limits, offer) =>
    planAdditiveQuery(query as QueryOf<Kind> & AdditiveQuery, parts, dataset, limits, offer)
}

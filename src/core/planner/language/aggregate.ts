/**
 * Aggregate in the closed language between planner and engines, in exact integers. Identifiers come from the catalog,
 * and values are bound as parameters. Numbers are grid indexes and categories are indexes into the declared list, so
 * every dialect prints the same meaning.
 */
export interface Aggregate {
  readonly where?: Predicate
  /** Cells are the cross product of the keys' domains in row-major order (last key fastest); no keys: one cell. */
  readonly groupBy: readonly GroupKey[]
  readonly statistics: readonly Statistic[]
  readonly bounding: Bounding
}

/**
 * Bounding of the contribution of each privacy unit. It is applied after `where`, to the rows that are in a cell, and
 * before anything is added up. The choice depends on the person's own rows only: they are ordered by their rank, which
 * ingestion derives from a keyed digest of each row.
 *
 * - `one-row-each`: for datasets whose privacy unit is a row.
 * - `rows`: each person keeps the `rows` rows of lowest rank, in all cells together.
 * - `groups`: each person keeps the `groups` cells whose lowest rank is lowest, and in each of them the `rowsPerGroup`
 *   rows of lowest rank.
 */
export type Bounding =
  | { readonly kind: 'one-row-each' }
  | { readonly kind: 'rows'; readonly rows: number }
  | { readonly kind: 'groups'; readonly groups: number; readonly rowsPerGroup: number }

/**
 * One integer for each person and cell, from the person's bounded rows in that cell: the `sum`, the `count` or the
 * `mean` of a column over the rows where it is not NULL; or the `count` of all rows, without a column. The mean is
 * floor(sum / count + 1/2). The result is clamped to the indexes `lower` to `upper`. A person without such a row in the
 * cell has no value there.
 */
export type PersonValue = { readonly lower: bigint; readonly upper: bigint } & (
  | { readonly kind: 'sum' | 'mean'; readonly column: string; readonly clamp?: Clamp }
  | { readonly kind: 'count'; readonly column?: string }
)

/**
 * Statistic with one integer per cell.
 *
 * - `count`: rows in the cell; with `column`, only those where it is not NULL; with `where`, only those that satisfy it.
 * - `count-people`: people with at least one such row.
 * - `affine-count`: the sum over all rows of factor + offset where the row satisfies `where`, and of offset elsewhere.
 * - `affine-sum`: the sum of factor * index + offset over the rows where the column is not NULL, or over the people who
 *   have a value.
 * - `affine-square-sum`: the sum of (factor * index + offset)^2 over the same rows or people.
 * - `affine-product-sum`: the sum of the product of two such terms, over the rows where neither column is NULL.
 * - `count-distinct`: the number of cells of a separate declared domain that have a row.
 * - `count-distinct-values`: the number of values of a free-text column, in a single cell. For each person it counts the
 *   `valuesEach` values whose lowest rank is lowest, after `bounding`; a row has one value.
 */
export type Statistic =
  | { readonly kind: 'count' | 'count-people'; readonly column?: string; readonly where?: Predicate }
  | {
      readonly kind: 'affine-count'
      readonly where: Predicate
      readonly factor: bigint
      readonly offset: bigint
    }
  | ({
      readonly kind: 'affine-sum' | 'affine-square-sum'
      readonly factor: bigint
      readonly offset: bigint
    } & Summand)
  | { readonly kind: 'affine-product-sum'; readonly terms: readonly [AffineTerm, AffineTerm] }
  | { readonly kind: 'count-distinct'; readonly of: GroupKey }
  | { readonly kind: 'count-distinct-values'; readonly column: string; readonly valuesEach: number }

/** Bounds to which the indexes of a column on a grid are clamped where they are added up or ranked. NULL stays NULL. */
export interface Clamp {
  readonly lower: bigint
  readonly upper: bigint
}

/** The integers that a sum adds up: those of a numeric or boolean column, or one for each person. */
export type Summand =
  | { readonly column: string; readonly clamp?: Clamp; readonly perPerson?: undefined }
  | { readonly column?: undefined; readonly clamp?: undefined; readonly perPerson: PersonValue }

/** The integer factor * index + offset of a row. The index of a boolean is 0 or 1. */
export interface AffineTerm {
  readonly column: string
  readonly clamp?: Clamp
  readonly factor: bigint
  readonly offset: bigint
}

/**
 * Counts of each value of one column, for mechanisms that choose among values instead of declared cells. Rows where the
 * column is NULL are excluded. With `groups` as bounding, the values of the column are the cells.
 */
export type ValueCounting = {
  readonly where?: Predicate
  /** Counts people with the value instead of rows. */
  readonly people?: true
  readonly bounding: Bounding
} & Summand

/**
 * Counts of each index of a column in each cell of a table. Rows that are in no cell, and rows where the column is
 * NULL, are excluded before bounding.
 */
export interface CellCounting {
  readonly where?: Predicate
  readonly groupBy: readonly GroupKey[]
  readonly column: string
  readonly clamp?: Clamp
  readonly bounding: Bounding
}

/** Largest index in a sum of squares or products: its square times any number of rows must fit 128 bits. */
export const LARGEST_SQUARED_INDEX = 2n ** 45n

/**
 * Assignment of rows to the cells of a declared domain. A row outside every bin is in no cell. `nullCell`: the last
 * cell holds the rows where the column is NULL, which are otherwise in no cell.
 */
export type GroupKey =
  | { readonly kind: 'category'; readonly column: string; readonly size: number; readonly nullCell: boolean }
  /** false, then true. */
  | { readonly kind: 'boolean'; readonly column: string; readonly nullCell: boolean }
  /**
   * Bin i holds edges[i] <= index < edges[i + 1]; strictly increasing grid indexes. Without a cycle each bin is a cell.
   * With a cycle, bin i is part of cell (first + i) modulo length, and there are `length` cells.
   */
  | {
      readonly kind: 'bins'
      readonly column: string
      readonly edges: readonly bigint[]
      readonly cycle?: { readonly length: number; readonly first: number }
      readonly nullCell: boolean
    }
  /** The rows that do not satisfy a predicate, then those that do. */
  | { readonly kind: 'predicate'; readonly predicate: Predicate }
  /**
   * Bin i holds the people with edges[i] <= n < edges[i + 1], where n is the number of their rows in the source that
   * satisfy the condition of the aggregate, also of those that `maxRows` leaves out; n is at most one more than the
   * dataset's `plausibleRows`. It is the only key, and the one statistic is `count-people`: a person is in one cell.
   */
  | { readonly kind: 'rows-of-person'; readonly edges: readonly bigint[] }

/** Number of cells of one key. */
export function groupKeySize(key: GroupKey): number {
  switch (key.kind) {
    case 'category':
      return key.size + (key.nullCell ? 1 : 0)
    case 'boolean':
      return key.nullCell ? 3 : 2
    case 'bins':
      return (key.cycle?.length ?? key.edges.length - 1) + (key.nullCell ? 1 : 0)
    case 'predicate':
      return 2
    case 'rows-of-person':
      return key.edges.length - 1
  }
}

/** True for an aggregate that counts people by the number of their rows, before anything bounds these. */
export function countsRowsOfPeople({ groupBy }: Pick<Aggregate, 'groupBy'>): boolean {
  return groupBy.some(({ kind }) => kind === 'rows-of-person')
}

/** Number of cells of an aggregate. */
export function cellCount({ groupBy }: Pick<Aggregate, 'groupBy'>): number {
  return groupBy.reduce((product, key) => product * groupKeySize(key), 1)
}

/** Predicate in two-valued logic: a comparison with NULL is false, and its negation is true. */
export type Predicate =
  | { readonly kind: 'and' | 'or'; readonly predicates: readonly Predicate[] }
  | { readonly kind: 'not'; readonly predicate: Predicate }
  | { readonly kind: 'is-null'; readonly column: string }
  /** Both ends are included; an absent end is open; no row satisfies lower > upper. */
  | {
      readonly kind: 'index-between'
      readonly column: string
      readonly lower?: bigint
      readonly upper?: bigint
    }
  | { readonly kind: 'index-in'; readonly column: string; readonly indexes: readonly bigint[] }
  | { readonly kind: 'category-in'; readonly column: string; readonly indexes: readonly number[] }
  | { readonly kind: 'boolean-is'; readonly column: string; readonly value: boolean }
  | { readonly kind: 'string-in'; readonly column: string; readonly values: readonly string[] }

import type { ContributionRequest, Query } from '../../../../schemas/answers/query.ts'
import { defined } from '../../../privacy/defined.ts'
import { entry } from '../../../privacy/must.ts'
import { refuseField, refuseQuery } from '../../../privacy/refusal.ts'
import type { Dataset } from '../../dataset/dataset.ts'
import type { Bounding } from './aggregate.ts'
import { widestBounding } from './predicate.ts'

/*
 * Bounds on what each person contributes to one query. Ingestion keeps at most `maxRows` rows of each person; a query
 * can keep fewer, which needs less noise and leaves more data out. Which rows are kept depends on the person's own rows
 * only (src/core/planner/price/contribution-bounding.md).
 */

/** Contribution of each person to an answer, as answers and previews state it. */
export type ContributionReport = (
  | { readonly rows: number }
  | { readonly groups: number; readonly rowsPerGroup: number }
) & {
  /** Clamping bounds of a person's total. */
  readonly perPerson?: { readonly lower: number; readonly upper: number }
  /** Scale of the noise, divided by the scale that one row per person would need. */
  readonly factor: number
}

/** The bounds that a query asks for; `undefined` without any, and for a kind that has none. */
export function contributionAsked(query: Query): ContributionRequest | undefined {
  return 'contribution' in query ? query.contribution : undefined
}

/** Cells that a query has, for contribution bounding: one, or several groups. */
export type Cells = 'one' | 'groups'

/**
 * Plans the bounding that a query asks for; without a request, that of ingestion. See decision 30.
 * @throws Refusal `query-does-not-fit` for a dataset whose rows are the privacy units, for bounds beyond the dataset's,
 * or for groups where the query has none; `invalid-request` for a combination that has no meaning.
 */
export function planBounding(
  contribution: ContributionRequest | undefined,
  dataset: Dataset,
  cells: Cells,
): Bounding {
  if (contribution === undefined) return widestBounding(dataset)
  const { privacyUnit } = dataset
  if (privacyUnit.kind === 'row') {
    const rule = 'applies to datasets whose privacy unit is a person; here each row is a privacy unit'
    throw refuseQuery('contribution', rule)
  }
  const { maxRows } = privacyUnit
  const { rows, groups, rowsPerGroup } = contribution
  const within = (name: string, value: number) => {
    if (value <= maxRows) return value
    const rule = `must be at most ${maxRows}, the number of rows that the dataset keeps of each person`
    throw refuseQuery(`contribution.${name}`, rule)
  }
  if (groups === undefined) {
    if (rowsPerGroup !== undefined)
      throw refuseField('invalid-request', 'contribution.rowsPerGroup', 'must be given together with groups')
    return rows === undefined ? widestBounding(dataset) : { kind: 'rows', rows: within('rows', rows) }
  }
  if (rows !== undefined)
    throw refuseField('invalid-request', 'contribution.groups', 'must not be given together with rows')
  if (cells === 'one') throw refuseQuery('contribution.groups', 'applies to queries with groups; use rows')
  return {
    kind: 'groups',
    groups: within('groups', groups),
    rowsPerGroup: within('rowsPerGroup', rowsPerGroup ?? 1),
  }
}

/**
 * Plans the bounds on the undeclared values of each person. A person counts once for each key, so more rows of one key
 * have no effect.
 * @throws Refusal as {@link planBounding}, and for more than one row of each key.
 */
export function planKeyBounding(contribution: ContributionRequest | undefined, dataset: Dataset): Bounding {
  const bounding = planBounding(contribution, dataset, 'groups')
  if (bounding.kind !== 'groups' || bounding.rowsPerGroup === 1) return bounding
  throw refuseQuery('contribution.rowsPerGroup', 'must be 1: each person counts once for each value')
}

/** Largest number of undeclared values of one person, and of rows of one person in one cell. */
export function mostOfPerson(bounding: Bounding): { readonly keys: number; readonly rowsPerCell: number } {
  switch (bounding.kind) {
    case 'one-row-each':
      return { keys: 1, rowsPerCell: 1 }
    case 'rows':
      return { keys: bounding.rows, rowsPerCell: bounding.rows }
    case 'groups':
      return { keys: bounding.groups, rowsPerCell: bounding.rowsPerGroup }
  }
}

/**
 * Requires that a query does not clamp a person's total, except where it has one.
 * @throws Refusal `query-does-not-fit` if it does.
 */
export function requireNoClamp(contribution: ContributionRequest | undefined, hasTotals = false): void {
  if (contribution?.perPerson === undefined || hasTotals) return
  throw refuseQuery('contribution.perPerson', 'applies to sums, means and values per person only')
}

/**
 * Requires that a query can count people.
 * @throws Refusal `query-does-not-fit` if the query counts people and the dataset has none.
 */
export function requirePeople(
  of: 'rows' | 'people' | undefined,
  { privacyUnit }: Dataset,
  field = 'of',
): void {
  if (of !== 'people' || privacyUnit.kind === 'person') return
  const rule =
    'must be "rows": the dataset has no column that identifies people, and each row is a privacy unit'
  throw refuseQuery(field, rule)
}

/** The bounding of one row per person, with which answers compare theirs. */
export const ONE_ROW_PER_PERSON: Bounding = { kind: 'rows', rows: 1 }

/**
 * Describes the contribution of each person; `undefined` where rows are the privacy units.
 * @param factor scale of the noise, divided by the scale that one row per person would need.
 */
export function contributionReport(
  bounding: Bounding,
  factor: () => number,
  perPerson?: ContributionReport['perPerson'],
): ContributionReport | undefined {
  const clamp = perPerson === undefined ? {} : { perPerson }
  switch (bounding.kind) {
    case 'one-row-each':
      return undefined
    case 'rows':
      return { rows: bounding.rows, ...clamp, factor: factor() }
    case 'groups': {
      const { groups, rowsPerGroup } = bounding
      return { groups, rowsPerGroup, ...clamp, factor: factor() }
    }
  }
}

/**
 * The contribution of each person to noises, as a plan has it; of several, the one that grows most states the factor.
 * @param scalesWith what each noise is proportional to, at a bounding
 */
export function contributionTo(
  bounding: Bounding,
  scalesWith: (bounding: Bounding) => readonly (bigint | number)[],
): { readonly contribution?: ContributionReport } {
  const contribution = contributionReport(bounding, () => {
    const ofOneRow = scalesWith(ONE_ROW_PER_PERSON)
    return Math.max(...scalesWith(bounding).map((scale, place) => quotient(scale, entry(ofOneRow, place))))
  })
  return defined({ contribution })
}

/** Quotient of two sensitivities. */
export function quotient(sensitivity: bigint | number, ofOneRow: bigint | number): number {
  return Number(sensitivity) / Number(ofOneRow)
}

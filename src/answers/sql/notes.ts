import type { Dataset } from '../../core/dataset/dataset.ts'
import { OF_SAMPLES } from './measures.ts'
import { contains } from './parsing/expressions.ts'
import type { Statement } from './parsing/statement.ts'
import type { Shape } from './rows/result.ts'

interface Parts extends Shape {
  /** True if ORDER BY has an aggregate. */
  readonly sortsNoise: boolean
  /** True if a noisy value is divided. */
  readonly divides: boolean
}

/** Returns sentences on how the answer to a statement differs from that of a database. */
export function notesOf(
  { privacyUnit }: Dataset,
  statement: Statement,
  { groupings, measures, sortsNoise, divides, queries }: Parts,
): readonly string[] {
  const notes: string[] = []
  const { having, qualify, limit, offset } = statement
  if (queries.length > 1)
    notes.push(
      `The statement is ${queries.length} queries, each at the epsilon or accuracy of the request. They are charged together: queries ` +
        'of rows that exclude each other cost as much as one, and the prices of others add up.',
    )
  if (contains(statement, (part) => part.kind === 'call' && OF_SAMPLES.has(part.name)))
    notes.push(
      'STDDEV, VARIANCE and COVAR_SAMP are computed as of a population: they divide by n, not by n - 1.',
    )
  if (divides)
    notes.push(
      'Quotients keep their fraction, also where PostgreSQL divides whole numbers. By 0 they are NULL.',
    )
  const kinds = new Set(measures.map(({ kind }) => kind))
  if (groupings.length > 0)
    notes.push(
      'Every declared group that WHERE does not exclude has a row, also a group without rows in the dataset.',
    )
  if (having !== undefined || qualify !== undefined)
    notes.push('HAVING compares noisy values: it may keep or remove other groups than exact values would.')
  if (sortsNoise) notes.push('ORDER BY sorts noisy values. Values that are close may be in the wrong order.')
  if (limit !== undefined || offset !== undefined)
    notes.push('LIMIT and OFFSET cut the rows only. The answer has all groups, at the same price.')
  if (kinds.has('minimum') || kinds.has('maximum'))
    notes.push(
      'MIN and MAX are extreme quantiles: the true extreme belongs to one row and cannot be released. The noise of the ' +
        'answer states the rank that was targeted.',
    )
  if (kinds.has('percentile'))
    notes.push(
      'Percentiles are values on the grid of the column and are not interpolated. Their half-width is a number of rows.',
    )
  if (kinds.has('linearRegression'))
    notes.push('The regression has a ridge, which the answer states. It makes slopes slightly smaller.')
  if (kinds.has('sum')) notes.push('SUM over no rows is 0 and noise, where SQL has NULL.')
  if (measures.some((measure) => measure.kind === 'count' && measure.of === 'people'))
    notes.push('COUNT(DISTINCT ...) over the column that identifies people counts people.')
  if (privacyUnit.kind === 'person')
    notes.push(
      'Rows beyond the bounds on what each person contributes are left out. The answer states the bounds.',
    )
  return notes
}

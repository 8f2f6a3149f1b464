import type { Schemas } from '../../api/schemas.ts'

/** Values of one column that broke one rule. */
export interface MisfitRow {
  readonly column: string
  readonly rule: string
  readonly values: number
  /** First places, such as `lines 4, 9`; empty for tables. */
  readonly places: string
}

const RULES: Readonly<Record<Schemas['Misfits']['rule'], string>> = {
  missing: 'is missing',
  'not-a-number': 'is not a number',
  'not-a-whole-number': 'is not a whole number',
  'not-a-date': 'is not a date',
  'not-a-timestamp': 'is not a date and time',
  'not-a-boolean': 'is neither true nor false',
  'not-a-category': 'is not a declared category',
  'not-a-text': 'is not a text',
}

/** Returns the values that did not fit, by column and rule. Columns whose values all fit are left out. */
export function misfitRows({
  invalidValues,
}: Pick<Schemas['IngestionCounts'], 'invalidValues'>): readonly MisfitRow[] {
  return invalidValues.flatMap(({ column, misfits }) =>
    misfits.map((misfit) => ({
      column,
      rule: RULES[misfit.rule],
      values: misfit.values,
      places: placesOf(misfit),
    })),
  )
}

function placesOf({ unit, first = [], values, table }: Schemas['Misfits']): string {
  if (unit === undefined || first.length === 0) return ''
  const more = values > first.length ? ', …' : ''
  return `${unit}${first.length === 1 ? '' : 's'} ${first.join(', ')}${more}${table === undefined ? '' : ` of ${table}`}`
}

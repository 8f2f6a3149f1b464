import type { Schemas } from '../../api/schemas.ts'
import { formatCount } from '../../format/number.ts'

export type Dataset = Schemas['Dataset']
export type Column = Dataset['columns'][number] | NonNullable<Dataset['derived']>[number]

/** Public facts of a dataset on which questions depend. */
export interface DatasetFacts extends Pick<Dataset, 'privacyUnit'> {
  readonly columns: readonly Column[]
}

/** A dataset with all columns that questions can use. */
export type AskedDataset = Omit<Dataset, 'columns'> & DatasetFacts

/** Returns the columns of a dataset: those of its source, and those that are derived from them. */
export function allColumns({
  columns,
  derived = [],
}: Pick<Dataset, 'columns' | 'derived'>): readonly Column[] {
  return [...columns, ...derived]
}

/** Properties of a part of a dataset's page. */
export interface DatasetPart {
  readonly dataset: Dataset
}

/** Says in a few words what the dataset protects. */
export function protectionOf({
  privacyUnit,
  neighbours,
}: Pick<Dataset, 'privacyUnit' | 'neighbours'>): string {
  const unit =
    privacyUnit.kind === 'row' ? 'one row' : `a person with up to ${formatCount(privacyUnit.maxRows, 'row')}`
  return neighbours === 'add-remove' ? `protects the presence of ${unit}` : `protects the values of ${unit}`
}

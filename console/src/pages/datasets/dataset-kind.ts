import type { components } from 'sotto-client'
import { formatCount } from '../../format/number.ts'

export type Dataset = components['schemas']['Dataset']

/** Says in a few words what the dataset protects. */
export function protectionOf({
  privacyUnit,
  neighbours,
}: Pick<Dataset, 'privacyUnit' | 'neighbours'>): string {
  const unit =
    privacyUnit.kind === 'row' ? 'one row' : `a person with up to ${formatCount(privacyUnit.maxRows, 'row')}`
  return neighbours === 'add-remove' ? `protects the presence of ${unit}` : `protects the values of ${unit}`
}

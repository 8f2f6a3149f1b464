import type { ListedRelease, ReleasePage, ReleasePosition, ReleaseSelection } from '../contract/releases.ts'
import { expectCount, expectStorable, expectTime, MAX_PAGE, MAX_TIME_MS } from '../range.ts'

/** Position before the first release of any list. Ids are hexadecimal, so that every id precedes this one. */
const BEFORE_ALL: ReleasePosition = { answeredAtMs: MAX_TIME_MS, id: 'g' }

/**
 * Returns all bounds of a selection: datasets without duplicates, and the empty text for all kinds.
 * @throws RangeError if one of them is out of range.
 */
export function boundsOf({
  datasets,
  principal = '',
  kind = '',
  fromMs = 0,
  toMs = MAX_TIME_MS,
  after = BEFORE_ALL,
  limit,
}: ReleaseSelection) {
  expectCount('limit', limit, MAX_PAGE)
  expectTime('fromMs', fromMs)
  expectTime('toMs', toMs)
  expectTime('answeredAtMs', after.answeredAtMs)
  for (const text of [...datasets, principal, kind, after.id]) expectStorable('the selection', text)
  return { datasets: [...new Set(datasets)], fromMs, toMs, after, kind }
}

/**
 * Makes a page of releases.
 * @param hasMore true if further releases are selected
 */
export function pageOf(releases: readonly ListedRelease[], hasMore: boolean): ReleasePage {
  const last = releases.at(-1)
  if (last === undefined || !hasMore) return { releases }
  return { releases, next: { answeredAtMs: last.answeredAtMs, id: last.id } }
}

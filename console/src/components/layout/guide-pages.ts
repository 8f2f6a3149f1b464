/** Pages of the guide about pages of the console, by addresses of the console. The first that matches counts. */
export const GUIDE_PAGES: readonly (readonly [address: RegExp, page: string])[] = [
  [/^\/datasets\/[^/]+\/ask\b/, 'queries.html'],
  [/^\/datasets\/[^/]+\/sessions\b/, 'queries.html#sparse-vector-sessions'],
  [/^\/datasets\/[^/]+\/spending\b/, 'concepts.html#privacy-budget'],
  [/^\/datasets\/[^/]+\/manage\b/, 'registering.html#after-the-registration'],
  [/^\/datasets\b/, 'console.html#look-at-a-dataset'],
  [/^\/history\b/, 'queries.html#history'],
  [/^\/register\b/, 'registering.html'],
  [/^\/populations\b/, 'registering.html#one-budget-for-the-same-people'],
  [/^\/keys\b/, 'operations.html#keys'],
  [/^\/audit\b/, 'ledger.html'],
  [/^\/risk\b/, 'disclosure-risk.html'],
  [/^\/mechanisms\b/, 'queries.html#compare-mechanisms'],
  [/^\/evaluations\b/, 'queries.html#evaluate-a-query-on-synthetic-data'],
  [/^\/tours\b/, 'walkthrough.html'],
]

/** Returns the address of the page of the guide about a page of the console; of its first page if none is. */
export function guidePageOf(address: string): string {
  const [, page = ''] = GUIDE_PAGES.find(([pattern]) => pattern.test(address)) ?? []
  return `/guide/${page}`
}

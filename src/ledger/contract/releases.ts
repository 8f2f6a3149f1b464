import type { Amount } from '../../privacy/accounting.ts'

/** A stored answer with its owner. */
export interface StoredRelease {
  readonly id: string
  readonly dataset: string
  readonly principal: string
  readonly answer: string
}

/** Name under which the service measures what bounding leaves out. No key and no token can have it. */
export const COVERAGE_PRINCIPAL = 'sotto:coverage'

/** True if a release on a dataset that a principal may use is open to the principal: its own, or the dataset's coverage. */
export function isOpenTo(principal: string, release: { readonly principal: string }): boolean {
  return release.principal === principal || release.principal === COVERAGE_PRINCIPAL
}

/** The facts about an answer by which the ledger lists it. */
export interface ReleaseFacts {
  /** Kind of the request, such as `count`. Default: the empty text. */
  readonly kind?: string
  /** Time that analysts see, in milliseconds since 1970. Default: the time of the store. */
  readonly answeredAtMs?: number
}

/** A position in a list of releases, which are ordered by time and then by id. */
export interface ReleasePosition {
  readonly answeredAtMs: number
  readonly id: string
}

/** A selection of releases. */
export interface ReleaseSelection {
  /** Only releases on these datasets. */
  readonly datasets: readonly string[]
  /** Only releases of this principal. Default: of all principals. */
  readonly principal?: string
  readonly kind?: string
  /** The earliest time, inclusive. */
  readonly fromMs?: number
  /** The latest time, exclusive. */
  readonly toMs?: number
  /** Only releases after this position of the list. */
  readonly after?: ReleasePosition
  /** Largest number of releases, at most 1,000. */
  readonly limit: number
}

/** A stored answer with the facts about its charge. */
export interface ListedRelease extends StoredRelease, Required<ReleaseFacts> {
  readonly datasetVersion: string
  /** The canonical request. */
  readonly request: string
  readonly price: Amount
  /** True if another analyst had paid for the release. */
  readonly shared: boolean
}

/** A page of releases, newest first. */
export interface ReleasePage {
  readonly releases: readonly ListedRelease[]
  /** Position of the last release; missing on the last page. */
  readonly next?: ReleasePosition
}

/** The stored answers. The effect of every method is durable when its promise resolves. */
export interface Releases {
  /**
   * Lists releases, newest first. The releases of one time are in descending order of their ids, which does not depend on
   * the order of the charges. A page ends early once its answers are large.
   * @throws RangeError if the selection is out of range.
   */
  releases(selection: ReleaseSelection): Promise<ReleasePage>
  /** Reads the answer of a charge. */
  release(id: string): Promise<StoredRelease | undefined>
}

import type { registeredDataset, versionList } from '../../../schemas/datasets/dataset.ts'
import type { Wire } from '../../privacy/wire.ts'
import type { Dataset, TableColumn } from './dataset.ts'
import type { DatasetDeclaration } from './declaration.ts'

/** A registered dataset: its declaration and derived facts. */
export interface CatalogEntry {
  readonly declaration: DatasetDeclaration
  /** Budget of the id's first registration. The ledger knows the present budget. */
  readonly budget: { readonly epsilon: number; readonly delta: number }
  readonly dataset: Dataset
  /** ISO 8601, UTC. */
  readonly registeredAt: string
  /** All versions of this registration, the present one last. */
  readonly versions: readonly PublishedVersion[]
  /** SHA-256 of the source, hexadecimal. Private, because it would confirm a guess of the whole file. */
  readonly sourceDigest: string
  /** SHA-256 of each table about people, by which the ledger recognises the source. */
  readonly peopleDigests: readonly string[]
  /**
   * The columns that the table of a live dataset had at registration, for the declared columns and in their order. Absent
   * for other sources.
   */
  readonly tableColumns?: readonly TableColumn[]
  /** Exact numbers about the source, for the custodian only. */
  readonly ingestion: IngestionCounts
}

/** Public facts of a version. */
export type PublishedVersion = Wire<typeof versionList>['versions'][number]

/** Exact numbers about the ingestion of a source. They are not protected by noise, so only custodians may see them. */
export type IngestionCounts = Wire<typeof registeredDataset>['ingestion']

/** The values of a declared column that did not fit its declaration. */
export type InvalidValues = IngestionCounts['invalidValues'][number]

/** The values of a column that broke one rule. */
export type Misfits = InvalidValues['misfits'][number]

/** A removed registration. Its budget is in the ledger. */
export interface RemovedEntry {
  readonly state: 'removed'
  readonly version: string
  readonly synthetic: boolean
  /** SHA-256 of each table about people; none if the service generated the source. */
  readonly peopleDigests: readonly string[]
}

import { isLiveSource } from '../../../core/dataset/dataset.ts'
import type { DatasetDeclaration } from '../../../core/dataset/declaration.ts'
import type { CatalogEntry } from '../../../core/dataset/entry.ts'
import { ingest } from '../../../engines/duckdb/ingestion/ingest.ts'
import { Refusal } from '../../../privacy/refusal.ts'
import { keyedUnit } from '../../catalog/person-key.ts'
import type { Custodian, RegistryDependencies } from '../context.ts'
import type { RunningIngestion } from '../ingestions.ts'
import { requireNotShown, requireUnregistered } from '../registered-sources.ts'
import { copySource } from '../sources/sources.ts'
import { attachTable, copyTable, tableDigest } from '../sources/table.ts'
import type { IngestedVersion } from './publication.ts'
import type { CheckedRegistration } from './registration.ts'

/** A source that was copied or located, before its rows are read. */
export interface PreparedSource {
  /** SHA-256, hexadecimal, by which the ledger recognises the source: of a file's bytes, or of a table's name. */
  readonly digest: string
  /**
   * Ingests the rows, or checks those of a live table.
   * @throws Refusal for a source that does not fit; the reason of the signal once it is aborted.
   */
  ingest(): Promise<Pick<IngestedVersion, 'ingestion' | 'tableColumns'>>
}

/**
 * Copies a source to the workspace of an ingestion, or locates the table.
 * @param principal the custodian, who may use only uploads of their own
 * @throws Refusal `source-refused` for a source that may not be read; the reason of the signal once it is aborted.
 */
export async function prepareSource(
  {
    connections,
    dataDirectory,
    sourceBounds: bounds,
  }: Pick<RegistryDependencies, 'connections' | 'dataDirectory' | 'sourceBounds'>,
  { declaration, columns }: Pick<CheckedRegistration, 'declaration' | 'columns'>,
  { workspace, signal, onProgress }: Pick<RunningIngestion, 'workspace' | 'signal' | 'onProgress'>,
  principal: string,
): Promise<PreparedSource> {
  const { source } = declaration
  const { sourceFile, rowsFile, personKeyFile } = workspace
  const target = { targetPath: rowsFile, signal, bounds, onProgress }
  if (source.kind === 'table')
    return {
      digest: tableDigest(source),
      ingest: async () => {
        onProgress({ phase: 'check' })
        const unit = await keyedUnit(declaration.privacyUnit, personKeyFile)
        const table = { declaration, columns, unit }
        if (isLiveSource(source)) return attachTable(connections, source, table, signal)
        const prepared = await copyTable(connections, source, table, target)
        requireRow(declaration, prepared.ingestion)
        return prepared
      },
    }
  const copied = await copySource(source, { dataDirectory, copy: sourceFile, principal, signal, bounds })
  const { digest, format, csv } = copied
  return {
    digest,
    ingest: async () => {
      const privacyUnit = await keyedUnit(declaration.privacyUnit, personKeyFile)
      const read = { sourcePath: sourceFile, format, csv, columns, privacyUnit }
      const ingestion = await ingest({ ...read, ...target })
      requireRow(declaration, ingestion)
      return { ingestion }
    },
  }
}

/** @throws Refusal `source-does-not-fit` for a dataset without rows under `change-one` neighbours. */
function requireRow(
  { neighbours }: Pick<DatasetDeclaration, 'neighbours'>,
  { rowsStored }: CatalogEntry['ingestion'],
): void {
  if (neighbours !== 'change-one' || rowsStored > 0) return
  const detail = 'With change-one neighbours a dataset needs at least one row.'
  throw new Refusal('source-does-not-fit', detail, [{ field: 'source', rule: 'must have at least one row' }])
}

/**
 * Copies and ingests a source as a publication does, for a registration that is checked and not made.
 * @throws Refusal as {@link prepareSource} does, `source-registered`, or `source-does-not-fit`.
 */
export async function tryIngestion(
  context: Pick<RegistryDependencies, 'catalog' | 'connections' | 'dataDirectory' | 'sourceBounds'>,
  checked: CheckedRegistration,
  running: Pick<RunningIngestion, 'workspace' | 'signal' | 'onProgress'>,
  custodian: Custodian,
): Promise<Pick<IngestedVersion, 'ingestion' | 'tableColumns'> & { readonly source: PreparedSource }> {
  const { catalog } = context
  const source = await prepareSource(context, checked, running, custodian.principal)
  requireNotShown(catalog, checked.declaration, source.digest)
  requireUnregistered(catalog, checked, source.digest, custodian)
  return { source, ...(await source.ingest()) }
}

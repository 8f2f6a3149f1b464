import { type Column, isLiveSource } from '../catalog/dataset.ts'
import type { DatasetDeclaration } from '../catalog/declaration.ts'
import { keyedUnit } from '../catalog/person-key.ts'
import type { RunningIngestion } from './ingestions.ts'
import { type IngestedVersion, ingestInto, requireRow } from './publication.ts'
import { requireNotShown, requireUnregistered } from './registered-sources.ts'
import type { CheckedRegistration } from './registration.ts'
import type { Custodian, RegistryDependencies } from './registry.ts'
import { copySource } from './sources/source.ts'
import { attachTable, copyTable, tableDigest } from './sources/table.ts'

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

/** A checked declaration. */
export interface DeclaredRows {
  readonly declaration: DatasetDeclaration
  readonly columns: readonly Column[]
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
  { declaration, columns }: DeclaredRows,
  { workspace, signal, onProgress }: Pick<RunningIngestion, 'workspace' | 'signal' | 'onProgress'>,
  principal: string,
): Promise<PreparedSource> {
  const { source } = declaration
  if (source.kind === 'table')
    return {
      digest: tableDigest(source),
      ingest: async () => {
        onProgress({ phase: 'check' })
        const unit = await keyedUnit(declaration.privacyUnit, workspace.personKeyFile)
        const table = { declaration, columns, unit }
        if (isLiveSource(source)) return attachTable(connections, source, table, signal)
        const target = { targetPath: workspace.rowsFile, signal, bounds, onProgress }
        const prepared = await copyTable(connections, source, table, target)
        requireRow(declaration, prepared.ingestion)
        return prepared
      },
    }
  const copy = workspace.sourceFile
  const layout = await copySource(source, { dataDirectory, copy, principal, signal, bounds })
  return {
    digest: layout.digest,
    ingest: async () => ({
      ingestion: await ingestInto(
        workspace,
        { declaration, columns, layout },
        { signal, bounds, onProgress },
      ),
    }),
  }
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

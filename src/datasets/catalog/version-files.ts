import type { Dataset } from '../../core/dataset/dataset.ts'

/** Name of the file of ingested rows of one version of a dataset. */
export function rowsFileName({ version }: Pick<Dataset, 'version'>): string {
  return `${version}.duckdb`
}

/** True for a name of {@link rowsFileName}. */
export function isRowsFileName(name: string): boolean {
  return name.endsWith('.duckdb')
}

/** Name of the file of the key that chose the rows of one version of a dataset. */
export function personKeyFileName({ version }: Pick<Dataset, 'version'>): string {
  return `${version}.person-key`
}

import type { FileFormat } from '../../../../core/dataset/dataset.ts'
import { csvFormat } from './csv.ts'
import type { FileFormatReader } from './format.ts'
import { parquetFormat } from './parquet.ts'

/** Every format that can be ingested. */
export const FILE_FORMATS: Readonly<Record<FileFormat, FileFormatReader>> = {
  csv: csvFormat,
  parquet: parquetFormat,
}

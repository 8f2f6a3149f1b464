import type { FileLayout, JoinedSource, Source, TableSource } from '../../../core/dataset/dataset.ts'
import type { ColumnDeclaration } from '../../../core/dataset/declaration.ts'
import type { SourceBounds } from '../../../engines/duckdb/ingestion/bounds.ts'

/** A source that is copied to a file and then ingested. */
export type CopiedSource = Exclude<Source, TableSource | JoinedSource>

/** A source of one kind, such as a file. */
export type SourceOfKind<Kind extends CopiedSource['kind']> = Extract<CopiedSource, { readonly kind: Kind }>

/** A copy of a source that only the service writes. */
export interface SourceCopy extends FileLayout {
  /** The SHA-256 of the bytes, hexadecimal. It could confirm a guess of the whole file, so it stays private. */
  readonly digest: string
}

/** Origin and destination of a copied source; both paths are absolute. */
export interface CopyPaths {
  /** The folder that holds source files. */
  readonly dataDirectory: string
  /** The copy; a file there is replaced. */
  readonly copy: string
  /** Name of the principal that registers the source. Uploads belong to a principal. */
  readonly principal: string
  /** Stops the copying. */
  readonly signal?: AbortSignal | undefined
  /** Bounds on source files; the defaults of ingestion where absent. A file beyond them is not copied. */
  readonly bounds?: Partial<SourceBounds> | undefined
}

/** Reader of sources of one kind. Each kind is one file, and one entry in `SOURCE_KINDS`. */
export interface SourceKind<Kind extends CopiedSource['kind']> {
  /** Declarations that hold for every source of this kind. A registration may omit them. */
  readonly fixed: {
    readonly columns?: readonly ColumnDeclaration[]
    readonly synthetic?: true
  }
  /**
   * Copies the source to a file that only the service writes, so that the bytes checked, digested and ingested are the
   * same.
   * @throws Refusal `source-refused` for a source that may not be read; the reason of the signal once it is aborted.
   */
  copy(source: SourceOfKind<Kind>, paths: CopyPaths): Promise<SourceCopy>
}

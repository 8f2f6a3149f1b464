import type { Source } from '../../../core/dataset/dataset.ts'
import { fileSource, uploadSource } from './file.ts'
import { populationSource } from './population.ts'
import type { CopiedSource, CopyPaths, SourceCopy, SourceKind, SourceOfKind } from './source.ts'
import { visitsSource } from './visits.ts'

const SOURCE_KINDS: { readonly [Kind in CopiedSource['kind']]: SourceKind<Kind> } = {
  file: fileSource,
  upload: uploadSource,
  population: populationSource,
  visits: visitsSource,
}

/** Declarations that hold for every source of a kind. */
export function fixedDeclarations({ kind }: Source): SourceKind<CopiedSource['kind']>['fixed'] {
  return kind === 'table' || kind === 'joined' ? {} : SOURCE_KINDS[kind].fixed
}

/**
 * Copies a source of any kind.
 * @throws Refusal `source-refused` for a source that may not be read.
 */
export function copySource<Kind extends CopiedSource['kind']>(
  source: SourceOfKind<Kind>,
  paths: CopyPaths,
): Promise<SourceCopy> {
  const { kind } = source as CopiedSource
  return SOURCE_KINDS[kind as Kind].copy(source, paths)
}

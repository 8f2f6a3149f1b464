import {
  databaseOf,
  isLiveSource,
  type JoinedSource,
  type Source,
  type TableSource,
} from '../../../core/dataset/dataset.ts'
import type { DatasetDeclaration } from '../../../core/dataset/declaration.ts'
import type { CatalogEntry } from '../../../core/dataset/entry.ts'
import { isJoined, type JoinTree, publicTables } from '../../../core/dataset/joins.ts'
import { ingest, type JoinedFiles, type SourceFile } from '../../../engines/duckdb/ingestion/ingest.ts'
import { sha256 } from '../../../ledger/canonical.ts'
import { must } from '../../../privacy/must.ts'
import { Refusal, refuseField } from '../../../privacy/refusal.ts'
import { keyedUnit } from '../../catalog/person-key.ts'
import type { Custodian, RegistryDependencies } from '../context.ts'
import type { RunningIngestion } from '../ingestions.ts'
import { requireNotShown, requireUnregistered } from '../registered-sources.ts'
import type { CopiedSource, CopyPaths } from '../sources/source.ts'
import { copySource } from '../sources/sources.ts'
import {
  attachTable,
  copyTable,
  ofTable,
  type RegisteredRelation,
  relationsOf,
  tableDigest,
} from '../sources/table.ts'
import type { IngestedVersion } from './publication.ts'
import type { CheckedRegistration } from './registration.ts'

/** A source that was copied or located, before its rows are read. */
export interface PreparedSource {
  /** SHA-256, hexadecimal: of a file's bytes, of a table's name, or of these of joined tables. */
  readonly digest: string
  /**
   * Returns the digests of the tables about people, by which the ledger recognises the source, with those of the relations
   * that they show as their database tells.
   * @throws Refusal `unavailable` if the database cannot be reached; the reason of the signal once it is aborted.
   */
  identify(): Promise<readonly string[]>
  /**
   * Ingests the rows, or checks those of live tables.
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
  { declaration, columns, joins }: Pick<CheckedRegistration, 'declaration' | 'columns' | 'joins'>,
  { workspace, signal, onProgress }: Pick<RunningIngestion, 'workspace' | 'signal' | 'onProgress'>,
  principal: string,
): Promise<PreparedSource> {
  const { source } = declaration
  const { sourceFile, rowsFile, personKeyFile } = workspace
  const target = { targetPath: rowsFile, signal, bounds, onProgress }
  if (source.kind === 'table' || databaseOf(source) !== undefined)
    return {
      ...ofTables(source, joins, (table) => relationsOf(connections, table, signal)),
      ingest: async () => {
        onProgress({ phase: 'check' })
        const unit = await keyedUnit(declaration.privacyUnit, personKeyFile)
        const table = { declaration, columns, unit }
        if (isLiveSource(source)) return attachTable(connections, table, signal)
        const prepared = await copyTable(connections, table, target)
        requireRow(declaration, prepared.ingestion)
        return prepared
      },
    }
  const paths = { dataDirectory, principal, signal, bounds }
  const { read, digest, peopleDigests } = isJoined(source)
    ? await copyJoined(source, must(joins, 'the joins of a joined source'), sourceFile, paths)
    : await copyOne(source, sourceFile, paths)
  return {
    digest,
    identify: async () => peopleDigests,
    ingest: async () => {
      const privacyUnit = await keyedUnit(declaration.privacyUnit, personKeyFile)
      const ingestion = await ingest({ ...read, ...target, columns, privacyUnit })
      requireRow(declaration, ingestion)
      return { ingestion }
    },
  }
}

/** The digest of a source, and those of its tables about people. */
interface Digests {
  readonly digest: string
  readonly peopleDigests: readonly string[]
}

/** The files of a copied source, with its digests. */
interface Copied<Read> extends Digests {
  readonly read: Read
}

/**
 * The digests of a table, or of joined tables.
 * @param ask asks the database which relations a table shows
 */
function ofTables(
  source: Source,
  joins: JoinTree | undefined,
  ask: (table: TableSource) => Promise<readonly RegisteredRelation[]>,
): Pick<PreparedSource, 'digest' | 'identify'> {
  const tables = isJoined(source) ? Object.entries(source.tables) : [['', source] as const]
  const named = tables.map(([name, table]) => {
    if (table.kind !== 'table') throw new RangeError('a source is not a table of a database')
    return { name, table, digest: tableDigest(table) }
  })
  const pairs = named.map(({ name, digest }) => [name, digest] as const)
  const { digest, peopleDigests } = isJoined(source)
    ? ofJoined(pairs, must(joins, 'the joins of a joined source'))
    : ofOneTable(must(pairs[0], 'a table')[1])
  return {
    digest,
    identify: async () => {
      const shown = await Promise.all(
        named.map(async ({ table, ...each }) => ({ ...each, relations: await ask(table) })),
      )
      const isOfPeople = ({ digest }: { readonly digest: string }) => peopleDigests.includes(digest)
      const people = shown.filter(isOfPeople)
      requireApart(
        people,
        shown.filter((each) => !isOfPeople(each)),
      )
      return [...new Set([...peopleDigests, ...people.flatMap(relationsIn)])]
    },
  }
}

/** A joined table with the relations that it shows. */
interface ShownTable {
  readonly name: string
  readonly relations: readonly RegisteredRelation[]
}

function relationsIn({ relations }: ShownTable): readonly string[] {
  return relations.map(({ digest }) => digest)
}

/**
 * Requires that tables about people show different rows, and each some that no public table shows. Views over such tables may
 * have public tables in common.
 * @throws Refusal `source-does-not-fit` for a view over the rows of another table, as far as the database tells
 */
function requireApart(people: readonly ShownTable[], open: readonly ShownTable[]): void {
  const shared = new Set(open.flatMap(relationsIn))
  for (const [place, table] of people.entries()) {
    const origins = table.relations.filter(({ isOrigin }) => isOrigin)
    if (origins.length > 0 && origins.every(({ digest }) => shared.has(digest)))
      throw shownInPublic(open, origins, table.name)
    const own = relationsIn(table).filter((relation) => !shared.has(relation))
    const other = people
      .slice(0, place)
      .find((before) => relationsIn(before).some((relation) => own.includes(relation)))
    if (other !== undefined) throw joinedTwice(table.name, other.name)
  }
}

/** All rows of a table about people are rows of public tables, which so are about people as well. */
function shownInPublic(
  open: readonly ShownTable[],
  origins: readonly RegisteredRelation[],
  people: string,
): Refusal {
  const isShown = (table: ShownTable) => origins.some(({ digest }) => relationsIn(table).includes(digest))
  const { name } = must(open.find(isShown), 'a public table')
  const rule = `must not be public: it shows the rows of ${people}, which is about people`
  return refuseField('source-does-not-fit', `source.tables.${name}`, rule)
}

/**
 * The digests of joined tables. Public tables are about nobody.
 * @throws Refusal `source-does-not-fit` for a table about people that is joined under two names
 */
function ofJoined(digests: readonly (readonly [name: string, digest: string])[], joins: JoinTree): Digests {
  const isPublic = publicTables(joins)
  for (const [people, digest] of digests) {
    const [name] = digests.find((each) => each[0] !== people && each[1] === digest) ?? []
    if (name !== undefined && !isPublic.has(people)) throw joinedTwice(name, people)
  }
  return {
    digest: sha256(
      digests
        .map(([name, digest]) => `${name} ${digest}`)
        .sort()
        .join('\n'),
    ),
    peopleDigests: digests.flatMap(([name, digest]) => (isPublic.has(name) ? [] : [digest])),
  }
}

/** A person's row would be found for others as well: it would change the rows of two people. */
function joinedTwice(name: string, people: string): Refusal {
  const rule = `must not be the table ${people} once more, nor show the same rows: they are people's, and would belong to others as well`
  return refuseField('source-does-not-fit', `source.tables.${name}`, rule)
}

function ofOneTable(digest: string): Digests {
  return { digest, peopleDigests: [digest] }
}

async function copyOne(
  source: CopiedSource,
  sourcePath: string,
  paths: Omit<CopyPaths, 'copy'>,
): Promise<Copied<SourceFile>> {
  const { digest, ...layout } = await copySource(source, { ...paths, copy: sourcePath })
  return { ...ofOneTable(digest), read: { sourcePath, ...layout } }
}

/** Copies the tables of a joined source, each to a file of its own. */
async function copyJoined(
  source: JoinedSource,
  joins: JoinTree,
  sourceFile: string,
  paths: Omit<CopyPaths, 'copy'>,
): Promise<Copied<JoinedFiles>> {
  const tables: Record<string, SourceFile> = {}
  const digests: [name: string, digest: string][] = []
  for (const [name, table] of Object.entries(source.tables)) {
    if (table.kind === 'table') throw new RangeError('a table of a database cannot be copied')
    const { digest, read } = await copyOne(table, `${sourceFile}-${name}`, paths).catch((error: unknown) => {
      throw ofTable(name, error)
    })
    tables[name] = read
    digests.push([name, digest])
  }
  return { ...ofJoined(digests, joins), read: { tables, joins } }
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
): Promise<
  Pick<IngestedVersion, 'ingestion' | 'tableColumns' | 'peopleDigests'> & { readonly source: PreparedSource }
> {
  const { catalog } = context
  const source = await prepareSource(context, checked, running, custodian.principal)
  const peopleDigests = await source.identify()
  requireNotShown(catalog, checked.declaration, peopleDigests)
  requireUnregistered(catalog, checked, peopleDigests, custodian)
  return { source, peopleDigests, ...(await source.ingest()) }
}

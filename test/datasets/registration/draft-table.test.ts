import { expect, test } from 'vitest'
import type { TableColumn } from '../../../src/core/dataset/dataset.ts'
import { draftDeclaration } from '../../../src/datasets/registration/drafts/draft.ts'
import { createDrafts } from '../../../src/datasets/registration/drafts/drafts.ts'
import { describeTable } from '../../../src/datasets/registration/drafts/table.ts'
import type { Connections } from '../../../src/datasets/registration/sources/table.ts'
import { EngineFailure } from '../../../src/engines/engine.ts'
import type { TableEngine } from '../../../src/engines/tables/table-engine.ts'

type Describe = TableEngine['describe']

/** A connection whose engine can only describe tables: a draft must need nothing else. */
function connected(describe: Describe): Connections {
  const connection = { name: 'warehouse', engine: 'postgres', schema: 'public' }
  return new Map([['warehouse', { connection, engine: { describe } }]]) as unknown as Connections
}

const column = (name: string, type: string, notNull = false): TableColumn => ({ name, type, notNull })
const drafted = { kind: 'table', connection: 'warehouse', table: 'clinic.visits_2023' } as const
const { signal } = new AbortController()

test('a table is drafted from the names and types of its columns', async () => {
  const connections = connected(async () => [
    column('patient_id', 'bigint', true),
    column('visited', 'date', true),
    column('arrived', 'timestamp(3) with time zone'),
    column('age', 'smallint'),
    column('cost', 'numeric(10,2)', true),
    column('emergency', 'boolean', true),
    column('note', 'character varying(200)'),
    column('token', 'uuid'),
    column('ward', 'enum clinic.ward', true),
    column('place', 'geometry'),
    column('odd', 'constructor'),
  ])
  const { declaration, notes, questions } = draftDeclaration(
    await describeTable(connections, drafted, signal),
    true,
  )
  expect(declaration).toEqual({
    id: 'visits-2023',
    title: 'Visits 2023',
    source: { ...drafted, mode: 'live' },
    columns: [
      { name: 'patient_id', type: 'identifier' },
      { name: 'visited', type: 'date', lower: 'TODO', upper: 'TODO', step: 1 },
      {
        name: 'arrived',
        type: 'timestamp',
        lower: 'TODO',
        upper: 'TODO',
        step: 'TODO',
        timeZone: 'TODO',
        nullable: true,
      },
      { name: 'age', type: 'integer', lower: 'TODO', upper: 'TODO', step: 1, nullable: true },
      { name: 'cost', type: 'number', lower: 'TODO', upper: 'TODO', step: 'TODO' },
      { name: 'emergency', type: 'boolean' },
      { name: 'note', type: 'string', nullable: true },
      { name: 'token', type: 'identifier' },
      { name: 'ward', type: 'string' },
    ],
    privacyUnit: 'TODO',
    neighbours: 'add-remove',
    budget: { epsilon: 'TODO' },
  })
  expect(questions).toContainEqual({ field: 'privacyUnit', text: expect.stringContaining('"patient_id"') })
  expect(notes.filter(({ field }) => field === 'columns').map(({ text }) => text)).toEqual([
    '"place" is left out: its type is geometry.',
    '"odd" is left out: its type is constructor.',
  ])
})

test('a table that cannot be described is refused', async () => {
  const missing = describeTable(
    connected(async () => undefined),
    drafted,
    signal,
  )
  await expect(missing).rejects.toMatchObject({ code: 'source-refused', errors: [{ field: 'source.table' }] })
  const unknown = describeTable(new Map(), drafted, signal)
  await expect(unknown).rejects.toMatchObject({
    code: 'source-refused',
    errors: [{ field: 'source.connection' }],
  })
  const down = connected(async () => {
    throw new EngineFailure('EngineUnavailable')
  })
  await expect(describeTable(down, drafted, signal)).rejects.toMatchObject({ code: 'unavailable' })
})

test('attack: clients that leave drafts of a database that stalls do not hold up other drafts', async () => {
  const begun = Promise.withResolvers<void>()
  let stalling = 0
  const stalled: Describe = async ({ name }, signal) => {
    if (name === 'working') return [column('age', 'integer')]
    const { promise, reject } = Promise.withResolvers<never>()
    signal?.addEventListener('abort', () => reject(signal.reason))
    stalling += 1
    if (stalling === 2) begun.resolve()
    return promise
  }
  const folders = { dataDirectory: 'unused', temporaryDirectory: 'unused' }
  const drafts = createDrafts({ ...folders, connections: connected(stalled) })
  const propose = (table: string, from: string, leaving: AbortSignal) =>
    drafts.propose({ ...drafted, table }, from, { showDataHints: false, signal: leaving })
  const client = new AbortController()
  const left = ['ada', 'eve', 'ida'].map((from) => propose('stalled', from, client.signal))
  const other = propose('working', 'ada', signal)
  await begun.promise
  client.abort(new Error('left'))
  const outcomes = await Promise.allSettled(left)
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
  expect((await other).declaration).toMatchObject({ id: 'working' })
})

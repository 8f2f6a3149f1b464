import { rename } from 'node:fs/promises'
import path from 'node:path'
import type { TestService } from '../e2e/service.ts'
import { withDuckDb } from '../engines/fixture.ts'

/** Replaces the rows of the demo by a file without its columns while a task runs, so that all of its queries fail. */
export async function withBrokenRows(service: TestService, task: () => Promise<void>): Promise<void> {
  const { body } = await service.as('analyst').get('/v1/datasets/census').expect(200)
  const file = path.join(service.dataDirectory, 'datasets', 'census', `${body.version}.duckdb`)
  const kept = path.join(service.dataDirectory, 'kept.duckdb')
  await rename(file, kept)
  await withDuckDb(file, 'CREATE VIEW rows AS SELECT 1 AS nothing')
  await service.restart()
  await task()
  await rename(kept, file)
  await service.restart()
}

/** Lets queries of the demo fail until failures have suspended it. */
export async function suspendDemo(service: TestService): Promise<void> {
  const query = { kind: 'count', where: { column: 'Age', op: '>=', value: 40 }, epsilon: 0.25 }
  await withBrokenRows(service, async () => {
    for (let failure = 0; failure < 3; failure++) await service.ask('census', query).expect(500)
  })
}

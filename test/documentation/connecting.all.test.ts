import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestService, type TestService } from '../e2e/service.ts'
import { describePostgres } from '../servers/postgres.ts'
import { queryPostgres } from '../servers/postgres-server.ts'
import { commandsOf, openShell, readPage, type Shell } from './pasted-page.ts'

const page = readPage('docs/connecting.md')

describePostgres('the page about databases', ({ createDatabase }) => {
  let url: URL
  let service: TestService
  let shell: Shell
  beforeAll(async () => {
    url = new URL(await createDatabase())
    service = await startTestService()
    shell = await openShell(service)
  })
  afterAll(async () => {
    await shell.close()
    await service.close()
  })

  /** Runs statements as the owner of the database, which has a name of its own. */
  const run = (sql: string) =>
    queryPostgres(url.href, sql.replaceAll('DATABASE clinic', `DATABASE ${url.pathname.slice(1)}`))

  test('its commands lead from a role to the first answer, as the page says', async () => {
    // Roles belong to the server, which other tests use.
    await run('DROP ROLE IF EXISTS sotto')
    const statements = [...page.matchAll(/^```sql\n([\s\S]*?)^```/gm)].map(([, sql = '']) => sql)
    expect(statements).toHaveLength(2)
    for (const sql of statements) await run(sql)
    const [configure = '', list = '', register = '', ask = '', ...others] = commandsOf(page)
    expect(others).toEqual([])

    await shell.run(configure)
    const file = path.join(service.dataDirectory, 'connections.yaml')
    const written = await readFile(file, 'utf8')
    await writeFile(
      file,
      written.replace(/database: .*/, `database: ${url.pathname.slice(1)}\n  port: ${url.port}`),
    )
    await service.restart({ SOTTO_CONNECTIONS: 'connections.yaml' })
    const shown = /^```json\n([\s\S]*?)\n```/m.exec(page)?.[1] ?? ''
    expect(await shell.run(list)).toEqual([shown])

    const registered = JSON.parse((await shell.run(register)).join('\n'))
    expect(registered).toMatchObject({
      source: { table: 'clinic.visits', mode: 'live' },
      ingestion: { rowsRead: 2_000, rowsStored: 2_000, people: 400 },
    })
    const answered = JSON.parse((await shell.run(ask)).join('\n'))
    // A geometric noise with epsilon 0.5 is beyond 100 with a probability below 1e-20.
    expect(Math.abs(answered.result.value - 400)).toBeLessThan(100)

    // The role is limited to reading: a role that may change the table is refused with the rule.
    await run('GRANT INSERT ON clinic.visits TO sotto')
    const refused = await service
      .register({ ...JSON.parse(/-d '(\{[\s\S]*\})'/.exec(register)?.[1] ?? ''), id: 'again' })
      .expect(422)
    expect(refused.body.errors).toMatchObject([{ field: 'source.connection' }])

    // A change of a declared column suspends the dataset, and a new version records the present columns.
    await run('ALTER TABLE clinic.visits ALTER ward TYPE varchar(20)')
    const failed = JSON.parse((await shell.run(ask.replace('0.5', '0.25'))).join('\n'))
    expect(failed.code).toBe('query-failed')
    const { body } = await service.as('custodian').get('/v1/datasets/visits/suspension').expect(200)
    expect(body).toMatchObject({ suspended: true, reason: 'table-changed' })
    await run('REVOKE INSERT ON clinic.visits FROM sotto')
    await service.as('custodian').post('/v1/datasets/visits/versions').send({}).expect(201)
    await service
      .as('custodian')
      .post('/v1/datasets/visits/resume')
      .send({ reason: 'New version.' })
      .expect(200)
    const repeated = JSON.parse((await shell.run(ask.replace('0.5', '0.25'))).join('\n'))
    expect(Math.abs(repeated.result.value - 400)).toBeLessThan(200)
    await service.as('custodian').delete('/v1/datasets/visits').expect(204)
    await run('DROP OWNED BY sotto; DROP ROLE sotto')
  })
})

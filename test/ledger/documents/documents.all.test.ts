import { Client } from 'pg'
import { expect, test } from 'vitest'
import { openDocuments } from '../../../src/ledger/documents/documents.ts'
import { DocumentsFault } from '../../../src/ledger/documents/fault.ts'
import { describeOwnPostgres, describePostgres } from '../../servers/postgres.ts'

describePostgres('documents', (databases) => {
  test('are written under conditions: of several writers of one revision, one succeeds', async () => {
    const url = await databases.createDatabase()
    const replicas = await Promise.all([1, 2, 3].map(() => openDocuments(url)))
    try {
      for (let round = 0; round < 10; round += 1) {
        const [first] = replicas
        const expected = (await first?.revisions('entry'))?.get('entry')
        const outcomes = await Promise.allSettled(
          replicas.map((replica, number) => replica.write('entry', `${round}.${number}`, expected)),
        )
        const written = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
        expect(written.length).toBe(1)
        for (const replica of replicas) {
          expect(await replica.read('entry')).toMatchObject({ revision: written[0] })
          expect(await replica.read('entry', written[0])).toBe('unchanged')
        }
      }
      await replicas[0]?.remove(['entry'])
      expect(await replicas[1]?.read('entry')).toBeUndefined()
    } finally {
      await Promise.all(replicas.map((replica) => replica.close()))
    }
  })

  test('need no right to create once the schema exists', async () => {
    const url = await databases.createDatabase()
    await (await openDocuments(url)).close()
    const client = new Client(url)
    await client.connect()
    const role = `reader_${new URL(url).pathname.slice(1)}`
    await client.query(`CREATE ROLE ${role} LOGIN PASSWORD 'x'; GRANT USAGE ON SCHEMA sotto_catalog TO ${role};
      GRANT SELECT ON ALL TABLES IN SCHEMA sotto_catalog TO ${role};
      GRANT INSERT, UPDATE, DELETE ON sotto_catalog.documents TO ${role};
      GRANT USAGE ON SEQUENCE sotto_catalog.revisions TO ${role}`)
    const limited = new URL(url)
    limited.username = role
    limited.password = 'x'
    const documents = await openDocuments(limited.href)
    await documents.write('entry', 'text', undefined)
    expect(await documents.read('entry')).toMatchObject({ text: 'text' })
    await documents.close()
    await client.end()
  })

  test('of a newer release, and a schema of another program, are refused', async () => {
    const url = await databases.createDatabase()
    await (await openDocuments(url)).close()
    const client = new Client(url)
    await client.connect()
    await client.query('UPDATE sotto_catalog.schema_version SET version = 99')
    await expect(openDocuments(url)).rejects.toThrow('version 99')
    await client.query('DROP TABLE sotto_catalog.schema_version')
    await expect(openDocuments(url)).rejects.toThrow('another program')
    await client.end()
  })
})

describeOwnPostgres('documents of a server that stops', {}, (own) => {
  test('fail with a fault while it is down, and are read again afterwards', async () => {
    const documents = await openDocuments(await own.server.createDatabase())
    await documents.write('entry', 'text', undefined)
    await own.server.stop('immediate')
    await expect(documents.read('entry')).rejects.toThrow(DocumentsFault)
    expect(await documents.healthy()).toBe(false)
    await own.server.start()
    expect(await documents.read('entry')).toMatchObject({ text: 'text' })
    await documents.close()
  })
})

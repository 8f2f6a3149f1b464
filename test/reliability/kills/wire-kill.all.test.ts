import path from 'node:path'
import { Client } from 'pg'
import { expect, test } from 'vitest'
import { openLedger } from '../../../src/ledger/open.ts'
import { verifyLedger } from '../../../src/ledger/verification.ts'
import { freePort } from '../../servers/postgres-server.ts'
import { chance, needsAnotherRound, roundCount, roundCounter } from '../rounds.ts'
import { getJson, makeServiceFolder, registerPupils } from '../service.ts'

const SESSIONS = 30

/** Different ones are different questions. */
interface Question {
  readonly sql: string
  readonly year: number
  /** Price in thousandths of epsilon. */
  readonly thousandths: number
}

const STATEMENTS = ['COUNT(*)', 'SUM(year)', 'COUNT(*), MEDIAN(year)'].map(
  (statistics) => `SELECT ${statistics} FROM pupils WHERE year = $1`,
)

test('kill -9 under sessions that spend: answers are replayed free, and each question is charged once', async () => {
  const random = chance('kill under sessions of PostgreSQL')
  const counted = roundCounter('kill -9 of a service under sessions of PostgreSQL')
  const folder = await makeServiceFolder()
  const pgPort = await freePort()
  const environment = { SOTTO_PG_PORT: String(pgPort) }
  const asked = new Map<string, Question>()
  const answers = new Map<string, unknown>()

  const connect = async (spending: 'allow' | 'replay-only') => {
    const client = new Client({
      ...{ host: '127.0.0.1', port: pgPort, user: 'ada', database: 'sotto', password: folder.analystKey },
      options: `-c sotto.spending=${spending}`,
    } as never)
    client.on('error', () => undefined)
    await client.connect()
    return client
  }
  const ask = async (client: Client, { sql, year, thousandths }: Question) => {
    await client.query(`SET sotto.epsilon = ${thousandths / 1_000}`)
    return (await client.query({ text: sql, values: [year], rowMode: 'array' })).rows
  }
  /** Sessions often ask the same question. */
  const someQuestion = (): Question => ({
    sql: random.oneOf(STATEMENTS),
    year: 1 + random.below(4),
    thousandths: 1 + random.below(60),
  })

  for (let round = 1; needsAnotherRound(round, roundCount(2), counted); round += 1) {
    const service = await folder.start(environment)
    if (round === 1) await registerPupils(folder, service.url, 1_000)
    let untilKill = SESSIONS + random.below(150)
    const spend = async () => {
      const client = await connect('allow')
      for (;;) {
        const question = someQuestion()
        const key = JSON.stringify(question)
        asked.set(key, question)
        try {
          const answer = await ask(client, question)
          expect(answers.get(key) ?? answer).toEqual(answer)
          answers.set(key, answer)
        } catch (error) {
          // Another session may be asking the same.
          if ((error as { readonly code?: string }).code !== '55P03') throw error
        }
        untilKill -= 1
        if (untilKill === 0) service.child.kill('SIGKILL')
      }
    }
    const ends = await Promise.allSettled(Array.from({ length: SESSIONS }, spend))
    for (const end of ends)
      expect(String(end.status === 'rejected' && end.reason)).toMatch(/terminated|ECONN|EPIPE|ended/)
    counted.add({ acknowledged: answers.size, interrupted: asked.size - answers.size })

    const restarted = await folder.start(environment)
    const spentThousandths = async () => {
      const { spent } = await getJson(folder.auditorKey, `${restarted.url}/v1/datasets/pupils/budget`)
      return Math.round((spent as { readonly epsilon: number }).epsilon * 1e6) / 1e3
    }
    const before = await spentThousandths()
    const replaying = await connect('replay-only')
    for (const [key, answer] of answers)
      expect(await ask(replaying, asked.get(key) as Question)).toEqual(answer)
    expect(await spentThousandths()).toBe(before)
    const settling = await connect('allow')
    for (const [key, question] of asked) answers.set(key, await ask(settling, question))
    const expected = [...asked.values()].reduce((sum, { thousandths }) => sum + thousandths, 0)
    expect(await spentThousandths()).toBe(expected)
    await replaying.end()
    await settling.end()
    expect(await restarted.stop('SIGTERM')).toBe(0)
    const ledger = await openLedger({ url: path.join(folder.directory, 'ledger.sqlite') })
    expect(await verifyLedger(ledger, 'pupils')).toMatchObject({ kind: 'sound' })
    await ledger.close()
  }
})

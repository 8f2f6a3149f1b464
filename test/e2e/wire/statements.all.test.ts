import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { Client, type QueryConfig } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { must } from '../../../src/privacy/must.ts'
import { testService } from '../service.ts'

/*
 * What tools and drivers send to begin a session and to read the catalogue, as their sources and documentation have it. A file is
 * a tool, and a paragraph is one text. The values of its parameters follow `$` in the comment before it. `:census` is the OID of
 * the table.
 */
const folder = path.join(import.meta.dirname, 'statements')

interface Sent {
  readonly text: string
  readonly values: (string | number)[]
}

function sentBy(file: string, oid: number): readonly Sent[] {
  const paragraphs = readFileSync(path.join(folder, file), 'utf8').trim().split('\n\n')
  return paragraphs.map((paragraph) => {
    const [, values = '[]'] = /^-- [^\n]* \$ (.*)$/m.exec(paragraph) ?? []
    const text = paragraph.replace(/^-- .*\n/, '').replaceAll(':census', String(oid))
    return { text, values: JSON.parse(values.replaceAll('":census"', String(oid))) }
  })
}

const service = testService({ SOTTO_DEMO: 'true', SOTTO_PG_PORT: '0' })
let client: Client
let oid: number

beforeAll(async () => {
  client = new Client({
    ...{ host: '127.0.0.1', port: must(service.pgPort, 'the port'), user: 'analyst', database: 'sotto' },
    password: service.keyOf('analyst'),
  })
  await client.connect()
  const { rows } = await client.query(`SELECT 'census'::regclass::oid AS oid`)
  oid = rows[0].oid
})
afterAll(() => client.end())

/** Returns the error of a text, or undefined. */
async function errorOf(config: QueryConfig & { readonly queryMode?: string }): Promise<string | undefined> {
  try {
    await client.query(config)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

describe.each(readdirSync(folder))('the statements of %s', (file) => {
  test('are answered', async () => {
    const failures: (readonly [string, string])[] = []
    for (const { text, values } of sentBy(file, oid)) {
      const isOne = !/;\s*\S/.test(text)
      const ways = [
        ...(values.length === 0 ? [{ text }] : []),
        ...(isOne ? [{ text, values, queryMode: 'extended' }] : []),
      ]
      for (const way of ways) {
        const error = await errorOf(way)
        if (error !== undefined) failures.push([text, error])
      }
    }
    expect(failures).toEqual([])
  })
})

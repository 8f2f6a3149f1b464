import path from 'node:path'
import { expect, test } from 'vitest'
import { ConfigError, environmentSchema, readConfig } from '../src/config.ts'

test('every variable is optional', () => {
  expect(readConfig({ PATH: '/bin' })).toMatchObject({
    host: '127.0.0.1',
    port: 8080,
    dataDirectory: path.resolve('data'),
    ledgerUrl: path.resolve('data/ledger.sqlite'),
    demo: true,
  })
})

test.each([
  ['SOTTO_PORT', '80a', 'must be a whole number'],
  ['SOTTO_PORT', '65536', 'must be at most 65535'],
  ['SOTTO_PORT', '', 'must be a whole number'],
  ['SOTTO_LOG_LEVEL', 'loud', 'must be one of fatal, error, warn, info'],
  ['SOTTO_DEMO', 'yes', 'must be one of true, false'],
  ['SOTTO_QUERY_MEMORY', '1 gigabyte', 'MB or GB'],
  ['SOTTO_QUERY_MEMORY', '319MB', 'at least 320MB for 4 concurrent queries'],
  ['SOTTO_DATA_DIR', '/srv/what?', 'must not be in a folder'],
  ['SOTTO_LEDGER_URL', 'mysql://ledger', 'postgres://'],
  ['SOTTO_HEADS_PUBLISH', 'heads.jsonl', 'needs SOTTO_LEDGER_SIGNING_KEY'],
  ['SOTTO_HEADS_PUBLISH_SECONDS', '0', 'must be at least 1'],
  ['SOTTO_METRICS_PORT', '8080', 'must be another port than SOTTO_PORT'],
  ['SOTTO_PROT', '8080', 'is not a known variable'],
  ['SOTTO_TRUST_PROXY', 'true', 'must be IP addresses'],
  ['SOTTO_TRUST_PROXY', '10.0.0.0/33', 'must be IP addresses'],
  ['SOTTO_TRUST_PROXY', '0.0.0.0/0', 'not /0'],
  ['SOTTO_TRUST_PROXY', '::/0', 'not /0'],
  ['SOTTO_TRUST_PROXY', '10.0.0.1, 10.0.0.2', 'must be IP addresses'],
  ['SOTTO_OIDC_ISSUER', 'http://login.example', 'must be an https:// URL'],
  ['SOTTO_OIDC_AUDIENCE', 'sotto', 'needs SOTTO_OIDC_ISSUER'],
  ['SOTTO_OIDC_ALGORITHMS', 'HS256', 'SOTTO_OIDC_ALGORITHMS: must be one of RS256'],
  ['SOTTO_OIDC_ALGORITHMS', 'RS256,none', 'RS256'],
  ['SOTTO_OIDC_ROLES', 'staff=admin', 'must be values and roles'],
])('%s=%s stops the start and names the variable and the rule', (name, value, rule) => {
  const read = () => readConfig({ [name]: value })
  expect(read).toThrow(ConfigError)
  expect(read).toThrow(name)
  expect(read).toThrow(rule)
})

test('tokens need an issuer and an audience', () => {
  const issuer = { SOTTO_OIDC_ISSUER: 'https://login.example/realm' }
  expect(() => readConfig(issuer)).toThrow('SOTTO_OIDC_AUDIENCE: must be set together with SOTTO_OIDC_ISSUER')
  const roles = { SOTTO_OIDC_ROLES: 'staff=analyst,privacy-office=auditor' }
  const { oidc } = readConfig({ ...issuer, ...roles, SOTTO_OIDC_AUDIENCE: 'sotto' })
  expect(oidc).toMatchObject({ algorithms: ['RS256', 'PS256', 'ES256', 'EdDSA'], tokenType: 'at+jwt' })
  expect([...(oidc?.roles ?? [])]).toEqual([
    ['staff', 'analyst'],
    ['privacy-office', 'auditor'],
  ])
})

test('the memory for queries must suffice for their number and for the threads', () => {
  const read = (memory: string, connections: string, threads: string) => () =>
    readConfig({
      SOTTO_QUERY_MEMORY: memory,
      SOTTO_QUERY_CONNECTIONS: connections,
      SOTTO_QUERY_THREADS: threads,
    })
  expect(read('320MB', '4', '2')().queryMemory).toBe('320MB')
  expect(read('96MB', '1', '1')).not.toThrow()
  expect(read('95MB', '1', '1')).toThrow('SOTTO_QUERY_MEMORY: must be at least 96MB')
  expect(read('1GB', '16', '1')).toThrow('at least 1056MB for 16 concurrent queries')
  expect(read('2GB', '16', '16')).not.toThrow()
})

test('every variable has a description', () => {
  for (const [name, schema] of Object.entries(environmentSchema.shape)) {
    expect(schema.description, name).toMatch(/\.$/)
  }
})

test.each([
  ['heads/published.jsonl', '/srv/sotto/heads/published.jsonl'],
  ['/var/log/sotto/heads.jsonl', '/var/log/sotto/heads.jsonl'],
  ['https://log.example/heads?token=1', 'https://log.example/heads?token=1'],
])('heads are published to a file or a URL: %s', (target, headsPublish) => {
  const environment = { SOTTO_DATA_DIR: '/srv/sotto', SOTTO_LEDGER_SIGNING_KEY: 'key.pem' }
  expect(readConfig({ ...environment, SOTTO_HEADS_PUBLISH: target })).toMatchObject({ headsPublish })
})

test.each([
  'ftp://log.example/heads',
  'https://user:secret@log.example/',
  'https:heads',
  's3://bucket/heads',
])('heads are not published to %s', (target) => {
  const read = () => readConfig({ SOTTO_LEDGER_SIGNING_KEY: 'key.pem', SOTTO_HEADS_PUBLISH: target })
  expect(read).toThrow('SOTTO_HEADS_PUBLISH: must be the path of a file, or an http(s) URL')
  expect(read).not.toThrow('secret')
})

test('the ledger is a file in the data folder or a PostgreSQL database that replicas share', () => {
  const url = 'postgres://sotto@ledger.example/sotto'
  expect(readConfig({ SOTTO_LEDGER_URL: url })).toMatchObject({ ledgerUrl: url, replicated: true })
  const file = readConfig({ SOTTO_DATA_DIR: '/srv/sotto', SOTTO_LEDGER_URL: 'books/ledger.sqlite' })
  expect(file).toMatchObject({ ledgerUrl: '/srv/sotto/books/ledger.sqlite', replicated: false })
})

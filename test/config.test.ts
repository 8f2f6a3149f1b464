import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { ConfigError, readConfig, SECRET_VARIABLES } from '../src/config.ts'

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
  ['SOTTO_TRACES_URL', 'collector:4318', 'must be an http(s) URL'],
  ['SOTTO_TRACES_URL', 'http://user:secret@collector:4318/', 'without user and password'],
  ['SOTTO_TRACES_HEADERS', 'a=b', 'needs SOTTO_TRACES_URL'],
  ['SOTTO_TRACES_HEADERS', 'authorization: Bearer abc', 'must be names and values'],
  ['SOTTO_PROT', '8080', 'is not a known variable'],
  ['SOTTO_TRUST_PROXY', 'true', 'must be IP addresses'],
  ['SOTTO_TRUST_PROXY', '10.0.0.0/33', 'must be IP addresses'],
  ['SOTTO_TRUST_PROXY', '0.0.0.0/0', 'not /0'],
  ['SOTTO_TRUST_PROXY', '::/0', 'not /0'],
  ['SOTTO_TRUST_PROXY', '10.0.0.1, 10.0.0.2', 'must be IP addresses'],
  ['SOTTO_ALLOWED_ORIGINS', '*', 'must be origins'],
  ['SOTTO_ALLOWED_ORIGINS', 'null', 'must be origins'],
  ['SOTTO_ALLOWED_ORIGINS', 'https://pages.example/', 'must be origins'],
  ['SOTTO_ALLOWED_ORIGINS', 'https://pages.example, https://b.example', 'must be origins'],
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
  expect(() => readConfig(issuer)).toThrow('SOTTO_OIDC_ISSUER: needs SOTTO_OIDC_AUDIENCE')
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

test('traces are sent to a URL, with headers', () => {
  const url = 'https://collector.example/v1/traces'
  expect(readConfig({}).traces).toBeUndefined()
  expect(readConfig({ SOTTO_TRACES_URL: url }).traces).toEqual({ url, headers: {} })
  const headers = 'authorization=Basic YTpiYw==,x-tenant=7'
  expect(readConfig({ SOTTO_TRACES_URL: url, SOTTO_TRACES_HEADERS: headers }).traces).toEqual({
    url,
    headers: { authorization: 'Basic YTpiYw==', 'x-tenant': '7' },
  })
})

test('the ledger is a file in the data folder or a PostgreSQL database that replicas share', () => {
  const url = 'postgres://sotto@ledger.example/sotto'
  expect(readConfig({ SOTTO_LEDGER_URL: url })).toMatchObject({ ledgerUrl: url, replicated: true })
  const file = readConfig({ SOTTO_DATA_DIR: '/srv/sotto', SOTTO_LEDGER_URL: 'books/ledger.sqlite' })
  expect(file).toMatchObject({ ledgerUrl: '/srv/sotto/books/ledger.sqlite', replicated: false })
})

describe('secrets in files', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'sotto-secrets-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const key = 'fv7-a-key-of-the-metrics'
  const file = (name: string, text: string) => {
    writeFileSync(path.join(folder, name), text)
    return path.join(folder, name)
  }
  const read = (environment: Record<string, string>) => () => readConfig(environment)

  test('a file gives the value of each variable with a secret, without its final line break', () => {
    const values = {
      SOTTO_LEDGER_URL: 'postgres://sotto:secret@ledger.example/sotto',
      SOTTO_CATALOG_URL: 'postgres://sotto:other@ledger.example/sotto',
      SOTTO_HEADS_PUBLISH: 'https://log.example/heads?token=secret',
      SOTTO_METRICS_KEY: key,
      SOTTO_TRACES_HEADERS: 'authorization=Bearer secret',
    }
    expect(Object.keys(values)).toEqual(SECRET_VARIABLES)
    const named = Object.entries(values).map(([name, value]) => [`${name}_FILE`, file(name, `${value}\n`)])
    const rest = { SOTTO_LEDGER_SIGNING_KEY: 'key.pem', SOTTO_TRACES_URL: 'http://collector:4318' }
    expect(readConfig({ ...Object.fromEntries(named), ...rest })).toEqual(readConfig({ ...values, ...rest }))
  })

  test('only one line break is dropped, and a path is relative to the data folder', () => {
    file('windows', `${key}\r\n`)
    const environment = { SOTTO_DATA_DIR: folder, SOTTO_METRICS_KEY_FILE: 'windows' }
    expect(readConfig(environment).metricsKey).toBe(key)
    const twice = file('twice', `${key}\n\n`)
    expect(read({ SOTTO_METRICS_KEY_FILE: twice })).toThrow('SOTTO_METRICS_KEY: must be 16 to 200 visible')
  })

  test('a variable and its file must not both be set, even if they agree', () => {
    const both = { SOTTO_METRICS_KEY: key, SOTTO_METRICS_KEY_FILE: file('both', key) }
    expect(read(both)).toThrow('SOTTO_METRICS_KEY_FILE: must not be set together with SOTTO_METRICS_KEY')
  })

  test.each([
    ['missing', 'must be a file that can be read (ENOENT)'],
    ['folder', 'must be a file that can be read (EISDIR)'],
    ['empty', 'must be a file that is not empty'],
    ['line', 'must be a file that is not empty'],
    ['large', 'must be a file of at most 64 kB'],
  ])('a file that cannot be used stops the start: %s', (name, rule) => {
    mkdirSync(path.join(folder, 'folder'), { recursive: true })
    file('empty', '')
    file('line', '\n')
    file('large', 'x'.repeat(65_537))
    const environment = { SOTTO_LEDGER_URL_FILE: path.join(folder, name) }
    expect(read(environment)).toThrow(ConfigError)
    expect(read(environment)).toThrow(`SOTTO_LEDGER_URL_FILE: ${rule}`)
  })

  test('every wrong file is named, and no message contains a secret', () => {
    const secretText = 'a secret with spaces'
    const wrong = { SOTTO_LEDGER_URL_FILE: '/no/such/url', SOTTO_HEADS_PUBLISH_FILE: '/no/such/heads' }
    expect(read(wrong)).toThrow(/SOTTO_LEDGER_URL_FILE: .*\nSOTTO_HEADS_PUBLISH_FILE: /)
    const unusable = read({ SOTTO_METRICS_KEY_FILE: file('spaces', secretText) })
    expect(unusable).toThrow('SOTTO_METRICS_KEY: must be')
    expect(unusable).not.toThrow(secretText)
  })

  test('a variable that names a file itself has no variable for a file', () => {
    expect(read({ SOTTO_TLS_KEY_FILE: file('key.pem', 'PEM') })).toThrow(
      'SOTTO_TLS_KEY_FILE: is not a known variable',
    )
  })
})

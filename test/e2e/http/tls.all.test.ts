import { copyFile, rm, writeFile } from 'node:fs/promises'
import { Agent, request } from 'node:https'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { connect, type TLSSocket } from 'node:tls'
import { beforeEach, describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../folders.ts'
import { startTestService } from '../service.ts'

/** Two self-signed certificates for 127.0.0.1 with the names `first` and `second`, valid for 100 years. */
const certificates = path.resolve(import.meta.dirname, '../../http/certificates')

let folder = ''
beforeEach(async () => {
  folder = temporaryFolder()
  await use('first')
})

async function use(name: 'first' | 'second'): Promise<void> {
  await copyFile(path.join(certificates, `${name}.crt`), path.join(folder, 'tls.crt'))
  await copyFile(path.join(certificates, `${name}.key`), path.join(folder, 'tls.key'))
}

const files = () => ({
  SOTTO_TLS_CERT: path.join(folder, 'tls.crt'),
  SOTTO_TLS_KEY: path.join(folder, 'tls.key'),
})

interface Answer {
  readonly status: number | undefined
  readonly certificate: string | string[] | undefined
  readonly headers: NodeJS.Dict<string | string[]>
  readonly socket: TLSSocket
}

/** Sends GET /healthz. The certificates are self-signed, so only their names are compared. */
function get(url: string, agent: Agent | false): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(`${url}/healthz`, { agent, rejectUnauthorized: false }, (response) => {
      const socket = response.socket as TLSSocket
      const certificate = socket.getPeerCertificate().subject.CN
      response.resume()
      response.on('end', () => {
        const { statusCode: status, headers } = response
        resolve({ status, certificate, headers, socket })
      })
    })
    sent.on('error', reject)
    sent.end()
  })
}

test('HTTPS is served, browsers are told to stay with it, and plain HTTP is not answered', async () => {
  const service = await startTestService({ ...files(), SOTTO_METRICS_PORT: '0' })
  try {
    expect(service.url).toMatch(/^https:\/\/127\.0\.0\.1:/)
    const answer = await get(service.url, false)
    expect(answer).toMatchObject({ status: 200, certificate: 'first' })
    expect(answer.headers['strict-transport-security']).toContain('max-age=')
    expect(service.metricsUrl).toMatch(/^https:/)
    await expect(fetch(`${service.url.replace('https', 'http')}/healthz`)).rejects.toThrow()
  } finally {
    await service.close()
  }
})

test('TLS 1.1 is refused', async () => {
  const service = await startTestService(files())
  const port = Number(new URL(service.url).port)
  const handshake = (version: 'TLSv1.1' | 'TLSv1.2') =>
    new Promise((resolve) => {
      const versions = { minVersion: version, maxVersion: version, ciphers: 'DEFAULT@SECLEVEL=0' }
      const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ...versions })
      socket.on('secureConnect', () => {
        resolve(socket.getProtocol())
        socket.destroy()
      })
      socket.on('error', () => resolve('refused'))
    })
  try {
    expect(await handshake('TLSv1.1')).toBe('refused')
    expect(await handshake('TLSv1.2')).toBe('TLSv1.2')
  } finally {
    await service.close()
  }
})

test('changed files are used for new connections, open connections continue, and unusable files change nothing', async () => {
  const service = await startTestService(files())
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const logged = (text: string) => service.logLines.some((line) => line.includes(text))
  try {
    const before = await get(service.url, agent)
    await writeFile(path.join(folder, 'tls.key'), 'nonsense')
    while (!logged('cannot be used')) await setTimeout(20)
    expect((await get(service.url, false)).certificate).toBe('first')
    await use('second')
    while ((await get(service.url, false)).certificate !== 'second') await setTimeout(20)
    const after = await get(service.url, agent)
    expect(after).toMatchObject({ status: 200, certificate: 'first' })
    expect(after.socket).toBe(before.socket)
  } finally {
    agent.destroy()
    await service.close()
  }
})

describe('the start is stopped by', () => {
  const start = (environment: Record<string, string>) =>
    startTestService(environment).then((service) => service.close())

  test.each([
    ['a missing certificate', 'SOTTO_TLS_CERT', () => rm(path.join(folder, 'tls.crt'))],
    ['a missing key', 'SOTTO_TLS_KEY', () => rm(path.join(folder, 'tls.key'))],
    ['a certificate that is none', 'SOTTO_TLS_CERT', () => writeFile(path.join(folder, 'tls.crt'), 'x')],
    ['a key that is none', 'SOTTO_TLS_KEY', () => writeFile(path.join(folder, 'tls.key'), 'x')],
    [
      'the key of another certificate',
      'SOTTO_TLS_KEY: must be the key of the certificate',
      () => copyFile(path.join(certificates, 'second.key'), path.join(folder, 'tls.key')),
    ],
  ])('%s', async (_, message, spoil) => {
    await spoil()
    const started = start(files())
    await expect(started).rejects.toThrow(/^SOTTO_TLS_/)
    await expect(started).rejects.toThrow(message)
  })

  test('one file without the other', async () => {
    const { SOTTO_TLS_CERT, SOTTO_TLS_KEY } = files()
    await expect(start({ SOTTO_TLS_CERT })).rejects.toThrow('SOTTO_TLS_CERT: needs SOTTO_TLS_KEY')
    await expect(start({ SOTTO_TLS_KEY })).rejects.toThrow('SOTTO_TLS_KEY: needs SOTTO_TLS_CERT')
  })
})

import { createPrivateKey, X509Certificate } from 'node:crypto'
import { unwatchFile, watchFile } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { Server as HttpsServer } from 'node:https'
import type { SecureContextOptions } from 'node:tls'
import type { Logger } from 'pino'
import { codeOf } from '../platform/files/private-file.ts'

/** Files of a certificate chain and its private key, both PEM. */
export interface TlsFiles {
  readonly certFile: string
  readonly keyFile: string
}

/** Time between two checks of the files. */
const INTERVAL_MS = 2_000

/**
 * Reads the files and checks that the key belongs to the certificate.
 * @throws Error that names the variable and the rule, if a file cannot be used.
 */
export async function readTls({ certFile, keyFile }: TlsFiles): Promise<SecureContextOptions> {
  const cert = await read(certFile, 'SOTTO_TLS_CERT')
  const key = await read(keyFile, 'SOTTO_TLS_KEY')
  const certificate = parsed('SOTTO_TLS_CERT: must be a PEM certificate', () => new X509Certificate(cert))
  const privateKey = parsed('SOTTO_TLS_KEY: must be a PEM private key without a passphrase', () =>
    createPrivateKey(key),
  )
  if (!certificate.checkPrivateKey(privateKey))
    throw new Error('SOTTO_TLS_KEY: must be the key of the certificate in SOTTO_TLS_CERT')
  return { cert, key, minVersion: 'TLSv1.2' }
}

/**
 * Reloads the certificate when its files have changed and belong together. New connections use it, and existing ones
 * continue. Files that cannot be used change nothing.
 * @returns a function that stops checking the files.
 */
export function followCertificate(files: TlsFiles, servers: readonly object[], logger: Logger): () => void {
  const reload = async () => {
    try {
      const options = await readTls(files)
      for (const server of servers) if (hasCertificate(server)) server.setSecureContext(options)
      logger.info('the TLS certificate was reloaded')
    } catch (err) {
      logger.error({ err }, 'the changed TLS files cannot be used; the previous certificate stays in use')
    }
  }
  // Polled, because a mounted secret is replaced by exchanging a link to its folder.
  const paths = [files.certFile, files.keyFile]
  for (const path of paths) watchFile(path, { interval: INTERVAL_MS, persistent: false }, reload)
  return () => {
    for (const path of paths) unwatchFile(path, reload)
  }
}

function hasCertificate(server: object): server is Pick<HttpsServer, 'setSecureContext'> {
  return 'setSecureContext' in server
}

async function read(file: string, variable: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw new Error(`${variable}: must be a file that can be read${codeOf(error)}`)
  }
}

function parsed<Value>(rule: string, parse: () => Value): Value {
  try {
    return parse()
  } catch {
    throw new Error(rule)
  }
}

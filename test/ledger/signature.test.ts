import { createPrivateKey, createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto'
import { chmod, readFile, rm, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import type { ChainHead } from '../../src/ledger/contract/chain.ts'
import { headStatement } from '../../src/ledger/protocol/verifier/noted-events.ts'
import { createSigningKey, isSignatureOf, readHeadSigner } from '../../src/ledger/signature.ts'
import { temporaryFolder } from '../folders.ts'

let directory = ''
let file = ''
beforeEach(() => {
  directory = temporaryFolder()
  file = path.join(directory, 'signing.key')
})

const head: ChainHead = { dataset: 'census', sequence: 9, hash: 'ab'.repeat(32) }

/** RFC 8032, section 7.1, tests 1 to 3: the secret key, the public key, the message, the signature. */
const RFC_8032 = [
  [
    '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60',
    'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
    '',
    'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b',
  ],
  [
    '4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb',
    '3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c',
    '72',
    '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
  ],
  [
    'c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7',
    'fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025',
    'af82',
    '6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a',
  ],
] as const

/** RFC 8410: the bytes before the 32 bytes of a key in PKCS#8 and in SPKI. */
const privatePem = (secret: string) => pem('PRIVATE KEY', `302e020100300506032b657004220420${secret}`)
const publicPem = (key: string) => pem('PUBLIC KEY', `302a300506032b6570032100${key}`)
const pem = (label: string, hex: string) =>
  `-----BEGIN ${label}-----\n${Buffer.from(hex, 'hex').toString('base64')}\n-----END ${label}-----\n`

async function writeKey(text: string, mode = 0o600): Promise<void> {
  await writeFile(file, text)
  await chmod(file, mode)
}

test.each(RFC_8032)(
  'keys and signatures are those of RFC 8032: %s',
  async (secret, key, message, signature) => {
    await writeKey(privatePem(secret))
    const signer = await readHeadSigner(file)
    expect(signer.publicKey).toBe(publicPem(key))
    const bytes = Buffer.from(message, 'hex')
    expect(sign(null, bytes, createPrivateKey(privatePem(secret))).toString('hex')).toBe(signature)
    expect(verify(null, bytes, createPublicKey(signer.publicKey), Buffer.from(signature, 'hex'))).toBe(true)
  },
)

test('the statement and the signature of a head equal those of other tools', async () => {
  const statement = `{"dataset":"census","hash":"${head.hash}","sequence":9,"version":1}`
  expect(headStatement(head)).toBe(statement)
  expect(headStatement({ ...head, extra: 1 } as ChainHead)).toBe(statement)
  await writeKey(privatePem(RFC_8032[0][0]))
  const signer = await readHeadSigner(file)
  // openssl pkeyutl -sign -rawin -inkey signing.key -in statement | base64
  const known = 'fEACdJqbb3Nv/gAOEHeoVZBP2DIFU1TvYBXiByw2aZ5dlcraKcEYQ9oldBn5ra5e6mOC9eDyaZoNfxPLQoqhCg=='
  expect(signer.sign(head)).toBe(known)
  expect(isSignatureOf(head, known, signer.publicKey)).toBe(true)
})

describe('an invalid signature', () => {
  test('of another head', async () => {
    await createSigningKey(file)
    const signer = await readHeadSigner(file)
    const signature = signer.sign(head)
    for (const other of [
      { ...head, dataset: 'Census' },
      { ...head, sequence: 8 },
      { ...head, hash: 'ac'.repeat(32) },
      { ...head, hash: head.hash.toUpperCase() },
      { ...head, sequence: Number.NaN },
      { ...head, dataset: '\ud800' },
    ]) {
      expect(isSignatureOf(other, signature, signer.publicKey)).toBe(false)
    }
  })

  test('by another key', async () => {
    await createSigningKey(file)
    const other = await createSigningKey(`${file}.other`)
    const signature = (await readHeadSigner(file)).sign(head)
    expect(isSignatureOf(head, signature, other)).toBe(false)
  })

  test('another text, and the same bytes in another encoding', async () => {
    const publicKey = await createSigningKey(file)
    const signature = (await readHeadSigner(file)).sign(head)
    expect(isSignatureOf(head, signature, publicKey)).toBe(true)
    const bytes = Buffer.from(signature, 'base64')
    for (let position = 0; position < bytes.length; position += 1) {
      const turned = Buffer.from(bytes)
      turned[position] = (bytes[position] ?? 0) ^ 1
      expect(isSignatureOf(head, turned.toString('base64'), publicKey)).toBe(false)
    }
    for (const text of [
      '',
      'x',
      signature.slice(0, -1),
      `${signature}\n`,
      `${signature}AAAA`,
      bytes.toString('hex'),
      bytes.toString('base64url'),
      // The decoder ignores four bits of the last character before "==".
      signature.replace(
        /.==$/,
        (end) => `${end[0] === 'A' ? 'B' : String.fromCharCode(end.charCodeAt(0) + 1)}==`,
      ),
    ]) {
      expect(isSignatureOf(head, text, publicKey), text).toBe(false)
    }
  })

  test('an invalid key is an error', async () => {
    await createSigningKey(file)
    const signature = (await readHeadSigner(file)).sign(head)
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey
    expect(() => isSignatureOf(head, signature, 'no key')).toThrow('must be the PEM')
    expect(() =>
      isSignatureOf(head, signature, rsa.export({ type: 'spki', format: 'pem' }).toString()),
    ).toThrow('not one of the type rsa')
  })
})

test('a new key is readable by its owner only, and never overwrites another', async () => {
  const publicKey = await createSigningKey(file)
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  expect(await readFile(`${file}.pub`, 'utf8')).toBe(publicKey)
  expect((await readHeadSigner(file)).publicKey).toBe(publicKey)
  const before = await readFile(file, 'utf8')
  await expect(createSigningKey(file)).rejects.toMatchObject({ code: 'EEXIST' })
  expect(await readFile(file, 'utf8')).toBe(before)
  await rm(file)
  await expect(createSigningKey(file)).rejects.toMatchObject({ code: 'EEXIST' })
  // If the public key cannot be written, the private one is removed.
  await expect(stat(file)).rejects.toMatchObject({ code: 'ENOENT' })
  expect(await readFile(`${file}.pub`, 'utf8')).toBe(publicKey)
})

describe('the error for an unusable key names the variable and the rule, and does not quote the key', () => {
  const secret = RFC_8032[0][0]
  const body = Buffer.from(`302e020100300506032b657004220420${secret}`, 'hex').toString('base64')

  async function refusal(): Promise<string> {
    const error = await readHeadSigner(file).catch((caught: unknown) => caught)
    if (!(error instanceof Error)) throw new Error('it was read')
    expect(error.message).toMatch(/^SOTTO_LEDGER_SIGNING_KEY: /)
    expect(error.message).toContain(file)
    expect(`${error.message} ${error.cause}`).not.toContain(body.slice(20))
    return error.message
  }

  test.each([0o604, 0o660, 0o602, 0o644, 0o641])('accessible to others: %o', async (mode) => {
    await writeKey(privatePem(secret), mode)
    expect(await refusal()).toContain(
      'must be accessible to its owner only, and readable to its group at most',
    )
  })

  // The last one is how the Helm chart mounts it.
  test.each([0o600, 0o400, 0o440])(
    'a file of its owner, or readable to its group, is accepted: %o',
    async (mode) => {
      await writeKey(privatePem(secret), mode)
      expect((await readHeadSigner(file)).publicKey).toBe(publicPem(RFC_8032[0][1]))
    },
  )

  test('missing', async () => {
    expect(await refusal()).toContain('must be a file that can be read (ENOENT)')
  })

  test('a public key, a truncated one, one with a passphrase', async () => {
    const { privateKey } = generateKeyPairSync('ed25519')
    const locked = privateKey.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' })
    for (const text of [publicPem(RFC_8032[0][1]), privatePem(secret.slice(2)), body, '', String(locked)]) {
      await writeKey(text)
      expect(await refusal()).toContain('must hold the PKCS#8 PEM')
    }
  })

  test('of another type', async () => {
    const options = { type: 'pkcs8', format: 'pem' } as const
    for (const [type, { privateKey }] of [
      ['rsa', generateKeyPairSync('rsa', { modulusLength: 2048 })],
      ['ec', generateKeyPairSync('ec', { namedCurve: 'P-256' })],
      ['ed448', generateKeyPairSync('ed448')],
      ['x25519', generateKeyPairSync('x25519')],
    ] as const) {
      await writeKey(privateKey.export(options).toString())
      expect(await refusal()).toContain(`must hold an Ed25519 key, not one of the type ${type}`)
    }
  })
})

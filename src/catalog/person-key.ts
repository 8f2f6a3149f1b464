import { randomBytes } from 'node:crypto'
import { writePrivately } from '../files/durable-file.ts'
import type { PrivacyUnit } from '../privacy/neighbours.ts'

const KEY_BYTES = 32

/**
 * Creates the secret key that chooses and orders each person's rows in one version of a dataset, and writes it durably
 * to a file that only its owner may read. With the key, anyone who knows a person's rows could compute which of them
 * are kept.
 * @returns 64 hexadecimal digits
 */
async function createPersonKey(file: string): Promise<string> {
  const key = randomBytes(KEY_BYTES).toString('hex')
  await writePrivately(file, `${key}\n`)
  return key
}

/** The privacy unit, for people with the secret key that chooses and orders each person's rows. */
export type KeyedPrivacyUnit =
  | Extract<PrivacyUnit, { kind: 'row' }>
  | (Extract<PrivacyUnit, { kind: 'person' }> & { readonly key: string })

/** The privacy unit as ingestion needs it: for people with a new key, which is stored first. */
export async function keyedUnit(unit: PrivacyUnit, file: string): Promise<KeyedPrivacyUnit> {
  return unit.kind === 'row' ? unit : { ...unit, key: await createPersonKey(file) }
}

/**
 * Adds the key that is stored as a text to the privacy unit of people.
 * @throws Error for a text that is no key.
 */
export function withKey(unit: Extract<PrivacyUnit, { kind: 'person' }>, text: string): KeyedPrivacyUnit {
  const key = text.trim()
  if (!/^[0-9a-f]{64}$/.test(key)) throw new Error('the stored text is no key')
  return { ...unit, key }
}

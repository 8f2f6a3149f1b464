import { randomBytes } from 'node:crypto'
import type { KeyedPrivacyUnit } from '../../core/dataset/dataset.ts'
import { writePrivately } from '../../platform/files/durable-file.ts'
import type { PrivacyUnit } from '../../privacy/neighbours.ts'

const KEY_BYTES = 32

/**
 * Returns the privacy unit as ingestion needs it: for people with a new secret key, which chooses and orders each
 * person's rows in one version of a dataset, and which is first written, durably, to a file that only its owner may read.
 * With the key, anyone who knows a person's rows could compute which of them are kept.
 */
export async function keyedUnit(unit: PrivacyUnit, file: string): Promise<KeyedPrivacyUnit> {
  if (unit.kind === 'row') return unit
  const key = randomBytes(KEY_BYTES).toString('hex')
  await writePrivately(file, `${key}\n`)
  return { ...unit, key }
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

import { randomUUID } from 'node:crypto'
import type { z } from 'zod'
import type { keyRequest } from '../../../../schemas/service/keys.ts'
import { defined } from '../../../privacy/defined.ts'
import { Refusal, refuseField } from '../../../privacy/refusal.ts'
import type { Principal } from '../principal.ts'
import type { Change, KeyAct, KeyFile, StoredKey } from './key-file.ts'
import { digestOfKey } from './key-text.ts'
import { scramVerifierOf } from './scram.ts'

/** Request for a new API key. Its datasets need not be registered yet. */
export type NewKey = z.input<typeof keyRequest>

/** The year 10000: later years have another form in ISO 8601. */
const END_OF_TIME_MS = Date.UTC(10_000, 0)

/** The command line and the first start, which may change every key. No key has this name. */
export const COMMAND_LINE = 'sotto:command-line'

/** Author of a change: a custodian, or the command line. */
export type Author = Principal | typeof COMMAND_LINE

/** The author and the time of a change. */
export interface Changing {
  readonly by: Author
  readonly atMs: number
}

/** Name that the service uses itself, for the demo. */
const RESERVED_NAME = 'sotto'

/**
 * Adds a key.
 * @param text the text of the key, of which only the digest is kept
 * @throws Refusal `key-name-taken`, `forbidden` or `invalid-request`
 */
export function addKey(
  contents: KeyFile,
  request: NewKey,
  text: string,
  { by, atMs }: Changing,
): Change<StoredKey> {
  requireUsableName(contents, request, by)
  requireOwnDatasets(request, by)
  const { name, role, datasets, quota, spending, settings } = request
  const expiresAt = request.expiresAt === undefined ? undefined : new Date(request.expiresAt)
  // An invalid date is NaN, which is not greater than anything.
  if (expiresAt !== undefined && !(expiresAt.getTime() > atMs && expiresAt.getTime() < END_OF_TIME_MS))
    throw refuseField('invalid-request', 'expiresAt', 'must be a time in the future, before the year 10000')
  const keys = (nameEntry(contents, name)?.keys ?? 0) + 1
  const created: StoredKey = defined({
    id: `${name}.${keys}`,
    name,
    role,
    datasets: datasets && [...new Set(datasets)].sort(),
    quota,
    spending,
    settings,
    expiresAt: expiresAt?.toISOString(),
    createdAt: new Date(atMs).toISOString(),
    createdBy: nameOf(by),
    sha256: digestOfKey(text),
    scram: scramVerifierOf(name, text),
    earlier: [],
  })
  const act = actOf('key-created', created, { by, atMs })
  return {
    contents: {
      ...contents,
      keys: [...contents.keys, created],
      names: { ...contents.names, [name]: { role, keys } },
      acts: [...contents.acts, act],
    },
    result: created,
  }
}

/**
 * Gives a key a new text. Previous texts stay valid until the end of the overlap, or of that of an earlier rotation if that
 * ends first.
 * @throws Refusal `unknown-key`
 */
export function rotateKey(
  contents: KeyFile,
  id: string,
  { overlapSeconds, text }: { readonly overlapSeconds: number; readonly text: string },
  { by, atMs }: Changing,
): Change<StoredKey> {
  const key = requireKey(contents, id, by)
  const overlapEnd = new Date(atMs + overlapSeconds * 1000).toISOString()
  const earlier = [defined({ sha256: key.sha256, scram: key.scram, validUntil: overlapEnd }), ...key.earlier]
    // Times in the same format and zone compare as texts.
    .map((each) => ({ ...each, validUntil: each.validUntil < overlapEnd ? each.validUntil : overlapEnd }))
    .filter(({ validUntil }) => Date.parse(validUntil) > atMs)
  const rotated: StoredKey = {
    ...key,
    rotatedAt: new Date(atMs).toISOString(),
    sha256: digestOfKey(text),
    scram: scramVerifierOf(key.name, text),
    earlier,
  }
  const act = actOf('key-rotated', key, { by, atMs }, { overlapSeconds })
  const keys = contents.keys.map((each) => (each === key ? rotated : each))
  return { contents: { ...contents, keys, acts: [...contents.acts, act] }, result: rotated }
}

/**
 * Removes a key with all of its texts. Its name stays known.
 * @throws Refusal `unknown-key`, or `last-custodian-key`
 */
export function removeKey(contents: KeyFile, id: string, { by, atMs }: Changing): Change<StoredKey> {
  const key = requireKey(contents, id, by)
  const keys = contents.keys.filter((each) => each !== key)
  if (isUnlimitedCustodian(key) && !keys.some((each) => isUnlimitedCustodian(each) && isValid(each, atMs)))
    throw new Refusal(
      'last-custodian-key',
      'This is the last key of a custodian for all datasets. Create another one first.',
    )
  const act = actOf('key-deleted', key, { by, atMs })
  return { contents: { ...contents, keys, acts: [...contents.acts, act] }, result: key }
}

/** True if an author may see and change a key: a custodian limited to datasets only keys limited to these. */
export function mayManage(by: Author, key: Pick<StoredKey, 'datasets'>): boolean {
  if (by === COMMAND_LINE || by.datasets === undefined) return true
  const own = new Set(by.datasets)
  return key.datasets?.every((dataset) => own.has(dataset)) ?? false
}

/** True until a key expires. */
export function isValid({ expiresAt }: Pick<StoredKey, 'expiresAt'>, atMs: number): boolean {
  return expiresAt === undefined || atMs < Date.parse(expiresAt)
}

/**
 * Checks the name of a new key.
 * @throws Refusal if it is reserved, has another role, or belongs to a principal and `samePrincipal` is not set.
 */
function requireUsableName(contents: KeyFile, { name, role, samePrincipal }: NewKey, by: Author): void {
  if (name === RESERVED_NAME) throw refuseField('invalid-request', 'name', 'is reserved for the service')
  const before = nameEntry(contents, name)
  if (before === undefined) return
  const taken = (detail: string, field: string, rule: string) =>
    new Refusal('key-name-taken', detail, [{ field, rule }])
  const others = contents.keys.filter((key) => key.name === name)
  if (!samePrincipal || !others.every((key) => mayManage(by, key)))
    throw taken(
      `The name ${name} belongs to a principal that has or had a key. Choose another name, or send "samePrincipal": ` +
        'true if the key is for the same principal: it then has the same releases, spending and allotments.',
      'name',
      'must be a new name, unless samePrincipal is true',
    )
  if (before.role !== role)
    throw taken(
      `The principal ${name} has the role ${before.role}. A role cannot change: choose another name.`,
      'role',
      `must be ${before.role}, the role of the principal`,
    )
}

/** @throws Refusal `forbidden` if a custodian limited to datasets asks for a key beyond these. */
function requireOwnDatasets({ datasets }: NewKey, by: Author): void {
  const asked = datasets === undefined ? {} : { datasets }
  if (mayManage(by, asked)) return
  throw new Refusal(
    'forbidden',
    'Your key is limited to datasets. Keys that you create need `datasets` with no others than these.',
  )
}

/** @throws Refusal `unknown-key`, also for a key that the author may not manage */
function requireKey(contents: KeyFile, id: string, by: Author): StoredKey {
  const found = contents.keys.find((key) => key.id === id)
  if (found === undefined || !mayManage(by, found))
    throw new Refusal('unknown-key', `There is no key ${id}. GET /v1/keys lists the keys.`)
  return found
}

function isUnlimitedCustodian({ role, datasets }: StoredKey): boolean {
  return role === 'custodian' && datasets === undefined
}

/** Returns the entry of a name. An own property, because every object inherits names such as `constructor`. */
function nameEntry({ names }: KeyFile, name: string) {
  return Object.hasOwn(names, name) ? names[name] : undefined
}

function actOf(
  kind: KeyAct['kind'],
  { id, name, role, datasets, quota, spending, settings, expiresAt }: StoredKey,
  { by, atMs }: Changing,
  facts: KeyAct['facts'] = {},
): KeyAct {
  return {
    id: randomUUID(),
    kind,
    at: new Date(atMs).toISOString(),
    principal: nameOf(by),
    subject: id,
    facts: defined({
      name,
      role,
      ...recordedDatasets(datasets),
      quota: quota && JSON.stringify(quota),
      spending,
      settings: settings && JSON.stringify(settings),
      expiresAt,
      ...facts,
    }),
  }
}

/** Returns the datasets of a key, up to the number that fits into an act, and the number of the others. */
function recordedDatasets(datasets: StoredKey['datasets']): KeyAct['facts'] {
  if (datasets === undefined) return {}
  const recorded = datasets.slice(0, MAX_RECORDED_DATASETS)
  const omitted = datasets.length - recorded.length
  return { datasets: recorded, ...(omitted === 0 ? {} : { datasetsOmitted: omitted }) }
}

/** An act of the ledger has at most 4,096 characters of facts, and the id of a dataset at most 63. */
const MAX_RECORDED_DATASETS = 40

function nameOf(by: Author): string {
  return by === COMMAND_LINE ? by : by.name
}

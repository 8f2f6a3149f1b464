import { type FieldError, Refusal } from '../../../privacy/refusal.ts'

/** Value of a field of a drafted declaration that its custodian has to fill in. */
export const OPEN_QUESTION = 'TODO'

/** Fields that a draft can leave open. None of them can have the text of an open question as its value. */
const FIELDS: ReadonlySet<string> = new Set([
  'privacyUnit',
  'column',
  'maxRows',
  'epsilon',
  'delta',
  'lower',
  'upper',
  'step',
  'categories',
  'timeZone',
  'from',
  'to',
])

const RULE =
  `is an open question of the draft: replace "${OPEN_QUESTION}" with a value that you know from how the data come about, ` +
  'not from the data'

/**
 * Requires a declaration without open questions of a draft.
 * @param declaration a body that has not been checked in any other way
 * @throws Refusal `invalid-request` naming every open question.
 */
export function requireAnswered(declaration: unknown): void {
  const errors: FieldError[] = []
  collect(declaration, [], errors)
  if (errors.length === 0) return
  const fields = errors.map(({ field }) => field).join(', ')
  throw new Refusal('invalid-request', `The declaration has open questions: ${fields}.`, errors)
}

function collect(value: unknown, path: readonly string[], errors: FieldError[]): void {
  if (typeof value === 'object' && value !== null)
    for (const [key, member] of Object.entries(value)) collect(member, [...path, key], errors)
  else if (value === OPEN_QUESTION && path.slice(-1).some((name) => FIELDS.has(name)))
    errors.push({ field: path.join('.'), rule: RULE })
}

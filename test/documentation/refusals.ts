/** A change of a registration, and the refusal that it causes. */
export interface Refusal {
  /** New values by the paths of their fields. */
  readonly change: Readonly<Record<string, unknown>>
  readonly status: 400 | 409 | 422
  readonly code: string
  readonly field: string
  /** What a custodian does about it. */
  readonly remedy: string
}

/**
 * Refusals of the registration on the page about registering, by the state of its id. docs/reference/refusals.md lists
 * them, and a test provokes each.
 */
export const REFUSALS: Readonly<Record<'unregistered' | 'registered' | 'withdrawn', readonly Refusal[]>> = {
  unregistered: [
    {
      change: { id: 'Staff' },
      status: 400,
      code: 'invalid-request',
      field: 'id',
      remedy: 'Use lower-case letters, digits and `-`, starting with a letter.',
    },
    {
      change: { owner: 'HR' },
      status: 400,
      code: 'invalid-request',
      field: 'owner',
      remedy: 'Remove fields that do not exist; check the spelling.',
    },
    {
      change: { 'columns.1.lower': 'TODO' },
      status: 400,
      code: 'invalid-request',
      field: 'columns.1.lower',
      remedy: 'Answer the open question of the draft.',
    },
    {
      change: { 'columns.1.type': 'int' },
      status: 400,
      code: 'invalid-request',
      field: 'columns.1.type',
      remedy: 'Use one of the types in the table above.',
    },
    {
      change: { 'columns.3.name': 'age' },
      status: 400,
      code: 'invalid-request',
      field: 'columns.3.name',
      remedy: 'Column names must differ in more than case. Rename the column in the file.',
    },
    {
      change: { 'columns.1.lower': 70 },
      status: 400,
      code: 'invalid-request',
      field: 'columns.1.upper',
      remedy: '`upper` must be greater than `lower`.',
    },
    {
      change: { 'columns.2.upper': 120.25 },
      status: 400,
      code: 'invalid-request',
      field: 'columns.2.upper',
      remedy: 'Bounds must be multiples of `step`.',
    },
    {
      change: { 'columns.1.step': 0.5 },
      status: 400,
      code: 'invalid-request',
      field: 'columns.1.step',
      remedy: 'The step of an `integer` column is a whole number. Use the type `number`.',
    },
    {
      change: { 'columns.2.step': 0 },
      status: 400,
      code: 'invalid-request',
      field: 'columns.2.step',
      remedy: 'The step must be greater than 0, with at most 9 decimals.',
    },
    {
      change: { 'columns.2.upper': 1e20 },
      status: 400,
      code: 'invalid-request',
      field: 'columns.2.upper',
      remedy: 'Bounds must lie within 2^53 steps of 0. Use a coarser step or tighter bounds.',
    },
    {
      change: { 'columns.2.rankable': { maxValues: 5000000 } },
      status: 400,
      code: 'invalid-request',
      field: 'columns.2.rankable.maxValues',
      remedy: 'At most 4,194,304. Use a coarser step.',
    },
    {
      change: { 'columns.4.selectable': { maxValues: 100000, maxLength: 1000 } },
      status: 400,
      code: 'invalid-request',
      field: 'columns.4.selectable',
      remedy: '`maxValues` times `maxLength` is at most 33,554,432.',
    },
    {
      change: { 'columns.0.categories': ['other', 'other'] },
      status: 400,
      code: 'invalid-request',
      field: 'columns.0.categories',
      remedy: 'Name each category once.',
    },
    {
      change: { privacyUnit: { kind: 'person', column: 'Note', maxRows: 3 } },
      status: 400,
      code: 'invalid-request',
      field: 'privacyUnit.column',
      remedy: 'The column of people must be of type `identifier`.',
    },
    {
      change: { 'columns.4': { name: 'Note', type: 'date', lower: '2024-01-01', upper: '2024-02-31' } },
      status: 400,
      code: 'invalid-request',
      field: 'columns.4.upper',
      remedy: 'Bounds must be dates that exist.',
    },
    {
      change: {
        'columns.4': {
          name: 'Note',
          type: 'timestamp',
          lower: '2024-01-01',
          upper: '2024-12-31',
          timeZone: 'Europe/Atlantis',
        },
      },
      status: 400,
      code: 'invalid-request',
      field: 'columns.4.timeZone',
      remedy: 'Use the name of an IANA time zone, such as `Europe/Berlin`.',
    },
    {
      change: {
        'columns.4': { name: 'Note', type: 'date', lower: '2024-01-01', upper: '2024-12-31', step: 7 },
      },
      status: 400,
      code: 'invalid-request',
      field: 'columns.4.lower',
      remedy: 'Bounds must be a whole number of steps from 1970-01-01. The rule names one.',
    },
    {
      change: { 'columns.1.onInvalidValue': 'null' },
      status: 400,
      code: 'invalid-request',
      field: 'columns.1.onInvalidValue',
      remedy: 'Set `nullable` to true, or choose another rule.',
    },
    {
      change: { 'columns.0.onInvalidValue': { replaceWith: 'none' } },
      status: 400,
      code: 'invalid-request',
      field: 'columns.0.onInvalidValue.replaceWith',
      remedy:
        'Replace with a value of the column: a declared category, or a multiple of `step` within the bounds.',
    },
    {
      change: { queryLimits: { minEpsilon: 0.5, maxEpsilon: 0.1 } },
      status: 400,
      code: 'invalid-request',
      field: 'queryLimits.maxEpsilon',
      remedy: '`maxEpsilon` must be at least `minEpsilon`.',
    },
    {
      change: { budget: { epsilon: 0.1234567891 } },
      status: 400,
      code: 'invalid-request',
      field: 'budget.epsilon',
      remedy: 'At most 9 decimals: amounts are exact, and the service never rounds them.',
    },
    {
      change: { budget: { epsilon: 1 }, accounting: 'zcdp' },
      status: 400,
      code: 'invalid-request',
      field: 'budget.delta',
      remedy: '`zcdp` needs a delta greater than 0.',
    },
    {
      change: { 'source.path': '/srv/staff.csv' },
      status: 422,
      code: 'source-refused',
      field: 'source.path',
      remedy: 'Copy the file below the data folder and give a relative path.',
    },
    {
      change: { 'source.path': '../staff.csv' },
      status: 422,
      code: 'source-refused',
      field: 'source.path',
      remedy: 'The same.',
    },
    {
      change: { 'source.path': 'survey/missing.csv' },
      status: 422,
      code: 'source-refused',
      field: 'source.path',
      remedy: 'Check the name. Links are not followed: copy the file itself.',
    },
    {
      change: { source: { kind: 'upload', upload: '0123456789abcdef0123456789abcdef', format: 'csv' } },
      status: 422,
      code: 'source-refused',
      field: 'source.upload',
      remedy: 'The upload is not yours, or has expired. Upload the file again.',
    },
    {
      change: { 'source.format': 'parquet' },
      status: 422,
      code: 'source-refused',
      field: 'source.path',
      remedy: 'The file name must end in the format.',
    },
    {
      change: { 'source.path': 'survey/ragged.csv' },
      status: 422,
      code: 'source-unreadable',
      field: 'source',
      remedy: 'Give every record as many fields as the header. Close every quote. Save as UTF-8 with commas.',
    },
    {
      change: { 'columns.0.name': 'Country' },
      status: 422,
      code: 'source-does-not-fit',
      field: 'columns.0.name',
      remedy: 'Use the name in the header, to the letter.',
    },
    {
      change: { 'columns.0.onInvalidValue': 'refuse' },
      status: 422,
      code: 'source-does-not-fit',
      field: 'columns.0.name',
      remedy: 'A value does not fit. Clean the file, add the category, or use `"null"` or `replaceWith`.',
    },
    {
      change: { 'columns.2.rankable': { maxValues: 3 } },
      status: 422,
      code: 'source-does-not-fit',
      field: 'columns.2.rankable.maxValues',
      remedy: 'The column has more distinct values. Declare a higher limit or a coarser step.',
    },
    {
      change: { 'columns.4.selectable': { maxValues: 1 } },
      status: 422,
      code: 'source-does-not-fit',
      field: 'columns.4.selectable.maxValues',
      remedy: 'The same.',
    },
    {
      change: { 'columns.4.selectable': { maxLength: 10 } },
      status: 422,
      code: 'source-does-not-fit',
      field: 'columns.4.selectable.maxLength',
      remedy: 'The column has a longer value. Declare a higher limit.',
    },
    {
      change: { 'source.path': 'survey/empty.csv', neighbours: 'change-one' },
      status: 422,
      code: 'source-does-not-fit',
      field: 'source',
      remedy: 'Under `change-one` the file needs at least one row.',
    },
  ],
  registered: [
    {
      change: { title: 'Survey' },
      status: 409,
      code: 'dataset-exists',
      field: 'id',
      remedy:
        'The id is already registered with another source, declaration or budget. Withdraw it first, or use another id.',
    },
  ],
  withdrawn: [
    {
      change: { budget: { epsilon: 9 } },
      status: 409,
      code: 'budget-account-exists',
      field: 'budget',
      remedy: 'State what is granted by now, then raise it by a grant.',
    },
    {
      change: { accounting: 'zcdp' },
      status: 409,
      code: 'budget-account-exists',
      field: 'accounting',
      remedy: 'State the accounting of the first registration, or use another id.',
    },
    {
      change: { neighbours: 'change-one' },
      status: 409,
      code: 'budget-account-exists',
      field: 'neighbours',
      remedy: 'State the neighbours of the first registration, or use another id.',
    },
    {
      change: {
        'columns.4': { name: 'Note', type: 'identifier' },
        privacyUnit: { kind: 'person', column: 'Note', maxRows: 3 },
      },
      status: 409,
      code: 'budget-account-exists',
      field: 'privacyUnit',
      remedy: 'State the privacy unit of the first registration, or use another id. `maxRows` may change.',
    },
    {
      change: { synthetic: true },
      status: 409,
      code: 'budget-account-exists',
      field: 'synthetic',
      remedy: 'Real data never become synthetic. Use another id for made-up data.',
    },
  ],
}

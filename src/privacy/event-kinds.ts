/*
 * The vocabulary of the ledger's chains: each kind of event with what it means, as the reference page states it.
 */

/** Kinds of events of a dataset or a population. */
export const EVENT_KINDS = {
  opened:
    'The budget was opened with an (epsilon, delta), for charges under one kind of neighbours and one privacy unit. `synthetic` states whether the data describe no real people.',
  granted: 'The cap was raised.',
  'cap-replaced': 'The cap was replaced, before anything was spent.',
  allotted: "An analyst's part of the cap was limited, or the limit was removed.",
  'source-reused':
    'The source is registered under `otherDatasets` as well. `reason` states why this budget is separate.',
  joined:
    'The dataset joined the population, for ever. In the chain of the population, `member` refers to its event.',
  carried: 'What `analyst` had spent on a dataset when it joined was counted on the population.',
  charged: 'A cost was debited, before any data was read.',
  shared: "A cost was debited from an analyst's allotment only, for a release that another paid for.",
  inferred:
    'An answer that follows from releases of `parents`, which the analyst had paid for, was given. Nothing was debited, and no data was read.',
  denied:
    'The budget or the allotment was too small. Nothing was debited. At most 250 are recorded per analyst and dataset.',
  retried: 'Another attempt began under a charge.',
  answered: 'The answer was stored. `answerHash` is the SHA-256 of its bytes.',
  failed: 'An attempt failed. The debit remains.',
  'session-answered': 'A question of a sparse vector session was answered, under the charge that opened it.',
  'session-failed': 'A question of a session failed. The failure counts towards a suspension.',
  suspended:
    'Counted failures (`counted` in `failed`, and every `session-failed`) reached their limit. Nothing is charged, retried or denied until the dataset is resumed.',
  resumed: 'The custodian ended the suspension. Failures are counted from 0 again.',
} as const

export type EventKind = keyof typeof EVENT_KINDS

/**
 * Kinds of administrative acts. Those on budgets and suspensions refer, by `sequence` and `hash`, to the event of the
 * dataset's chain that has the details.
 */
export const ACT_KINDS = {
  'key-created': 'An API key was created.',
  'key-rotated': 'An API key was rotated.',
  'key-deleted': 'An API key was deleted.',
  'sign-in-refused': 'Sign-ins that were refused within a minute, with their `count`.',
  'dataset-registered': 'A dataset was registered.',
  'source-refused':
    'The source of a registration or version is or was registered under another id, or as real data (`because`).',
  'version-published': 'A new version of a dataset was published.',
  'dataset-described': 'The title or descriptions of a dataset were changed.',
  'dataset-withdrawn': 'A dataset was withdrawn.',
  'budget-granted': 'A cap was raised.',
  'budget-replaced': 'A cap was replaced before anything was spent.',
  'allotment-set': 'An allotment was set or removed.',
  'population-created': 'A population was created.',
  'population-joined': 'A dataset joined a population, the `subject`.',
  'dataset-suspended': 'Counted failures suspended a dataset.',
  'dataset-resumed': 'The custodian ended a suspension.',
} as const

export type ActKind = keyof typeof ACT_KINDS

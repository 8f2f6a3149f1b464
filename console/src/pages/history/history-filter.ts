/** Selection of releases, as it is in the address of the history. */
export interface HistoryFilter {
  readonly dataset?: string
  readonly kind?: string
  readonly analyst?: string
  readonly from?: string
  readonly to?: string
  readonly cursor?: string
}

const FIELDS = ['dataset', 'kind', 'analyst', 'from', 'to', 'cursor'] as const

/** Reads the selection of an address. Empty and unknown parameters are ignored. */
export function filterOf(parameters: URLSearchParams): HistoryFilter {
  const given = FIELDS.flatMap((field) => {
    const value = parameters.get(field)?.trim()
    return value === undefined || value === '' ? [] : [[field, value]]
  })
  return Object.fromEntries(given)
}

/** Returns the address of the history with a selection. */
export function addressOf(filter: HistoryFilter): string {
  const parameters = new URLSearchParams()
  for (const field of FIELDS) {
    const value = filter[field]
    if (value !== undefined && value !== '') parameters.set(field, value)
  }
  return parameters.size === 0 ? '/history' : `/history?${parameters}`
}

/** Returns a selection with a field replaced, from its first page. */
export function replaceField(
  { cursor: _, ...filter }: HistoryFilter,
  field: Exclude<keyof HistoryFilter, 'cursor'>,
  value: string,
): HistoryFilter {
  return { ...filter, [field]: value.trim() }
}

/** Returns the address at which a question can be asked again. */
export function askAgainAddress(dataset: string, question: unknown): string {
  return `/datasets/${encodeURIComponent(dataset)}/ask?${new URLSearchParams({ q: JSON.stringify(question) })}`
}

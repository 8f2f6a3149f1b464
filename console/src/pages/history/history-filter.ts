import type { paths } from 'sotto-client'
import type { Schemas } from '../../api/schemas.ts'
import { sizeOf } from '../../format/amount.ts'
import { answerText } from '../answers/answer-text.ts'
import { questionText } from '../answers/question-text.ts'

const FIELDS = ['search', 'dataset', 'kind', 'analyst', 'from', 'to', 'sort', 'cursor'] as const
type Field = (typeof FIELDS)[number]

/** Selection of releases, as it is in the address of the history. */
export type HistoryFilter = { readonly [each in Field]?: string }

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
  field: Exclude<Field, 'cursor'>,
  value: string,
): HistoryFilter {
  return { ...filter, [field]: value.trim() }
}

/** Release as the history lists it. */
export type ListedRelease = Schemas['ListedRelease']

/** Page of the history. The list has no other form unless CSV is asked for. */
export type ReleasePage = Schemas['ReleasePage']

/** Parameters of the list of releases. */
export type ReleaseParameters = NonNullable<paths['/v1/releases']['get']['parameters']['query']>

/** Number of questions on a page, and of those that are read at once to search, sort or download them. */
const PAGE_SIZE = 25
export const LARGE_PAGE_SIZE = 200

/**
 * Returns the parameters of a selection. The service refuses unknown kinds and wrong dates, and says which. It knows neither
 * search nor order, which {@link shownReleases} brings into a large page.
 */
export function releaseParameters(
  { search, sort, ...filter }: HistoryFilter,
  limit?: number,
): ReleaseParameters {
  const usual = search === undefined && sort === undefined ? PAGE_SIZE : LARGE_PAGE_SIZE
  return { ...(filter as ReleaseParameters), limit: String(limit ?? usual) }
}

/** Orders of the list beside that of the service, which begins with the newest, with their titles. */
export const ORDERS = {
  oldest: 'Oldest first',
  price: 'Highest price',
  question: 'Question, A to Z',
  dataset: 'Dataset, A to Z',
} as const

/** Returns those of some releases that contain all words of the search, in the order of the selection. */
export function shownReleases(
  releases: readonly ListedRelease[],
  { search = '', sort }: HistoryFilter,
): readonly ListedRelease[] {
  const words = search.toLowerCase().split(/\s+/)
  const found = releases.filter((release) => {
    const { question, answer, dataset, analyst } = release
    const text = [questionText(question), answerText(answer), dataset, analyst].join(' ').toLowerCase()
    return words.every((word) => text.includes(word))
  })
  const byText = (textOf: (release: ListedRelease) => string) =>
    found.toSorted((one, other) => textOf(one).localeCompare(textOf(other)))
  switch (sort) {
    case 'oldest':
      return found.toReversed()
    case 'price':
      return found.toSorted((one, other) => sizeOf(other.price) - sizeOf(one.price))
    case 'question':
      return byText(({ question }) => questionText(question))
    case 'dataset':
      return byText(({ dataset }) => dataset)
    default:
      return found
  }
}

import type { FastifyReply } from 'fastify'
import { refuseField } from '../privacy/refusal.ts'
import { DOCUMENTATION_LINKS } from './headers.ts'

/*
 * Pages of lists. Every list takes `limit` and `cursor`, and returns `next`, the cursor of the next page, which the
 * header `Link` contains as an address.
 */

/** Request for a page. */
interface PageRequest<Cursor = string> {
  readonly url: string
  readonly query: { readonly limit: number; readonly cursor?: Cursor | undefined }
}

/** A page and the cursor of the next one. */
interface Page<Item> {
  readonly items: readonly Item[]
  readonly next?: string
}

/**
 * Returns a page of a list that is held whole, and links to the next one.
 * @param nameOf returns what identifies an entry in the list
 * @throws Refusal `invalid-request` for a cursor whose entry is no longer in the list: what follows it is not known
 */
export function pageOf<Item>(
  request: PageRequest,
  reply: FastifyReply,
  items: readonly Item[],
  nameOf: (item: Item) => string,
): Page<Item> {
  const { limit, cursor } = request.query
  const last = cursor === undefined ? -1 : items.findIndex((item) => nameOf(item) === cursor)
  if (cursor !== undefined && last < 0)
    throw refuseField(
      'invalid-request',
      'cursor',
      'must be the `next` of a page whose last entry is still in the list; begin with the first page again',
    )
  const shown = items.slice(last + 1, last + 1 + limit)
  const end = shown.at(-1)
  if (end === undefined || end === items.at(-1)) return { items: shown }
  const next = nameOf(end)
  linkNext(request, reply, next)
  return { items: shown, next }
}

/** Links to the page after one of numbered entries, newest first, and returns its cursor, unless that ends with the first of all. */
export function nextEntries(
  request: PageRequest<number>,
  reply: FastifyReply,
  entries: readonly { readonly sequence: number }[],
): string | undefined {
  const oldest = entries.at(-1)?.sequence ?? 0
  const next = entries.length === request.query.limit && oldest > 1 ? String(oldest) : undefined
  linkNext(request, reply, next)
  return next
}

/** Adds the link to the next page (RFC 8288), relative to the address of the request, if there is one. */
export function linkNext(
  { url }: Pick<PageRequest, 'url'>,
  reply: FastifyReply,
  next: string | undefined,
): void {
  if (next === undefined) return
  const { pathname, searchParams } = new URL(url, 'http://localhost')
  searchParams.set('cursor', next)
  reply.header('link', `<${pathname}?${searchParams}>; rel="next", ${DOCUMENTATION_LINKS}`)
}

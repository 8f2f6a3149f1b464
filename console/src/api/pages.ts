/** Returns the cursor in the header `Link` of a page (RFC 8288), or undefined on the last page. */
export function cursorOfLink(link: string | null): string | undefined {
  const address = /<([^>]*)>;\s*rel="next"/.exec(link ?? '')?.[1]
  if (address === undefined) return undefined
  return new URL(address, 'http://localhost').searchParams.get('cursor') ?? undefined
}

/** Largest number of entries of a page. */
const MOST_ENTRIES = '500'

/**
 * Returns the first page of a list with the entries of all further pages, if the request asks for neither a page nor its
 * length. All other responses are returned as they are.
 */
export async function withFurtherPages(
  request: Request,
  first: Response,
  send: (request: Request) => Promise<Response>,
): Promise<Response> {
  const { searchParams } = new URL(request.url)
  let cursor = cursorOfLink(first.headers.get('link'))
  if (cursor === undefined || searchParams.has('limit') || searchParams.has('cursor')) return first
  const { next: _, ...whole } = (await first.json()) as Record<string, unknown>
  while (cursor !== undefined) {
    const url = new URL(request.url)
    url.searchParams.set('limit', MOST_ENTRIES)
    url.searchParams.set('cursor', cursor)
    const response = await send(new Request(url, request))
    for (const [name, entries] of Object.entries((await response.json()) as object))
      if (Array.isArray(entries)) whole[name] = [...(whole[name] as unknown[]), ...entries]
    cursor = cursorOfLink(response.headers.get('link'))
  }
  return new Response(JSON.stringify(whole), { headers: { 'content-type': 'application/json' } })
}

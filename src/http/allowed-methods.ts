/** The methods of every path that the service has. */
export interface AllowedMethods {
  /** Adds a route, with its path in Fastify's notation. */
  add(route: { readonly url: string; readonly method: string | readonly string[] }): void
  /** Returns the methods that a path accepts, sorted; none if the path is unknown. */
  of(path: string): readonly string[]
}

/**
 * Creates an empty table. Fastify's router finds a route by method first, so it cannot tell a wrong method from a wrong
 * path.
 */
export function createAllowedMethods(): AllowedMethods {
  const routes = new Map<string, { readonly pattern: URLPattern; readonly methods: Set<string> }>()
  return {
    add({ url, method }) {
      const known = routes.get(url) ?? { pattern: new URLPattern({ pathname: url }), methods: new Set() }
      for (const each of [method].flat()) known.methods.add(each)
      routes.set(url, known)
    },
    of: (path) => {
      const found = [...routes.values()].filter(({ pattern }) => pattern.test({ pathname: path }))
      return [...new Set(found.flatMap(({ methods }) => [...methods]))].sort()
    },
  }
}

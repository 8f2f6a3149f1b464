import path from 'node:path'

/**
 * Prints where the service listens, a first query to paste, and the addresses of the console and of Swagger UI. The
 * pasted command reads the key from its file, so that the key appears in no log and no shell history.
 */
export function printWelcome(
  service: {
    readonly url: string
    readonly pgPort?: number
    readonly hasDemo: boolean
    readonly hasConsole: boolean
  },
  dataDirectory: string,
): void {
  const { url, pgPort, hasDemo, hasConsole } = service
  const absolute = path.join(dataDirectory, 'analyst.key')
  const relative = path.relative(process.cwd(), absolute)
  const keyFile = relative.startsWith('..') ? absolute : relative
  const query = JSON.stringify({ kind: 'count', where: { column: 'Age', op: '>=', value: 65 }, epsilon: 0.1 })
  const firstQuery = `  curl -s ${url}/v1/datasets/census/queries -H "Authorization: Bearer $(cat ${keyFile})" -H 'Content-Type: application/json' -d '${query}'`
  const lines = hasDemo
    ? [`Sotto answers at ${url}. A first query, ready to paste:`, '', firstQuery]
    : [`Sotto answers at ${url}.`]
  const custodianFile = path.join(path.dirname(keyFile), 'custodian.key')
  const page = hasConsole
    ? [`Console: ${url}/ (sign in with the key in ${keyFile}, or manage with that in ${custodianFile})`]
    : []
  const tools =
    pgPort === undefined
      ? 'BI tools and psql: set SOTTO_PG_PORT, for example to 5433'
      : `BI tools and psql: port ${pgPort}, database sotto, user analyst, with the key as password`
  console.log(['', ...lines, '', ...page, `Swagger UI: ${url}/docs`, tools, ''].join('\n'))
}

import path from 'node:path'

/**
 * What a start prints for the person at the terminal: a query to paste and where Swagger UI is. The key is read from
 * its file by the pasted command, so that it stands in no log and no history.
 */
export function printWelcome(
  service: { readonly url: string; readonly hasDemo: boolean },
  dataDirectory: string,
): void {
  const { url, hasDemo } = service
  const absolute = path.join(dataDirectory, 'analyst.key')
  const relative = path.relative(process.cwd(), absolute)
  const keyFile = relative.startsWith('..') ? absolute : relative
  const query = JSON.stringify({ kind: 'count', where: { column: 'Age', op: '>=', value: 65 }, epsilon: 0.1 })
  const firstQuery = `  curl -s ${url}/v1/datasets/census/queries -H "Authorization: Bearer $(cat ${keyFile})" -H 'Content-Type: application/json' -d '${query}'`
  const lines = hasDemo
    ? [`Sotto answers at ${url}. A first query, ready to paste:`, '', firstQuery]
    : [`Sotto answers at ${url}.`]
  console.log(['', ...lines, '', `Swagger UI: ${url}/docs`, ''].join('\n'))
}

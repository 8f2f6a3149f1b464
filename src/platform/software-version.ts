import { readFileSync } from 'node:fs'

/** Version of this package. Answers state it. */
export const SOFTWARE_VERSION: string = versionOf(new URL('../../package.json', import.meta.url))

function versionOf(file: URL): string {
  const { version }: { readonly version?: unknown } = JSON.parse(readFileSync(file, 'utf8'))
  if (typeof version !== 'string') throw new TypeError('package.json has no version')
  return version
}

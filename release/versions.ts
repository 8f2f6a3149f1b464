import { readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { ROOT } from './programs.ts'

const CHARTS = 'test/deploy/charts'

/** Places that state the version: files, and what matches the version in each. */
async function places(): Promise<readonly (readonly [file: string, version: RegExp])[]> {
  const ours = /(?<="name": "sotto(?:-client|-console)?",\s+"version": "|"sotto-client": ")\d[^"]*/g
  const rendered = /(?<=\bsotto[-:]|version: ")\d+\.\d+\.\d+(?![\d-])/g
  const charts = (await readdir(path.join(ROOT, CHARTS))).filter((name) => name.endsWith('.objects.yaml'))
  return [
    ['package.json', ours],
    ['package-lock.json', ours],
    ['clients/typescript/package.json', ours],
    ['console/package.json', ours],
    ['clients/python/pyproject.toml', /(?<=^version = ")[^"]+/gm],
    ['clients/r/DESCRIPTION', /(?<=^Version: ).+/gm],
    ['deploy/helm/sotto/Chart.yaml', /(?<=^(?:version|appVersion): ).+/gm],
    ['Dockerfile', /(?<=^ARG VERSION=).+/gm],
    ...charts.map((name) => [`${CHARTS}/${name}`, rendered] as const),
  ]
}

/** Returns what each place states, as `file: version`. */
export async function statedVersions(): Promise<readonly string[]> {
  const stated: string[] = []
  for (const [file, version] of await places()) {
    const found = (await readFile(path.join(ROOT, file), 'utf8')).match(version)
    if (found === null) throw new Error(`${file}: states no version`)
    stated.push(...found.map((each) => `${file}: ${each}`))
  }
  return stated
}

/** Makes all parts state one version. */
export async function writeVersion(version: string): Promise<void> {
  for (const [file, stated] of await places()) {
    const text = await readFile(path.join(ROOT, file), 'utf8')
    await writeFile(path.join(ROOT, file), text.replaceAll(stated, version))
  }
}

/**
 * Returns the changelog with the unreleased changes under a version.
 * @param date such as `2026-11-27`
 * @throws Error if it does not begin with unreleased changes
 */
export function closeChangelog(text: string, version: string, date: string): string {
  const [heading = '', changes = ''] = /^## .*\n([\s\S]*?)(?=^## |$(?![\s\S]))/m.exec(text) ?? []
  const isOpen = /^## (?:\d+\.\d+\.\d+ - )?Unreleased\n/.test(heading)
  if (!isOpen || !changes.includes('\n- '))
    throw new Error(`CHANGELOG.md: has no changes under a first heading "## ${version} - Unreleased"`)
  return text.replace(heading, heading.replace(/^## .*/, `## ${version} - ${date}`))
}

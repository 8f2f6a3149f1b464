import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'

/** Pages of the site for one kind of reader, or about one subject. */
export interface Group {
  readonly title: string
  /** Files of the project in the order in which they are listed, patterns of files that are no README, and groups. */
  readonly pages: readonly (string | Group)[]
}

/** The navigation. A page may be in several groups; what is in none is not part of the site. */
export const GROUPS: readonly Group[] = [
  {
    title: 'Start',
    pages: [
      'docs/README.md',
      'docs/concepts.md',
      'docs/first-dataset.md',
      'docs/walkthrough.md',
      'docs/console.md',
      'docs/glossary.md',
    ],
  },
  {
    title: 'Analysts',
    pages: [
      'docs/queries.md',
      'docs/budget.md',
      'docs/reference/questions.md',
      'examples/clinic.md',
      'docs/sql.md',
      'docs/bi.md',
      'docs/python.md',
      'docs/typescript.md',
      'clients/r/README.md',
      'examples/README.md',
      'examples/comparison.md',
      'docs/disclosure-risk.md',
      'docs/problems.md',
    ],
  },
  {
    title: 'Custodians',
    pages: [
      'docs/registering.md',
      'docs/reference/declarations.md',
      'docs/reference/refusals.md',
      'docs/joins.md',
      'docs/connecting.md',
      'docs/disclosure-risk.md',
      'docs/known-limits.md',
    ],
  },
  {
    title: 'Privacy officers',
    pages: [
      'docs/privacy.md',
      'docs/reference/permissions.md',
      'test/attacks.md',
      'docs/known-limits.md',
      'docs/ledger.md',
      'docs/reference/ledger-events.md',
      'docs/auditing.md',
      { title: 'Proofs', pages: ['src/core/mechanisms/README.md', 'src/**/*.md'] },
    ],
  },
  {
    title: 'Operators',
    pages: [
      'docs/operations.md',
      'deploy/README.md',
      {
        title: 'Reference',
        pages: [
          'docs/reference/configuration.md',
          'docs/reference/connections.md',
          'docs/reference/metrics.md',
          'docs/reference/alerts.md',
          'docs/reference/permissions.md',
        ],
      },
      'docs/performance.md',
      'docs/reliability.md',
      'test/reliability/README.md',
      'SECURITY.md',
    ],
  },
  {
    title: 'Developers',
    pages: [
      'CONTRIBUTING.md',
      'CHANGELOG.md',
      'docs/versions.md',
      'release/README.md',
      'bench/README.md',
      { title: 'Decisions', pages: ['docs/decisions/README.md', 'docs/decisions/*.md'] },
    ],
  },
]

/** Folder of the project. */
export const ROOT = path.resolve(import.meta.dirname, '..')

/** Returns the files that a group lists itself. */
export function pagesOf({ pages }: Group): readonly string[] {
  const listed = pages.flatMap((page) => {
    if (typeof page !== 'string') return []
    if (!page.includes('*')) return [page]
    // A README is listed by its name.
    return globSync(page, { cwd: ROOT, exclude: ['**/README.md'] }).sort()
  })
  return [...new Set(listed)]
}

/** Returns the groups inside a group. */
export function groupsOf({ pages }: Group): readonly Group[] {
  return pages.filter((page) => typeof page !== 'string')
}

function allPagesOf(group: Group): readonly string[] {
  return [...pagesOf(group), ...groupsOf(group).flatMap(allPagesOf)]
}

/** Files of all pages of the site, by their paths in the project. */
export const PAGES: ReadonlySet<string> = new Set(GROUPS.flatMap(allPagesOf))

/** Returns the path of a page in the site, whose root is `docs`. The README of a folder is its first page. */
export function pathInSite(file: string): string {
  const placed = file.startsWith('docs/') ? file.slice('docs/'.length) : `project/${file}`
  return placed.replace(/README\.md$/, 'index.md')
}

/** Returns the heading of a page. */
export function titleOf(file: string): string {
  const [, title] = /^# (.+)$/m.exec(readFileSync(path.join(ROOT, file), 'utf8')) ?? []
  if (title === undefined) throw new Error(`${file} has no heading`)
  return title.replaceAll('`', '')
}

/** Returns the anchor that GitHub gives a heading. The site has the same, so that a link works in both. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
}

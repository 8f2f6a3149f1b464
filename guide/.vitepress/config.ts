import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { type DefaultTheme, defineConfig } from 'vitepress'
import { compressFolder } from '../compress.ts'
import { codeClasses, codeTheme, portable } from '../markdown.ts'
import {
  anchorOf,
  GROUPS,
  type Group,
  groupsOf,
  PAGES,
  pagesOf,
  pathInSite,
  ROOT,
  titleOf,
} from '../navigation.ts'

const icon = readFileSync(path.join(ROOT, 'console/src/icon.svg'), 'base64')
const ICON = `data:image/svg+xml;base64,${icon}`

const linkTo = (file: string) => `/${pathInSite(file).replace(/(index)?\.md$/, '')}`

function sidebarOf(group: Group): DefaultTheme.SidebarItem {
  const pages = pagesOf(group).map((file) => ({ text: titleOf(file), link: linkTo(file) }))
  const items = [...pages, ...groupsOf(group).map(sidebarOf)]
  // With a link it is no button around the button that opens it.
  return { text: group.title, link: pages[0]?.link ?? '/', collapsed: true, items }
}

const otherFiles = globSync('**/*.md', { cwd: ROOT, exclude: (name) => /node_modules$/.test(name) })

export default defineConfig({
  title: 'Sotto',
  titleTemplate: ':title · Sotto',
  description: 'Answers statistical queries over registered datasets with differential privacy',
  lang: 'en',
  base: '/guide/',
  head: [['link', { rel: 'icon', href: ICON }]],
  srcDir: ROOT,
  srcExclude: otherFiles.filter((file) => !PAGES.has(file)),
  rewrites: pathInSite,
  outDir: path.join(ROOT, 'guide/dist'),
  cacheDir: path.join(ROOT, 'node_modules/.cache/guide'),
  // Without transitions, a switch of the theme would add an inline style, which the content policy forbids.
  appearance: { disableTransition: false },
  // What is the same in every page is in a file of its own instead of an inline script.
  metaChunk: true,
  // The index of the search is a chunk, loaded when a search begins.
  vite: { build: { assetsInlineLimit: 0, chunkSizeWarningLimit: 5_000 } },
  markdown: {
    config: portable,
    anchor: { slugify: anchorOf },
    theme: codeTheme,
    codeTransformers: [codeClasses],
  },
  // The content security policy allows no styles in attributes. The first would only hold what `class` says, and the
  // second is set again before it matters.
  contentProps: { class: 'content' },
  transformHtml: (html) => html.replaceAll(/ style="--vp-vh:[^"]*"/g, ''),
  buildEnd: ({ outDir }) => compressFolder(outDir),
  themeConfig: {
    logo: ICON,
    // The name of the site leads to the first group.
    nav: GROUPS.slice(1).map((group) => ({ text: group.title, link: linkTo(pagesOf(group)[0] ?? '') })),
    sidebar: GROUPS.map(sidebarOf),
    outline: [2, 3],
    search: { provider: 'local' },
    externalLinkIcon: true,
  },
})

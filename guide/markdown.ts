import path from 'node:path'
import type { MarkdownOptions, MarkdownRenderer } from 'vitepress'
import { PAGES, pathInSite, ROOT } from './navigation.ts'

type Token = ReturnType<MarkdownRenderer['parse']>[number]
type Transformer = NonNullable<MarkdownOptions['codeTransformers']>[number]

/** Adapts pages that are written for any viewer of Markdown: links, pictures for both themes, and no style attributes. */
export function portable(md: MarkdownRenderer): void {
  md.core.ruler.push('portable', ({ tokens, env }) => {
    const page = path.relative(ROOT, env.realPath ?? env.path)
    for (const token of tokens) {
      alignByClass(token)
      if (token.type === 'html_block') token.content = bothThemes(token.content)
      if (token.children !== null) adaptLinks(token.children, page)
    }
  })
}

/** Leads links between pages of the project to pages of the site. What is not in the site becomes plain text. */
function adaptLinks(tokens: readonly Token[], page: string): void {
  let isPlain = false
  for (const token of tokens) {
    if (token.type === 'link_open') {
      const href = linkInSite(String(token.attrGet('href')), page)
      isPlain = href === undefined
      if (href !== undefined) token.attrSet('href', href)
      else Object.assign(token, { tag: 'span', attrs: null })
    } else if (token.type === 'link_close' && isPlain) token.tag = 'span'
  }
}

/**
 * Returns the address in the site of a link of a page; `undefined` if it leads to a file that is not in the site.
 * @param page by its path in the project
 */
export function linkInSite(href: string, page: string): string | undefined {
  if (/^([a-z]+:|#|\/)/i.test(href)) return href
  const [file = '', anchor] = href.split('#')
  const target = path.posix.join(path.posix.dirname(page), file)
  const found = [target, path.posix.join(target, 'README.md')].find((name) => PAGES.has(name))
  if (found === undefined) return undefined
  const address = `/${pathInSite(found).replace(/(?<=^|\/)index\.md$/, '')}`
  return anchor === undefined ? address : `${address}#${anchor}`
}

const PICTURE =
  /<picture>\s*<source media="\(prefers-color-scheme: dark\)" srcset="([^"]+)">\s*<img([^>]*) src="([^"]+)"([^>]*)>\s*<\/picture>/g

/** Shows the picture of the theme that the reader chose in the site, which may not be that of the system. */
function bothThemes(html: string): string {
  return html.replaceAll(PICTURE, (_, dark, before, light, after) =>
    [
      [light, 'light-only'],
      [dark, 'dark-only'],
    ]
      .map(([src, theme]) => `<img${before} class="${theme}" loading="lazy" src="./${src}"${after}>`)
      .join(''),
  )
}

function alignByClass(token: Token): void {
  const [, side] = /^text-align:(\w+)$/.exec(token.attrGet('style') ?? '') ?? []
  if (side === undefined) return
  token.attrs = (token.attrs ?? []).filter(([name]) => name !== 'style')
  token.attrJoin('class', `align-${side}`)
}

/** Classes of highlighted code, and the scopes of grammars that have them. */
const CODE_CLASSES: Readonly<Record<string, readonly string[]>> = {
  'code-comment': ['comment', 'punctuation.definition.comment'],
  'code-string': ['string'],
  'code-number': ['constant'],
  'code-word': ['keyword', 'storage'],
  'code-name': ['entity.name', 'support.function', 'support.type.property-name'],
}

const colours = Object.keys(CODE_CLASSES).map((name, index) => ({ name, colour: `#00000${index + 1}` }))

/** The highlighter knows colours only. These stand for classes, which `codeClasses` puts in their place. */
export const codeTheme = {
  name: 'classes',
  type: 'light' as const,
  fg: '#000000',
  bg: '#ffffff',
  settings: colours.map(({ name, colour }) => ({
    scope: [...(CODE_CLASSES[name] ?? [])],
    settings: { foreground: colour },
  })),
}

/** Puts classes in the place of style attributes, which the content security policy forbids. */
export const codeClasses: Transformer = {
  pre(node) {
    delete node.properties.style
  },
  span(node) {
    const style = String(node.properties.style ?? '')
    delete node.properties.style
    const found = colours.find(({ colour }) => style.includes(colour))
    if (found !== undefined) node.properties.class = found.name
  },
}

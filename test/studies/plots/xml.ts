/** An element of an XML document. */
export interface Element {
  readonly name: string
  readonly attributes: ReadonlyMap<string, string>
  readonly children: readonly (Element | string)[]
}

const NAME = /^[A-Za-z_][\w.-]*(?::[A-Za-z_][\w.-]*)?/
const LEGAL = /^[\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]*$/u
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/**
 * Reads a document of elements, attributes and text only: declarations, comments, sections and instructions, which
 * drawings do not need, are refused.
 *
 * @throws SyntaxError if it is not well-formed by XML 1.0, or contains anything else
 */
export function parseXml(document: string): Element {
  if (!LEGAL.test(document)) throw new SyntaxError('a character that XML does not allow')
  let at = 0
  const fail = (what: string): never => {
    throw new SyntaxError(`${what} at ${at}: ${document.slice(Math.max(0, at - 40), at + 40)}`)
  }
  const expect = (text: string) => {
    if (!document.startsWith(text, at)) fail(`no ${text}`)
    at += text.length
  }
  const name = (): string => {
    const found = NAME.exec(document.slice(at, at + 100))?.[0] ?? fail('no name')
    at += found.length
    return found
  }
  const decoded = (text: string): string => {
    if (text.includes('<') || text.includes(']]>')) fail('a character that must be escaped')
    return text.replace(/&([^;&\s]*;?)/g, (_, reference: string) => {
      const entity = reference.replace(/;$/, '')
      const code = /^#(?:x([0-9A-Fa-f]+)|(\d+))$/.exec(entity)
      const known = code
        ? String.fromCodePoint(code[1] === undefined ? Number(code[2]) : Number.parseInt(code[1], 16))
        : ENTITIES[entity]
      return reference.endsWith(';') && known !== undefined && LEGAL.test(known) ? known : fail('a bare &')
    })
  }
  const element = (): Element => {
    expect('<')
    const tag = name()
    const attributes = new Map<string, string>()
    for (;;) {
      const space = /^\s*/.exec(document.slice(at, at + 100))?.[0] ?? ''
      at += space.length
      if (document.startsWith('/>', at)) {
        at += 2
        return { name: tag, attributes, children: [] }
      }
      if (document.startsWith('>', at)) break
      if (space === '') fail('no space before an attribute')
      const attribute = name()
      expect('="')
      const end = document.indexOf('"', at)
      if (end < 0) fail('an attribute without an end')
      if (attributes.has(attribute)) fail('an attribute twice')
      attributes.set(attribute, decoded(document.slice(at, end)))
      at = end + 1
    }
    expect('>')
    const children: (Element | string)[] = []
    while (!document.startsWith('</', at)) {
      const next = document.indexOf('<', at)
      if (next < 0) fail('an element without an end')
      if (next > at) {
        children.push(decoded(document.slice(at, next)))
        at = next
      } else children.push(element())
    }
    expect(`</${tag}>`)
    return { name: tag, attributes, children }
  }
  const root = element()
  if (at !== document.length) fail('something after the root')
  return root
}

/** An element with its ancestors, from the root inwards. */
export interface Placed {
  readonly element: Element
  readonly around: readonly Element[]
}

/** All elements below and including this one, in document order. */
export function elementsOf(element: Element, around: readonly Element[] = []): readonly Placed[] {
  const inner = [...around, element]
  return [
    { element, around },
    ...element.children.flatMap((child) => (typeof child === 'string' ? [] : elementsOf(child, inner))),
  ]
}

/** Text within an element. */
export function textOf(element: Element): string {
  return element.children.map((child) => (typeof child === 'string' ? child : textOf(child))).join('')
}

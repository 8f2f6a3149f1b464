import { createRequire } from 'node:module'
import path from 'node:path'
import { Resvg, type ResvgRenderOptions } from '@resvg/resvg-js'
import { type Element, elementsOf, type Placed, parseXml, textOf } from './xml.ts'

const fonts = path.dirname(createRequire(import.meta.url).resolve('dejavu-fonts-ttf/package.json'))

const OPTIONS: ResvgRenderOptions = {
  font: {
    loadSystemFonts: false,
    fontFiles: ['DejaVuSans.ttf', 'DejaVuSans-Bold.ttf'].map((file) => path.join(fonts, 'ttf', file)),
    defaultFontFamily: 'DejaVu Sans',
    sansSerifFamily: 'DejaVu Sans',
  },
}

export type Colour = readonly [red: number, green: number, blue: number]

/** In pixels of the plot. */
export interface Box {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

/** A text and the box of its glyphs, in pixels of the plot; no box if it has no glyphs. */
export interface DrawnText {
  readonly text: string
  readonly box: Box | undefined
  readonly placed: Placed
}

/** A rendered drawing. */
export interface Picture {
  readonly root: Element
  readonly elements: readonly Placed[]
  readonly texts: readonly DrawnText[]
  readonly width: number
  readonly height: number
  /** Colour at a pixel; black outside. */
  readonly at: (x: number, y: number) => Colour
  readonly png: () => Buffer
}

/** @throws SyntaxError for XML that is not well-formed */
export function pictureOf(svg: string): Picture {
  const root = parseXml(svg)
  const elements = elementsOf(root)
  const rendered = new Resvg(svg, OPTIONS).render()
  const { width, height } = rendered
  const pixels = rendered.pixels
  const texts = elements
    // Numbers that do not fit on an axis are in the drawing, but hidden.
    .filter(({ element }) => element.name === 'text' && element.attributes.get('opacity') !== '0')
    .map((placed) => ({ text: textOf(placed.element), placed, box: boxOf(placed, width, height) }))
  const at = (x: number, y: number): Colour => {
    const offset = (Math.floor(y) * width + Math.floor(x)) * 4
    return [pixels[offset] ?? 0, pixels[offset + 1] ?? 0, pixels[offset + 2] ?? 0]
  }
  return { root, elements, texts, width, height, at, png: () => rendered.asPng() }
}

/** Box of a text drawn alone. */
function boxOf({ element, around }: Placed, width: number, height: number): Box | undefined {
  if (textOf(element).trim() === '') return undefined
  const groups = around.slice(1)
  const alone = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">${groups.map(tag).join('')}${tag(element)}${escaped(textOf(element))}</text>${'</g>'.repeat(groups.length)}</svg>`
  const box = new Resvg(alone, OPTIONS).getBBox()
  // Its figures are getters of a class, which object spread would omit.
  return box === undefined ? undefined : { x: box.x, y: box.y, width: box.width, height: box.height }
}

function tag({ name, attributes }: Element): string {
  return `<${name}${[...attributes].map(([key, value]) => ` ${key}="${escaped(value)}"`).join('')}>`
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}

/** Origin of an element in the plot, from the translations around it. */
export function originOf({ element, around }: Placed): { readonly x: number; readonly y: number } {
  let [x, y] = [0, 0]
  for (const { attributes } of [...around, element]) {
    const moved = /translate\(([^,]+),([^)]+)\)/.exec(attributes.get('transform') ?? '')
    x += Number(moved?.[1] ?? 0)
    y += Number(moved?.[2] ?? 0)
  }
  return { x, y }
}

/** Returns true if an element is within a group of this class. */
export function within({ around }: Placed, name: string): boolean {
  return around.some(({ attributes }) => (attributes.get('class') ?? '').split(' ').includes(name))
}

/** Scales of a view as drawn: from a figure to a pixel, by the numbers along the axes. */
export interface Scales {
  readonly x: (value: number) => number
  readonly y: (value: number) => number
  /** Frame in pixels. */
  readonly left: number
  readonly right: number
  readonly top: number
  readonly bottom: number
}

/** Scales of each view, in drawing order; y of a view without such an axis is NaN. */
export function scalesOf(picture: Picture): readonly Scales[] {
  const views = Map.groupBy(
    picture.texts.filter(({ placed }) => within(placed, 'role-axis-label')),
    ({ placed }) =>
      placed.around.find(({ attributes }) => /concat_\d+_group/.test(attributes.get('class') ?? '')),
  )
  return [...views.values()].map((labels) => {
    const placed = labels.map(({ text, placed: label }) => ({
      value: numberOf(text),
      ...tickOf(label),
    }))
    const below = placed.filter(({ across }) => across)
    const beside = placed.filter(({ across }) => !across)
    const frame = frameOf(labels[0]?.placed)
    return {
      x: line(below.map(({ value, x }) => [value, x])),
      y: line(beside.map(({ value, y }) => [value, y])),
      ...frame,
    }
  })
}

const PREFIXES: Readonly<Record<string, number>> = { k: 1e3, M: 1e6, G: 1e9, T: 1e12 }

function numberOf(text: string): number {
  const [, digits = '', prefix = ''] =
    /^(.*?)([kMGT]?)$/.exec(text.replaceAll(',', '').replace('−', '-')) ?? []
  return Number(digits) * (PREFIXES[prefix] ?? 1)
}

/** Tick of a label: labels below are centred on theirs, and labels beside end to the left of theirs. */
function tickOf(label: Placed) {
  const { x, y } = originOf(label)
  const across = label.element.attributes.get('text-anchor') === 'middle'
  // Beside an axis the baseline is slightly below the tick.
  return {
    across,
    x,
    y: across
      ? y
      : y - Number(/(\d+)px/.exec(label.element.attributes.get('font-size') ?? '')?.[1] ?? 12) / 3,
  }
}

/** Frame of the view that a label belongs to, from the path behind it. */
function frameOf(label: Placed | undefined) {
  const around = label?.around ?? []
  const view = around.findIndex(({ attributes }) => /concat_\d+_group/.test(attributes.get('class') ?? ''))
  const group = around[view + 1]
  const path = group?.children.find((child) => typeof child !== 'string' && child.name === 'path')
  if (group === undefined || typeof path !== 'object') throw new Error('a view has no frame')
  const [, width = 0, height = 0] = (/h([\d.]+)v([\d.]+)h/.exec(path.attributes.get('d') ?? '') ?? []).map(
    Number,
  )
  const { x, y } = originOf({ element: group, around: around.slice(0, view + 1) })
  return { left: x, right: x + width, top: y, bottom: y + height }
}

/** Line through the first and the last of these points. */
function line(points: readonly (readonly [value: number, pixel: number])[]): (value: number) => number {
  const [first, last] = [points[0], points.at(-1)]
  if (first === undefined || last === undefined || first[0] === last[0]) return () => Number.NaN
  return (value) => first[1] + ((value - first[0]) / (last[0] - first[0])) * (last[1] - first[1])
}

export function colourOf(hex: string): Colour {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((from) =>
    Number.parseInt(hex.slice(from, from + 2), 16),
  )
  return [red, green, blue]
}

/** Contrast of two colours by WCAG 2.2. */
export function contrast(one: Colour, other: Colour): number {
  const luminance = (colour: Colour) => {
    const [red = 0, green = 0, blue = 0] = colour.map((part) => {
      const share = part / 255
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return (lighter + 0.05) / (darker + 0.05)
}

/** Returns true for this colour, or for at least 40% of it over its background, as at the edge of a line. */
export function shows(seen: Colour, colour: Colour, behind: Colour): boolean {
  const difference = (a: Colour, b: Colour) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]] as const
  const [whole, part] = [difference(colour, behind), difference(seen, behind)]
  const product = (a: readonly number[], b: readonly number[]) =>
    a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0)
  const share = product(part, whole) / product(whole, whole)
  const rest = part.map((value, index) => value - share * (whole[index] ?? 0))
  return share > 0.4 && share < 1.1 && Math.sqrt(product(rest, rest)) < 24
}

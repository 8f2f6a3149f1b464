import { Document, isMap, isScalar, isSeq, type Node } from 'yaml'
import { shown } from '../printing.ts'
import type { Schemas } from '../service.ts'

/** Longest line of the warning. */
const LINE_WIDTH = 100

/** Prints a draft as YAML: questions behind their fields, other remarks in the lines above. */
export function draftYaml({
  declaration,
  warning,
  questions,
  notes,
  dataHints = [],
}: Schemas['Draft']): string {
  const document = new Document(declaration)
  for (const { field, text } of notes) addAbove(document, field, oneLine(text))
  for (const { field, text } of dataHints) addAbove(document, field, `DATA, do not publish: ${oneLine(text)}`)
  for (const { field, text } of questions) {
    const value = document.getIn(field.split('.'), true)
    if (isScalar(value)) value.comment = ` ${oneLine(text)}`
  }
  document.commentBefore = wrapped(warning)
  return document.toString({ lineWidth: 0 })
}

/** Adds a comment above a field. */
function addAbove(document: Document, field: string, text: string): void {
  const keys = field.split('.')
  const last = keys.at(-1) ?? ''
  const parent = keys.length === 1 ? document.contents : document.getIn(keys.slice(0, -1), true)
  const target = isMap(parent)
    ? parent.items.map(({ key }) => key).find((key) => isScalar(key) && key.value === last)
    : isSeq(parent)
      ? parent.items[Number(last)]
      : undefined
  if (target === undefined || target === null) return
  const node = target as Node
  node.commentBefore = node.commentBefore == null ? ` ${text}` : `${node.commentBefore}\n ${text}`
}

/** Remarks may quote names and values of the data, which a terminal must not take for commands. */
function oneLine(text: string): string {
  return shown(text.replace(/\s+/g, ' '))
}

function wrapped(text: string): string {
  const lines: string[] = ['']
  for (const word of oneLine(text).split(' ')) {
    const line = lines.at(-1) ?? ''
    if (line.length + word.length < LINE_WIDTH) lines[lines.length - 1] = `${line} ${word}`
    else lines.push(` ${word}`)
  }
  return lines.join('\n')
}

import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { drawPictures } from './pictures.ts'

const isPlot = (file: string) => file.endsWith('.svg')
const docs = path.resolve(import.meta.dirname, '../../docs')

test('the plots in docs/pictures are what the code draws (npm run pictures writes them), and each is shown', async () => {
  const pictures = await drawPictures()
  expect([...pictures.keys()].sort()).toEqual(readdirSync(path.join(docs, 'pictures')).filter(isPlot).sort())
  const pages = readdirSync(docs)
    .filter((name) => name.endsWith('.md'))
    .map((name) => readFileSync(path.join(docs, name), 'utf8'))
  for (const [file, svg] of pictures) {
    expect(readFileSync(path.join(docs, 'pictures', file), 'utf8'), file).toBe(svg)
    expect(
      pages.some((page) => page.includes(`pictures/${file}`)),
      file,
    ).toBe(true)
  }
})

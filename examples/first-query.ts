/**
 * A contingency table of occupation by sex, with its noise and accuracy. Uses fetch.
 *
 * usage: node examples/first-query.ts [url] [key file]   (Node 24 or newer runs TypeScript without a build)
 */
import { readFile } from 'node:fs/promises'

const [url = 'http://127.0.0.1:8080', keyFile = 'data/analyst.key'] = process.argv.slice(2)
const key = (await readFile(keyFile, 'utf8')).trim()

interface Table {
  readonly result: {
    readonly cells: readonly { readonly key: Record<string, string>; readonly value: number }[]
  }
  readonly accuracy: { readonly confidence: number; readonly halfWidth: number }
  readonly noise: { readonly mechanism: string; readonly scale: number }
}

const response = await fetch(`${url}/v1/datasets/census/queries`, {
  method: 'POST',
  headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  body: JSON.stringify({
    kind: 'contingency',
    columns: ['Occupation', 'Sex'],
    where: {
      op: 'and',
      predicates: [
        { column: 'Age', op: '>=', value: 30 },
        { column: 'Married', op: '!=', value: 'W' },
      ],
    },
    epsilon: 0.2,
    postprocess: { nonNegative: true },
  }),
})
if (!response.ok) {
  // A problem document. Its code is stable; its detail names the field and the rule.
  const problem = (await response.json()) as { code: string; detail: string }
  throw new Error(`${problem.code}: ${problem.detail}`)
}

const { result, accuracy, noise } = (await response.json()) as Table
console.table(result.cells.map((cell) => ({ ...cell.key, people: cell.value })))
console.log(`${noise.mechanism} noise of scale ${noise.scale}`)
console.log(`each cell is within ${accuracy.halfWidth} with probability ${accuracy.confidence}`)

import { ConnectionFailed } from 'sotto-client'
import { describe, expect, test } from 'vitest'
import { besideTheory, fallsShort, nameOfNumber } from '../../../console/src/pages/evaluations/errors.ts'
import { readLines } from '../../../console/src/pages/evaluations/evaluation-stream.ts'
import { examplesFor, isBatch } from '../../../console/src/pages/evaluations/examples.ts'
import { batch, query } from '../../../schemas/answers/query.ts'

describe('A stream of lines', () => {
  const linesOf = async (parts: readonly string[]) => {
    const stream = ReadableStream.from(parts.map((part) => new TextEncoder().encode(part)))
    return Array.fromAsync(readLines<unknown>(stream as ReadableStream<Uint8Array>))
  }

  test('is read line by line, however it is cut', async () => {
    const text = '{"progress":{"runs":1,"of":2}}\n{"evaluation":{"ü":"\\n"}}\n'
    const expected = [{ progress: { runs: 1, of: 2 } }, { evaluation: { ü: '\n' } }]
    expect(await linesOf([text])).toEqual(expected)
    expect(await linesOf([...text])).toEqual(expected)
    expect(await linesOf([text.trimEnd()])).toEqual(expected)
    expect(await linesOf([])).toEqual([])
  })

  test('that ends because the connection is lost says so', async () => {
    const lost = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.error(new TypeError('network error')),
    })
    await expect(Array.fromAsync(readLines(lost))).rejects.toThrow(ConnectionFailed)
  })

  test('is cancelled when its reader stops', async () => {
    let cancelled = false
    const stream = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new TextEncoder().encode('{}\n')),
      cancel: () => {
        cancelled = true
      },
    })
    for await (const line of readLines<unknown>(stream)) {
      expect(line).toEqual({})
      break
    }
    expect(cancelled).toBe(true)
  })
})

describe('Errors beside theory', () => {
  const measured = { value: 11, standardError: 0.5, theoretical: 10, theoreticalBound: null }

  test('are multiples of the theory with two standard errors to each side', () => {
    expect(besideTheory(measured)).toEqual({ ratio: 1.1, halfWidth: 0.1, agrees: true })
  })

  test('disagree beyond four standard errors', () => {
    expect(besideTheory({ ...measured, value: 12 })?.agrees).toBe(true)
    expect(besideTheory({ ...measured, value: 12.1 })?.agrees).toBe(false)
    expect(besideTheory({ ...measured, value: 7.9 })?.agrees).toBe(false)
  })

  test('are not compared without a theory or with one run', () => {
    expect(besideTheory({ ...measured, theoretical: null })).toBeUndefined()
    expect(besideTheory({ ...measured, standardError: null })).toBeUndefined()
    expect(besideTheory({ ...measured, theoretical: 0 })).toBeUndefined()
  })

  test('fall short of a confidence only beyond chance', () => {
    expect(fallsShort(0.95, 0.95, 1000)).toBe(false)
    expect(fallsShort(0.93, 0.95, 1000)).toBe(false)
    expect(fallsShort(0.9, 0.95, 1000)).toBe(true)
    expect(fallsShort(0.9, 0.95, 10)).toBe(false)
  })
})

test.each([
  [{}, 'Answer'],
  [{ key: { Occupation: 'Economist', Sex: 'F' } }, 'Economist, F'],
  [{ key: { Age: { lower: 0, upper: 10 } }, statistic: 'mean_Age' }, '[0, 10): mean_Age'],
  [{ key: { Sex: null } }, 'missing'],
  [{ key: {}, statistic: 'count' }, 'count'],
  [{ p: 75 }, '75%'],
])('a number of an answer has a name: %j', (row, name) => {
  expect(nameOfNumber(row)).toBe(name)
})

describe('Questions to evaluate', () => {
  test('are examples that the service accepts', () => {
    const columns = [
      { name: 'Sex', nullable: false, type: 'category', categories: ['M', 'F'] },
      { name: 'Age', nullable: false, type: 'integer', lower: 0, upper: 120, step: 1 },
    ]
    const examples = examplesFor({ columns: columns as never, privacyUnit: { kind: 'row' } })
    expect(examples.map(({ query: body }) => (isBatch(body) ? 'batch' : body.kind))).toEqual([
      'count',
      'histogram',
      'mean',
      'sum',
      'noisyMax',
      'batch',
    ])
    for (const { query: body } of examples)
      expect((isBatch(body) ? batch : query).safeParse(body).error).toBeUndefined()
  })
})

import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { writeDigested } from '../../../src/platform/files/durable-file.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'sotto-durable-'))
})
afterAll(() => rm(folder, { recursive: true }))

describe('writing chunks with their digest', () => {
  test('writes all chunks and returns the SHA-256 of them', async () => {
    const file = path.join(folder, 'rows')
    expect(await writeDigested(['a', 'bc'], file)).toBe(
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    )
    expect(await readFile(file, 'utf8')).toBe('abc')
  })

  // Otherwise it could be created after the caller has removed it.
  test('the file is there as soon as writing fails', async () => {
    const failing: Iterable<string> = {
      [Symbol.iterator]: () => ({
        next() {
          throw new Error('cut')
        },
      }),
    }
    for (let attempt = 0; attempt < 50; attempt++) {
      const file = path.join(folder, `failed-${attempt}`)
      await expect(writeDigested(failing, file)).rejects.toThrow('cut')
      expect(existsSync(file)).toBe(true)
    }
  })
})

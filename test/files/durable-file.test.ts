import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { writeDigested } from '../../src/files/durable-file.ts'

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

  test('a file that is removed after a failure does not come back', async () => {
    const failing = function* () {
      yield 'a'
      throw new Error('cut')
    }
    const attempts = Array.from({ length: 200 }, async (_, place) => {
      const file = path.join(folder, `failed-${place}`)
      await expect(writeDigested(failing(), file)).rejects.toThrow('cut')
      await rm(file, { force: true })
    })
    await Promise.all(attempts)
    // Time for a file that was still being opened.
    await setTimeout(100)
    expect((await readdir(folder)).filter((name) => name.startsWith('failed'))).toEqual([])
  })
})

import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createWritableFolder } from '../../../src/platform/files/writable-folder.ts'

let directory = ''
beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'sotto-folder-'))
})
afterAll(() => rm(directory, { recursive: true }))

test('a folder is created for its owner alone, with those above it, and left empty', async () => {
  const folder = path.join(directory, 'one', 'two', 'three')
  await Promise.all([createWritableFolder(folder), createWritableFolder(folder)])
  await createWritableFolder(folder)
  expect((await stat(folder)).mode & 0o777).toBe(0o700)
  expect((await stat(path.dirname(folder))).mode & 0o777).toBe(0o700)
  expect(await readdir(folder)).toEqual([])
})

test('a folder that cannot be created or written to is refused at once', async () => {
  await writeFile(path.join(directory, 'file'), '')
  await expect(createWritableFolder(path.join(directory, 'file'))).rejects.toMatchObject({ code: 'EEXIST' })
  await expect(createWritableFolder(path.join(directory, 'file', 'below'))).rejects.toThrow(/EEXIST|ENOTDIR/)
  await expect(createWritableFolder('/proc/sotto')).rejects.toThrow()
  await expect(createWritableFolder('/proc/sotto/below')).rejects.toThrow()
  await expect(createWritableFolder('/proc')).rejects.toThrow()
})

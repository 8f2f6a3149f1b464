import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, test, vi } from 'vitest'
import { fileSource } from '../../../../src/datasets/registration/sources/file.ts'

/** Run before and after a path is opened. */
let beforeOpen = async () => {}
let afterOpen = async () => {}
vi.mock('node:fs/promises', async (original) => {
  const actual = await original<typeof import('node:fs/promises')>()
  return {
    ...actual,
    open: async (...call: Parameters<typeof actual.open>) => {
      await beforeOpen()
      const handle = await actual.open(...call)
      await afterOpen()
      return handle
    },
  }
})

test.each(['for good', 'and back'])('a folder that is replaced by a link %s is not followed', async (how) => {
  const outside = await mkdtemp(path.join(tmpdir(), 'sotto-outside-'))
  const directory = await mkdtemp(path.join(tmpdir(), 'sotto-data-'))
  const [folder, kept] = [path.join(directory, 'people'), path.join(directory, 'kept')]
  await writeFile(path.join(outside, 'people.csv'), 'secret')
  await mkdir(folder)
  await writeFile(path.join(folder, 'people.csv'), 'mine')
  beforeOpen = async () => {
    await rename(folder, kept)
    await symlink(outside, folder)
  }
  afterOpen = async () => {
    if (how === 'for good') return
    await rm(folder)
    await rename(kept, folder)
  }
  const copied = fileSource.copy(
    { kind: 'file', path: 'people/people.csv', format: 'csv' },
    { dataDirectory: directory, copy: path.join(directory, 'copy'), principal: 'custodian' },
  )
  await expect(copied).rejects.toMatchObject({ code: 'source-refused' })
  await rm(directory, { recursive: true })
  await rm(outside, { recursive: true })
})

test('a file that is replaced by a pipe does not block', async () => {
  const directory = await mkdtemp(path.join(tmpdir(), 'sotto-data-'))
  const file = path.join(directory, 'people.csv')
  await writeFile(file, 'mine')
  beforeOpen = async () => {
    await rm(file)
    execFileSync('mkfifo', [file])
  }
  afterOpen = async () => {}
  const copied = fileSource.copy(
    { kind: 'file', path: 'people.csv', format: 'csv' },
    { dataDirectory: directory, copy: path.join(directory, 'copy'), principal: 'custodian' },
  )
  await expect(copied).rejects.toMatchObject({ code: 'source-refused' })
  await rm(directory, { recursive: true })
})

import type { Documents } from '../../../ledger/documents/documents.ts'
import {
  type KeyFile,
  type KeyFileAccess,
  KeyFileFault,
  keyFileText,
  NO_KEYS,
  openKeyFile,
  parseKeyFile,
} from './key-file.ts'

/** Name of the document with the keys, which has the contents of a key file. */
const NAME = 'keys'

interface Copy {
  readonly revision: string
  readonly contents: KeyFile
}

/**
 * Gives access to the keys in a database. Every read asks the database, so that a key that another replica deleted is
 * refused at once; reads that arrive while one is under way share the next one.
 */
export function openKeyDocument(documents: Documents): KeyFileAccess {
  let copy: Copy | undefined
  let running: Promise<unknown> = Promise.resolve()
  let next: Promise<Copy | undefined> | undefined

  async function look(): Promise<Copy | undefined> {
    const known = copy
    const found = await documents.read(NAME, known?.revision)
    if (found === 'unchanged') return known
    copy =
      found === undefined
        ? undefined
        : { revision: found.revision, contents: parseKeyFile('the document of keys', found.text) }
    return copy
  }

  /** Looks at the database after this call, once for all calls that wait. */
  function latest(): Promise<Copy | undefined> {
    next ??= running.then(() => {
      next = undefined
      const looking = look()
      running = looking.catch(() => undefined)
      return looking
    })
    return next
  }

  return {
    async read() {
      const found = await latest()
      if (found === undefined) throw new KeyFileFault('the catalog has no keys')
      return found.contents
    },
    exists: async () => (await latest()) !== undefined,
    update: (change) =>
      documents.exclusively('keys', async () => {
        const before = await latest()
        const given = before?.contents ?? NO_KEYS
        const { contents, result } = await change(given)
        if (contents !== given) await documents.write(NAME, keyFileText(contents), before?.revision)
        return result
      }),
    whileDelivering: (task) => documents.exclusively('key-acts', task),
  }
}

/**
 * Copies the keys of a data folder into a database. The same keys again change nothing.
 * @returns false if the folder has no keys
 * @throws KeyFileFault if the database has other keys, or the file is damaged.
 */
export async function copyKeys(dataDirectory: string, documents: Documents): Promise<boolean> {
  const from = openKeyFile(dataDirectory)
  if (!(await from.exists())) return false
  const contents = await from.read()
  await openKeyDocument(documents).update(async (existing) => {
    if (existing !== NO_KEYS && keyFileText(existing) !== keyFileText(contents))
      throw new KeyFileFault('the database has other keys')
    return { contents, result: undefined }
  })
  return true
}

import { readFile } from 'node:fs/promises'
import type { DatasetVersion } from '../../core/dataset/dataset.ts'
import type { Documents } from '../../ledger/documents/documents.ts'
import { entryText, parseEntry } from './entry-file.ts'
import type { EntryStore } from './entry-store.ts'

/** Names of documents. Ids of datasets and versions contain no `/`. */
const ENTRIES = 'dataset/'
const PERSON_KEYS = 'person-key/'

const keyName = ({ id, version }: DatasetVersion) => `${PERSON_KEYS}${id}/${version}`

/**
 * Entries and keys in a database. An entry that another process has changed since it was read cannot be written: of two
 * processes that publish at the same time, one succeeds. A key is written with the entry of its version, so that each
 * published version has the key with which it was published.
 */
export function openEntryDocuments(documents: Documents): EntryStore {
  const revisions = new Map<string, string>()
  /** Keys of versions that this process is publishing, by their names. */
  const publishing = new Map<string, string>()

  async function stored(dataset: DatasetVersion): Promise<string> {
    const found = await documents.read(keyName(dataset))
    if (found === undefined || found === 'unchanged')
      throw new Error(`the catalog has no key for the people of ${dataset.id}`)
    return found.text
  }

  return {
    async stamps() {
      const found = await documents.revisions(ENTRIES)
      return new Map([...found].map(([name, revision]) => [name.slice(ENTRIES.length), revision]))
    },
    async read(id) {
      const found = await documents.read(`${ENTRIES}${id}`)
      if (found === undefined || found === 'unchanged') return undefined
      const entry = parseEntry(`the entry of ${id} in the catalog`, found.text)
      revisions.set(id, found.revision)
      return entry
    },
    async write(id, entry) {
      const name = 'state' in entry ? undefined : keyName(entry.dataset)
      const key = name === undefined ? undefined : publishing.get(name)
      const beside = name === undefined || key === undefined ? undefined : { name, text: key }
      try {
        const written = await documents.write(`${ENTRIES}${id}`, entryText(entry), revisions.get(id), beside)
        revisions.set(id, written)
      } finally {
        // If it is not known whether it was written, the database has the valid key.
        if (name !== undefined) publishing.delete(name)
      }
    },
    async adoptPersonKey(dataset, file) {
      publishing.set(keyName(dataset), await readFile(file, 'utf8'))
    },
    readPersonKey: async (dataset) => publishing.get(keyName(dataset)) ?? stored(dataset),
    forgetPersonKey: (dataset) => {
      publishing.delete(keyName(dataset))
    },
    async removePersonKey(dataset) {
      // One that was not published is nowhere else, and another process may have published the same version.
      if (!publishing.delete(keyName(dataset))) await documents.remove([keyName(dataset)])
    },
    async removeOtherPersonKeys(id, versions) {
      const kept = versions.map((version) => keyName({ id, version }))
      const names = [...(await documents.revisions(`${PERSON_KEYS}${id}/`)).keys()]
      await documents.remove(names.filter((name) => !kept.includes(name)))
    },
  }
}

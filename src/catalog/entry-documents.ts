import { readFile } from 'node:fs/promises'
import type { Documents } from '../documents/documents.ts'
import type { DatasetVersion } from './dataset.ts'
import { entryText, parseEntry } from './entry-file.ts'
import type { EntryStore } from './entry-store.ts'

/** Names of documents. Ids of datasets and versions contain no `/`. */
const ENTRIES = 'dataset/'
const PERSON_KEYS = 'person-key/'

const keyName = ({ id, version }: DatasetVersion) => `${PERSON_KEYS}${id}/${version}`

/**
 * Entries and keys in a database. An entry that another process has changed since it was read cannot be written: of two
 * processes that publish at the same time, one succeeds.
 */
export function openEntryDocuments(documents: Documents): EntryStore {
  const revisions = new Map<string, string>()
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
      const written = await documents.write(`${ENTRIES}${id}`, entryText(entry), revisions.get(id))
      revisions.set(id, written)
    },
    async adoptPersonKey(dataset, file) {
      // A publication that was interrupted may have left the key of a version that was never published.
      const left = (await documents.revisions(keyName(dataset))).get(keyName(dataset))
      await documents.write(keyName(dataset), await readFile(file, 'utf8'), left)
    },
    async readPersonKey(dataset) {
      const found = await documents.read(keyName(dataset))
      if (found === undefined || found === 'unchanged')
        throw new Error(`the catalog has no key for the people of ${dataset.id}`)
      return found.text
    },
    removePersonKey: (dataset) => documents.remove([keyName(dataset)]),
    async removeOtherPersonKeys(id, versions) {
      const kept = versions.map((version) => keyName({ id, version }))
      const stored = [...(await documents.revisions(`${PERSON_KEYS}${id}/`)).keys()]
      await documents.remove(stored.filter((name) => !kept.includes(name)))
    },
  }
}

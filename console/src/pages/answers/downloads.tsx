import { bodyOf, requests } from '../../api/api.ts'
import { saveFile } from '../../api/save-file.ts'
import { ActionButton } from '../../components/forms/action-button.tsx'
import { Button, type ButtonLook } from '../../components/forms/button.tsx'
import { csvOfPart } from './answer-table.ts'
import type { AnswerPart } from './answer-text.ts'

/** Saves the answer byte by byte, so that its hash is the one in the ledger. */
export function DownloadAnswer({ id, look = 'plain' }: { readonly id: string; readonly look?: ButtonLook }) {
  const download = async () => {
    const answer = requests.GET('/v1/releases/{id}', { params: { path: { id } }, parseAs: 'text' })
    saveFile(`release-${id}.json`, new Blob([await bodyOf(answer)], { type: 'application/json' }))
  }
  return (
    <ActionButton look={look} action={download}>
      Download JSON
    </ActionButton>
  )
}

/** Saves values that are not stored in this form, such as post-processed ones, as JSON. */
export function DownloadDocument({ name, document }: { readonly name: string; readonly document: object }) {
  const save = () =>
    saveFile(`${name}.json`, new Blob([JSON.stringify(document, undefined, 2)], { type: 'application/json' }))
  return (
    <Button look="quiet" onClick={save}>
      Download JSON
    </Button>
  )
}

/** Saves a table of a release of marginals as CSV, or all of them. */
export function DownloadTables({
  id,
  columns,
}: {
  readonly id: string
  readonly columns?: readonly string[]
}) {
  const download = async () => {
    const query = { format: 'csv', ...(columns !== undefined && { columns: columns.join(',') }) } as const
    const tables = requests.GET('/v1/releases/{id}/tables', {
      params: { path: { id }, query },
      parseAs: 'blob',
    })
    saveFile(`${['release', id, ...(columns ?? [])].join('-')}.csv`, await bodyOf<Blob>(tables))
  }
  return (
    <ActionButton look="quiet" action={download}>
      {columns === undefined ? 'Download CSV of all tables' : 'Download CSV of this table'}
    </ActionButton>
  )
}

/** Saves the values of one answer as CSV. */
export function DownloadCsv({ name, part }: { readonly name: string; readonly part: AnswerPart }) {
  const save = () => saveFile(`${name}.csv`, new Blob([csvOfPart(part)], { type: 'text/csv' }))
  return (
    <Button look="quiet" onClick={save}>
      Download CSV
    </Button>
  )
}

import { useState } from 'react'
import { api, queryClient, useMe } from '../../api/api.ts'
import { Button } from '../../components/forms/button.tsx'
import { Page, Section } from '../../components/layout/page.tsx'
import { Loading, ProblemNotice } from '../../components/notices/notices.tsx'
import { DateTime, Pill, Table } from '../../components/tables/tables.tsx'
import { formatCount } from '../../format/number.ts'
import { DeleteDialog, IssuedKeyDialog, RotateDialog } from './key-dialogs.tsx'
import { type ApiKey, type IssuedKey, keysMatching, validityOf } from './key-request.ts'
import styles from './keys.module.css'
import { NewKeyDialog } from './new-key-dialog.tsx'

type Opened =
  | { readonly dialog: 'none' }
  | { readonly dialog: 'new' }
  | { readonly dialog: 'rotate' | 'delete'; readonly apiKey: ApiKey }
  | { readonly dialog: 'issued'; readonly issued: IssuedKey }

/** Number of keys from which the page offers to filter them. */
const MANY_KEYS = 8

/** Page on which custodians create, rotate and delete API keys. */
export default function KeysPage() {
  const me = useMe()
  const { data, error, refetch } = api.useQuery('get', '/v1/keys')
  const [opened, open] = useState<Opened>({ dialog: 'none' })
  const [sought, seek] = useState('')
  const close = () => open({ dialog: 'none' })
  const show = (issued: IssuedKey) => {
    open({ dialog: 'issued', issued })
    refresh()
  }
  return (
    <Page
      title="Keys"
      lead="A key identifies a person or program. The service stores only a digest of it."
      actions={
        <Button look="primary" onClick={() => open({ dialog: 'new' })}>
          Create a key
        </Button>
      }
    >
      {error !== null && <ProblemNotice error={error} onRetry={refetch} />}
      {data === undefined && error === null && <Loading what="the keys" />}
      {data !== undefined && (
        <Section title={formatCount(data.keys.length, 'key')}>
          {data.keys.length >= MANY_KEYS && (
            <input
              type="search"
              className={styles.search}
              aria-label="Filter the keys"
              placeholder="Filter by name, role or dataset"
              value={sought}
              onChange={(event) => seek(event.target.value)}
            />
          )}
          <KeyTable
            keys={keysMatching(data.keys, sought)}
            onRotate={(apiKey) => open({ dialog: 'rotate', apiKey })}
            onDelete={(apiKey) => open({ dialog: 'delete', apiKey })}
          />
        </Section>
      )}
      {opened.dialog === 'new' && <NewKeyDialog keys={data?.keys ?? []} onIssued={show} onClose={close} />}
      {opened.dialog === 'rotate' && <RotateDialog apiKey={opened.apiKey} onIssued={show} onClose={close} />}
      {opened.dialog === 'delete' && (
        <DeleteDialog
          apiKey={opened.apiKey}
          isOwn={opened.apiKey.name === me?.name}
          onDeleted={refresh}
          onClose={close}
        />
      )}
      {opened.dialog === 'issued' && <IssuedKeyDialog issued={opened.issued} onClose={close} />}
    </Page>
  )
}

function refresh() {
  return queryClient.invalidateQueries({ queryKey: ['get', '/v1/keys'] })
}

interface KeyTableProps {
  readonly keys: readonly ApiKey[]
  readonly onRotate: (apiKey: ApiKey) => void
  readonly onDelete: (apiKey: ApiKey) => void
}

function KeyTable({ keys, onRotate, onDelete }: KeyTableProps) {
  return (
    <Table
      cards
      label="API keys"
      rows={keys}
      keyOf={({ id }) => id}
      empty="No key matches."
      columns={[
        ['Key', ({ id }) => <code>{id}</code>],
        ['Role', Role],
        ['Datasets', ({ datasets }) => datasets?.join(', ') ?? 'all'],
        ['Valid until (UTC)', ValidUntil],
        ['Created (UTC)', Created],
        [
          'Actions',
          (apiKey) => (
            <span className={styles.actions}>
              <Button look="quiet" aria-label={`Rotate ${apiKey.id}`} onClick={() => onRotate(apiKey)}>
                Rotate
              </Button>
              <Button look="danger" aria-label={`Delete ${apiKey.id}`} onClick={() => onDelete(apiKey)}>
                Delete
              </Button>
            </span>
          ),
          'right',
        ],
      ]}
    />
  )
}

function Role({ role, spending }: ApiKey) {
  return (
    <>
      <Pill tone={role === 'custodian' ? 'accent' : 'plain'}>{role}</Pill>{' '}
      {spending === 'never' && <Pill>free answers only</Pill>}
    </>
  )
}

function ValidUntil({ expiresAt }: ApiKey) {
  const validity = expiresAt && validityOf({ expiresAt }, Date.now())
  return (
    <>
      {expiresAt === undefined ? 'no end' : <DateTime value={expiresAt} />}{' '}
      {validity === 'ends-soon' && <Pill tone="cost">ends soon</Pill>}
      {validity === 'expired' && <Pill tone="danger">expired</Pill>}
    </>
  )
}

function Created({ createdAt, createdBy, rotatedAt, earlierValidUntil }: ApiKey) {
  return (
    <div className={styles.created}>
      <div>
        <DateTime value={createdAt} />
      </div>
      {createdBy !== undefined && <div className={styles.by}>by {createdBy}</div>}
      {rotatedAt !== undefined && (
        <div className={styles.by}>
          rotated <DateTime value={rotatedAt} />
        </div>
      )}
      {earlierValidUntil !== undefined && (
        <div className={styles.by}>
          previous key valid until <DateTime value={earlierValidUntil} />
        </div>
      )}
    </div>
  )
}

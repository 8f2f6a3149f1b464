import { useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { api, useMe } from '../../api/api.ts'
import { ButtonLink } from '../../components/forms/button.tsx'
import { SelectField, TextField } from '../../components/forms/fields.tsx'
import { KIND_NAMES } from '../answers/question-text.ts'
import styles from './history.module.css'
import { addressOf, type HistoryFilter, ORDERS, replaceField } from './history-filter.ts'

type FilterField = Parameters<typeof replaceField>[1]

/** Controls that change the selection in the address of the history. */
export function HistoryFilters({ filter }: { readonly filter: HistoryFilter }) {
  const [, navigate] = useLocation()
  const me = useMe()
  const { data } = api.useQuery('get', '/v1/datasets')
  const set = (field: FilterField, value: string) => {
    if (value.trim() !== (filter[field] ?? '')) navigate(addressOf(replaceField(filter, field, value)))
  }
  const names = new Set(data?.datasets.map(({ id }) => id))
  // A withdrawn dataset is not in the list of datasets.
  if (filter.dataset !== undefined) names.add(filter.dataset)
  const isSelected = Object.keys(filter).some((field) => field !== 'cursor')
  return (
    <search className={styles.filters}>
      <Entry label="Search" value={filter.search} onEnter={(value) => set('search', value)} />
      <SelectField
        label="Dataset"
        value={filter.dataset ?? ''}
        options={[['', 'All'], ...[...names].sort()]}
        onChange={(value) => set('dataset', value)}
      />
      <SelectField
        label="Kind"
        value={filter.kind ?? ''}
        options={[['', 'All'], ...Object.entries(KIND_NAMES)]}
        onChange={(value) => set('kind', value)}
      />
      {me !== undefined && me.role !== 'analyst' && (
        <Entry label="Analyst" value={filter.analyst} onEnter={(value) => set('analyst', value)} />
      )}
      <Entry label="From" type="date" value={filter.from} onEnter={(value) => set('from', value)} />
      <Entry label="Before" type="date" value={filter.to} onEnter={(value) => set('to', value)} />
      <SelectField
        label="Order"
        value={filter.sort ?? ''}
        options={[['', 'Newest first'], ...Object.entries(ORDERS)]}
        onChange={(value) => set('sort', value)}
      />
      {isSelected && (
        <div className={styles.clear}>
          <ButtonLink href="/history" look="quiet">
            Show all
          </ButtonLink>
        </div>
      )}
    </search>
  )
}

interface EntryProps {
  readonly label: string
  readonly type?: 'text' | 'date'
  readonly value: string | undefined
  readonly onEnter: (value: string) => void
}

/** First date that is taken as complete. While a person types a year, the field has dates such as 0002-01-31. */
const FIRST_DATE = '1970'

/** Text or date that selects releases. A text counts once the person leaves the field or presses Enter. */
function Entry({ label, type = 'text', value = '', onEnter }: EntryProps) {
  const shown = type === 'date' ? value.slice(0, 10) : value
  const [text, setText] = useState(shown)
  useEffect(() => setText(shown), [shown])
  const enter = (entered: string) => {
    if (entered !== shown) onEnter(entered)
  }
  const change = (entered: string) => {
    setText(entered)
    if (type === 'date' && (entered === '' || entered >= FIRST_DATE)) enter(entered)
  }
  return (
    <TextField
      label={label}
      type={type}
      value={text}
      onChange={change}
      onBlur={() => type === 'text' && enter(text)}
      onKeyDown={({ key }) => key === 'Enter' && enter(text)}
    />
  )
}

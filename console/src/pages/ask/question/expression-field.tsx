import { useState } from 'react'
import { Button } from '../../../components/forms/button.tsx'
import { TextField } from '../../../components/forms/fields.tsx'
import type { Column } from '../../datasets/dataset.ts'
import styles from '../ask.module.css'
import type { ReadExpression } from './expressions.ts'

export interface ExpressionFieldProps {
  readonly read: ReadExpression
  /** Called with a column that was written, which then can be chosen. */
  readonly onAdd: (column: Column) => void
}

/** Field in which a column is computed from others. */
export function ExpressionField({ read, onAdd }: ExpressionFieldProps) {
  const [text, setText] = useState('')
  const [added, setAdded] = useState<string>()
  const found = text.trim() === '' ? undefined : read(text.trim())
  const column = found !== undefined && 'column' in found ? found.column : undefined
  const add = () => {
    if (column === undefined) return
    onAdd(column)
    setAdded(column.name)
    setText('')
  }
  return (
    <details>
      <summary>Compute a column</summary>
      <div className={styles.options}>
        <TextField
          label="Expression"
          hint={
            column === undefined
              ? 'Such as a - b, round(a / 60), month(day), a > 3, or bins(a, 0, 18, 65).'
              : factsOf(column)
          }
          error={found !== undefined && 'rule' in found ? `The expression ${found.rule}.` : undefined}
          value={text}
          onChange={setText}
          onKeyDown={(event) => event.key === 'Enter' && add()}
        />
        <div>
          <Button disabled={column === undefined} onClick={add}>
            Add the column
          </Button>
        </div>
        {added !== undefined && (
          <p className={styles.quiet} role="status">
            <bdi>{added}</bdi> can be chosen wherever a column can.
          </p>
        )}
      </div>
    </details>
  )
}

/** The type of a column and its values. */
function factsOf(column: Column): string {
  if ('lower' in column) return `${column.type} from ${column.lower} to ${column.upper}`
  return column.type === 'category' ? `one of ${column.categories.join(', ')}` : column.type
}

import type { Schemas } from '../../../api/schemas.ts'
import { Radios } from '../../../components/forms/fields.tsx'
import { formatAmount, sizeOf } from '../../../format/amount.ts'
import { partText } from '../../answers/answer-text.ts'
import type { Use } from './offers.ts'

interface OffersChoiceProps {
  readonly preview: Schemas['Preview']
  readonly use: Use
  readonly onChange: (use: Use) => void
}

/** Choice among the ways to an answer, each with what it says and costs. Nothing is shown where only one exists. */
export function OffersChoice({ preview: { offers, paid }, use, onChange }: OffersChoiceProps) {
  const { free, topUp, fresh } = offers
  if ('reason' in free) return undefined
  const lacks = topUp !== undefined && 'price' in topUp && sizeOf(topUp.price) > 0
  return (
    <Radios
      legend="Your paid answers say something about this"
      value={use}
      choices={[
        { value: 'free', label: `Free: ${partText(free)}`, hint: free.statement },
        ...(lacks
          ? [
              {
                value: 'topUp' as const,
                label: `Top up: ${formatAmount(topUp.price)}`,
                hint: 'Buys only what they lack. As accurate as a fresh answer.',
              },
            ]
          : []),
        {
          value: 'fresh',
          label: `Fresh: ${paid ? 'paid already' : formatAmount(fresh.price)}`,
          hint: 'An answer with noise of its own.',
        },
      ]}
      onChange={onChange}
    />
  )
}

import type { ReactNode } from 'react'
import type { FieldType, KindField, KindFields } from '../../../../../clients/kind-entry.ts'
import { Checkbox, SelectField, TextField } from '../../../components/forms/fields.tsx'
import { type Clamp, rangeText } from '../../answers/question-text.ts'
import type { DatasetFacts } from '../../datasets/dataset.ts'
import { ConditionField } from '../conditions/condition-field.tsx'
import { NumberInputField, SelectColumn, TextList } from '../fields.tsx'
import { fieldValue, withField } from '../question/question.ts'
import { CandidatesField } from './candidates-field.tsx'
import { ClampField, ClampsField } from './clamp-fields.tsx'
import { withFittingClamp } from './clamps.ts'
import { ColumnsField } from './columns-fields.tsx'
import type { FieldPart } from './field-part.ts'
import { GroupingField, GroupingsFields } from './grouping-field.tsx'
import { columnsOf, fittingColumns, withFittingColumn } from './kinds.ts'
import { isMisfit } from './weights.ts'
import { WeightsField } from './weights-field.tsx'

type Control<Type extends FieldType> = (part: FieldPart<Type>) => ReactNode

const CONTROLS: { readonly [Type in Exclude<FieldType, 'statistics'>]: Control<Type> } = {
  column: ColumnField,
  columns: ColumnsField,
  grouping: ({ label, columns, value, onChange }) => (
    <GroupingField label={label} columns={columns} value={value ?? ''} onChange={onChange} />
  ),
  groupings: GroupingsFields,
  condition: ({ label, dataset, value, onChange }) => (
    <ConditionField label={label} dataset={dataset} value={value} required onChange={onChange} />
  ),
  candidates: CandidatesField,
  percentages: NumbersField,
  numbers: NumbersField,
  weights: WeightsField,
  counted: ({ label, field, value = 'rows', onChange }) => (
    <SelectField
      label={label}
      hint={field.hint}
      options={['rows', 'people']}
      value={value}
      onChange={(of) => onChange(of === 'people' ? of : undefined)}
    />
  ),
  perPerson: PerPersonField,
  clamp: ClampField,
  clamps: ClampsField,
  ranges: ({ label, field, value = [], onChange }) => (
    <TextList
      label={label}
      hint={field.hint}
      items={value.map(rangeText)}
      onChange={(ranges) => onChange(ranges.length === 0 ? undefined : ranges.map(rangeOf))}
    />
  ),
  number: NumberField,
  flag: FlagField,
  choice: ChoiceField,
  text: ({ label, field, value = '', onChange }) => (
    <TextField
      label={label}
      hint={field.hint}
      value={value}
      onChange={(text) => onChange(text || undefined)}
    />
  ),
}

/** Reads a range, also one that is not written to its end. */
function rangeOf(text: string | number): Clamp {
  const [lower = '', upper = ''] = String(text).split(/ +to +/)
  const endOf = (end: string) => (end === '' || Number.isNaN(Number(end)) ? end : Number(end))
  return { lower: endOf(lower), upper: endOf(upper) }
}

export interface KindFieldsProps<Asked extends object> {
  readonly fields: KindFields
  readonly asked: Asked
  readonly dataset: DatasetFacts
  /** Chooses the fields that are drawn. */
  readonly shows?: (field: KindField) => boolean
  /** Control of statistics of groups, which have fields themselves. */
  readonly statistics?: Control<'statistics'>
  /** Label of a field, in place of its title. */
  readonly labelOf?: (field: KindField) => string
  readonly onChange: (asked: Asked) => void
}

/** Fields of a question or of a statistic of groups, as the table of kinds lists them. */
export function KindFieldsOf<Asked extends object>(props: KindFieldsProps<Asked>): ReactNode {
  const { fields, asked, dataset, shows = () => true, labelOf = ({ title }) => title, onChange } = props
  const controls = { statistics: props.statistics, ...CONTROLS }
  const ofPeople = dataset.privacyUnit.kind === 'person'
  return Object.entries(fields).map(([name, field]) => {
    if (!shows(field) || (!ofPeople && (field.type === 'counted' || field.type === 'perPerson')))
      return undefined
    const Control = controls[field.type] as Control<FieldType>
    return (
      <Control
        key={name}
        name={name}
        label={labelOf(field)}
        field={field}
        fields={fields}
        columns={fittingColumns(field, fields, asked, dataset)}
        value={fieldValue(asked, name) as FieldPart<FieldType>['value']}
        asked={asked}
        dataset={dataset}
        onChange={(value) =>
          onChange(withFittingClamp(asked, withFittingFields(withField(asked, name, value), fields)))
        }
        onAsked={(next) => onChange(withFittingClamp(asked, next as Asked))}
      />
    )
  })
}

/** Returns a question without the fields that need another value of another field, and weights of other tables. */
function withFittingFields<Asked extends object>(asked: Asked, fields: KindFields): Asked {
  return Object.entries(fields).reduce(
    (fitting, [name, field]) =>
      isRuledOut(field, fitting, fieldValue(fitting, name)) ? withField(fitting, name, undefined) : fitting,
    asked,
  )
}

function isRuledOut({ type, onlyWith }: KindField, asked: object, value?: unknown): boolean {
  if (type === 'weights' && isMisfit(value, asked)) return true
  if (onlyWith === undefined) return false
  const [other, needed] = onlyWith
  const stated = fieldValue(asked, other)
  return stated !== undefined && stated !== needed
}

function ColumnField({ name, label, columns, fields, value, asked, onChange, onAsked }: FieldPart<'column'>) {
  const choose = (column: string) => {
    const list = Object.keys(fields).find((each) => fields[each]?.type === 'columns')
    if (list === undefined) return onChange(column)
    // A list of other columns loses this one. The column before takes the place of the only one.
    const others = (fieldValue(asked, list) as readonly string[]).filter((each) => each !== column)
    onAsked({ ...asked, [name]: column, [list]: others.length === 0 ? [value] : others })
  }
  return <SelectColumn label={label} columns={columns} value={value} onChange={choose} />
}

/** Values that replace the rows of a person, and their names. */
const PERSON_VALUES = [
  ['', 'of each row'],
  ['sum', 'sum of each person'],
  ['mean', 'mean of each person'],
  ['count', 'number of rows of each person'],
] as const

function PerPersonField({
  name,
  label,
  field,
  fields,
  value,
  asked,
  dataset,
  onAsked,
}: FieldPart<'perPerson'>) {
  const { personColumns = {} } = field
  const options = PERSON_VALUES.filter(
    ([each]) => each === '' || columnsOf(personColumns[each] ?? { types: [] }, dataset).length > 0,
  )
  return (
    <SelectField
      label={label}
      options={options}
      value={value ?? ''}
      onChange={(chosen) =>
        onAsked(withFittingColumn(withField(asked, name, chosen || undefined), fields, dataset))
      }
    />
  )
}

function NumberField({ label, field, value, onChange }: FieldPart<'number'>) {
  const { hint, least, most, whole, optional, default: usual } = field
  const isEmptied = optional === true && usual === undefined
  return (
    <NumberInputField
      label={label}
      hint={hint}
      optional={isEmptied}
      min={least}
      max={most}
      step={whole ? 1 : 'any'}
      value={value ?? usual}
      onChange={onChange}
    />
  )
}

function FlagField({ label, field, value = false, asked, onChange }: FieldPart<'flag'>) {
  const isFixed = isRuledOut(field, asked)
  return (
    <Checkbox
      label={label}
      hint={isFixed ? `Only with the ${field.onlyWith?.join(' ')}.` : field.hint}
      disabled={isFixed}
      value={value}
      onChange={(checked) => onChange(checked || undefined)}
    />
  )
}

function NumbersField({ label, field, value, onChange }: FieldPart<'percentages'> | FieldPart<'numbers'>) {
  return (
    <TextList
      label={label}
      hint={field.hint}
      items={[value ?? []].flat()}
      onChange={(numbers) => onChange(numbers as number[])}
    />
  )
}

function ChoiceField({ label, field, value = '', onChange }: FieldPart<'choice'>) {
  return (
    <SelectField
      label={label}
      hint={field.hint}
      options={[...(field.optional ? [['', 'default'] as const] : []), ...(field.choices ?? [])]}
      value={value}
      onChange={(chosen) => onChange(chosen || undefined)}
    />
  )
}

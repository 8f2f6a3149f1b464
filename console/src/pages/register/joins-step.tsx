import { JoinedPicture } from '../../components/charts/joined-picture.tsx'
import type { DeclaredJoin, JoinedSource } from '../../components/charts/joined-tables.ts'
import { FieldRow, NumberField, SelectField } from '../../components/forms/fields.tsx'
import { Section } from '../../components/layout/page.tsx'
import { numberOf } from '../../format/number.ts'
import { factTables, withJoin } from './declaration.ts'
import styles from './register.module.css'
import type { StepProps } from './step.ts'

const KINDS = [
  ['people', 'people, or leads to people'],
  ['public', 'a public list'],
  ['facts', 'further rows of the same people'],
] as const

type Kind = (typeof KINDS)[number][0]

/** Which rows stay, where the other table has none for them. */
const DANGLING = {
  people: [
    ['drop', 'are left out'],
    ['refuse', 'refuse the files'],
  ],
  public: [
    ['null', 'stay, with missing values'],
    ['drop', 'are left out'],
    ['refuse', 'refuse the files'],
  ],
} as const

/** Step that declares how the tables of a joined source refer to each other. */
export function JoinsStep({ form, onChange }: StepProps) {
  const { source } = form
  if (source.kind !== 'joined') return null
  const names = form.columns?.map(({ name }) => name) ?? []
  return (
    <Section
      title="How do the tables belong together?"
      lead="Each row refers to one row of another table, up to the person. A public list depends on no person: all licensed hospitals, not those that somebody visited."
    >
      <div className={styles.form}>
        {source.joins.map((join, position) => (
          <JoinFields
            // biome-ignore lint/suspicious/noArrayIndexKey: joins are neither added nor moved
            key={position}
            title={`Join ${position + 1}`}
            source={source}
            join={join}
            names={names}
            onChange={(changed) => onChange((present) => withJoin(present, position, changed))}
          />
        ))}
        <JoinedPicture source={source} />
      </div>
    </Section>
  )
}

interface JoinFieldsProps {
  readonly title: string
  readonly source: JoinedSource
  readonly join: DeclaredJoin
  readonly names: readonly string[]
  readonly onChange: (join: DeclaredJoin) => void
}

function kindOf({ public: isPublic, maxRows }: DeclaredJoin): Kind {
  if (maxRows !== undefined) return 'facts'
  return isPublic === true ? 'public' : 'people'
}

function JoinFields({ title, source, join, names, onChange }: JoinFieldsProps) {
  const kind = kindOf(join)
  const columns = [['', 'Choose a column'], ...names.map((name) => [name, name] as const)] as const
  return (
    <fieldset className={styles.join}>
      <legend>{title}</legend>
      <FieldRow>
        <SelectField
          label={kind === 'facts' ? 'Column of people' : 'Column that refers'}
          value={join.from}
          options={columns}
          onChange={(from) => onChange({ ...join, from })}
        />
        <SelectField
          label={kind === 'facts' ? 'Column that names the same people' : 'Key that it refers to'}
          value={join.to}
          options={columns}
          onChange={(to) => onChange({ ...join, to })}
        />
        <SelectField
          label="The other table is"
          value={kind}
          options={KINDS}
          onChange={(next) => onChange(joinOfKind(join, next))}
        />
        {kind === 'facts' ? (
          <FactFields source={source} join={join} onChange={onChange} />
        ) : (
          <SelectField
            label="Rows without a match"
            value={join.dangling ?? (kind === 'public' ? 'null' : 'drop')}
            options={DANGLING[kind]}
            onChange={(dangling) => onChange({ ...join, dangling })}
          />
        )}
      </FieldRow>
    </fieldset>
  )
}

function joinOfKind({ from, to }: DeclaredJoin, kind: Kind): DeclaredJoin {
  return kind === 'facts' ? { from, to, maxRows: {} } : { from, to, public: kind === 'public' }
}

/** Rows of a person that two facts combine, of either table. */
function FactFields({ source, join, onChange }: Pick<JoinFieldsProps, 'source' | 'join' | 'onChange'>) {
  return factTables(source, join).map((table, place) => (
    <NumberField
      // biome-ignore lint/suspicious/noArrayIndexKey: the two sides are neither added nor moved
      key={place}
      label={`Most rows of a person from ${table || 'the other table'}`}
      value={String(join.maxRows?.[table] || '')}
      onChange={(value) => onChange({ ...join, maxRows: { ...join.maxRows, [table]: numberOf(value) ?? 0 } })}
    />
  ))
}

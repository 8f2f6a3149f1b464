import { JoinedPicture } from '../../components/charts/joined-picture.tsx'
import type { DeclaredJoin } from '../../components/charts/joined-tables.ts'
import { FieldRow, SelectField } from '../../components/forms/fields.tsx'
import { Section } from '../../components/layout/page.tsx'
import { withJoin } from './declaration.ts'
import styles from './register.module.css'
import type { StepProps } from './step.ts'

const KINDS = [
  ['people', 'people, or leads to people'],
  ['public', 'a public list'],
] as const

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
  readonly join: DeclaredJoin
  readonly names: readonly string[]
  readonly onChange: (join: DeclaredJoin) => void
}

function JoinFields({ title, join, names, onChange }: JoinFieldsProps) {
  const kind = join.public === true ? 'public' : 'people'
  const columns = [['', 'Choose a column'], ...names.map((name) => [name, name] as const)] as const
  return (
    <fieldset className={styles.join}>
      <legend>{title}</legend>
      <FieldRow>
        <SelectField
          label="Column that refers"
          value={join.from}
          options={columns}
          onChange={(from) => onChange({ ...join, from })}
        />
        <SelectField
          label="Key that it refers to"
          value={join.to}
          options={columns}
          onChange={(to) => onChange({ ...join, to })}
        />
        <SelectField
          label="The other table is"
          value={kind}
          options={KINDS}
          onChange={(next) => onChange({ from: join.from, to: join.to, public: next === 'public' })}
        />
        <SelectField
          label="Rows without a match"
          value={join.dangling ?? (kind === 'public' ? 'null' : 'drop')}
          options={DANGLING[kind]}
          onChange={(dangling) => onChange({ ...join, dangling })}
        />
      </FieldRow>
    </fieldset>
  )
}

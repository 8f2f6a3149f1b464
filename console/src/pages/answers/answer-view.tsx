import { useState } from 'react'
import type { Amount, components } from 'sotto-client'
import { api } from '../../api/api.ts'
import { ButtonLink } from '../../components/button.tsx'
import { Checkbox } from '../../components/choice.tsx'
import { Loading } from '../../components/loading.tsx'
import { Notice } from '../../components/notice.tsx'
import { ProblemNotice } from '../../components/problem-notice.tsx'
import { Section } from '../../components/section.tsx'
import { formatAmount } from '../../format/amount.ts'
import { answerText } from './answer-text.ts'
import { AnswerValues } from './answer-values.tsx'
import styles from './answers.module.css'
import { DownloadAnswer, DownloadCsv, DownloadDocument } from './downloads.tsx'
import { QuestionCode } from './question-code-section.tsx'
import { type Question, questionText } from './question-text.ts'
import { ReleasePicture } from './release-picture.tsx'

type Schemas = components['schemas']

/** Answer to a question or a batch, stored or from made-up rows. */
export type AnswerDocument =
  | Schemas['Answer']
  | Schemas['BatchAnswer']
  | Schemas['DummyAnswer']
  | Schemas['DummyBatchAnswer']

export interface AnswerViewProps {
  readonly document: AnswerDocument
  /** True if a stored answer was sent again, at no cost. */
  readonly replayed?: boolean
  /** True on the page of the release, which has the stored answer to download. */
  readonly isInHistory?: boolean
}

/** An answer: its values with their half-widths, a picture, post-processing, and what it cost. */
export function AnswerView({ document, replayed = false, isInHistory = false }: AnswerViewProps) {
  const isDummy = 'dummy' in document
  const [processing, setProcessing] = useState({ round: false, nonNegative: false })
  const isProcessed = processing.round || processing.nonNegative
  const {
    data: processed,
    error,
    isFetching,
  } = api.useQuery(
    'post',
    '/v1/releases/{id}/postprocess',
    { params: { path: { id: document.id } }, body: processing },
    { enabled: isProcessed && !isDummy, staleTime: Number.POSITIVE_INFINITY },
  )
  const shown = isProcessed && processed !== undefined ? processed : document
  const name = `${isDummy ? 'made-up' : 'release'}-${document.id}`
  return (
    <Section title="Answer" lead={costSentence(document, replayed)}>
      {isDummy && (
        <Notice tone="cost" title="Made-up rows">
          The answer is about made-up rows that fit the declaration. It says nothing about the data.
        </Notice>
      )}
      {'answers' in shown ? (
        shown.answers.map((part, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the answers of a batch have no other name
          <div key={place} className={styles.part}>
            <h3>{partTitle(shown, place)}</h3>
            <AnswerValues part={part} />
            <DownloadCsv name={`${name}-${place + 1}`} part={part} />
          </div>
        ))
      ) : (
        <AnswerValues part={shown} />
      )}
      {!isDummy && (
        <>
          <Processing processing={processing} onChange={setProcessing} />
          {isProcessed && isFetching && <Loading what="the post-processed values" />}
          {isProcessed && error !== null && <ProblemNotice error={error} />}
          <ReleasePicture id={document.id} label={answerText(document)} />
        </>
      )}
      <div className={styles.downloads}>
        {!('answers' in shown) && <DownloadCsv name={name} part={shown} />}
        {isDummy || isProcessed ? (
          <DownloadDocument name={name} document={shown} />
        ) : (
          !isInHistory && <DownloadAnswer id={document.id} look="quiet" />
        )}
        {!isDummy && !isInHistory && (
          <ButtonLink href={`/history/${document.id}`} look="quiet">
            Open in history
          </ButtonLink>
        )}
      </div>
      {document.question !== undefined && (
        <QuestionCode
          question={document.question as Question}
          dataset={document.dataset}
          practice={isDummy}
        />
      )}
    </Section>
  )
}

interface PostProcessing {
  readonly round: boolean
  readonly nonNegative: boolean
}

interface ProcessingProps {
  readonly processing: PostProcessing
  readonly onChange: (processing: PostProcessing) => void
}

/** Choice of post-processing, which is free. */
function Processing({ processing, onChange }: ProcessingProps) {
  return (
    <div className={styles.processing}>
      <Checkbox
        label="Round to whole numbers"
        checked={processing.round}
        onChange={(round) => onChange({ ...processing, round })}
      />
      <Checkbox
        label="Replace negative values by 0"
        checked={processing.nonNegative}
        onChange={(nonNegative) => onChange({ ...processing, nonNegative })}
      />
      <span className={styles.free}>Free: it uses the paid answer only.</span>
    </div>
  )
}

function costSentence(document: AnswerDocument, replayed: boolean): string {
  const { budget } = document
  const left = `Left: ${formatAmount(budget.remaining)} of ${formatAmount(budget.cap)}`
  if ('dummy' in document) return `Free. On the data it would cost ${formatAmount(document.cost)}.`
  if (replayed) return `Free: this question was paid before${paidText(document)}. ${left}.`
  return `Cost ${formatAmount(document.cost)}. ${left}.`
}

function paidText({ paid }: { readonly paid?: Amount }): string {
  return paid === undefined ? '' : `, with ${formatAmount(paid)}`
}

function partTitle(document: Extract<AnswerDocument, { answers: unknown }>, place: number): string {
  const question = document.question?.queries[place] as Question | undefined
  return question === undefined ? `Question ${place + 1}` : questionText(question)
}

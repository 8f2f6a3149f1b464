import { useState } from 'react'
import type { Amount } from 'sotto-client'
import { seriesOf, type TimeSeries } from '../../../../src/studies/plots/time-series.ts'
import { api, at } from '../../api/api.ts'
import { ButtonLink } from '../../components/forms/button.tsx'
import { Checkbox } from '../../components/forms/fields.tsx'
import { Section } from '../../components/layout/page.tsx'
import { Loading, Notice, ProblemNotice } from '../../components/notices/notices.tsx'
import { formatAmount, sizeOf } from '../../format/amount.ts'
import { type AnswerDocument, type AnswerPart, freshnessText, measuredReport } from './answer-text.ts'
import { AnswerValues } from './answer-values.tsx'
import styles from './answers.module.css'
import { ClampChooser } from './clamps/clamp-chooser.tsx'
import { ContributionAdvice } from './clamps/contribution-advice.tsx'
import { QuestionCode } from './code/question-code-section.tsx'
import { DownloadAnswer, DownloadCsv, DownloadDocument, DownloadTables } from './downloads.tsx'
import { InferenceNote } from './inference-note.tsx'
import { MarginalsView } from './marginals-view.tsx'
import {
  askedProcessing,
  isSameProcessing,
  offeredProcessing,
  type Processing,
  partsOf,
  questionsOf,
} from './processing.ts'
import { type AskedQuestion, questionText } from './question-text.ts'
import { DownloadPicture, ReleasePicture } from './release-picture.tsx'

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
  const freshness = freshnessText(document)
  const { processing, setProcessing, isChanged, shown, isFetching, error } = useProcessing(document)
  const series = useSeries(document)
  const isOfTables = 'result' in shown && 'tables' in shown.result
  const isDrawn = partsOf(shown).every((part, place) => series(part, place).length > 0)
  return (
    <Section title="Answer" lead={costSentence(document, replayed)}>
      {isDummy && (
        <Notice tone="cost" title="Made-up rows">
          The answer is about made-up rows that fit the declaration. It says nothing about the data.
        </Notice>
      )}
      {!isInHistory && freshness !== '' && <p className={styles.coverage}>{freshness}</p>}
      <Values document={shown} seriesOf={series} />
      {'inference' in document && document.inference !== undefined && (
        <InferenceNote inference={document.inference} />
      )}
      {!isDummy && (
        <>
          <ProcessingChoice
            offered={offeredProcessing(document)}
            processing={processing}
            onChange={setProcessing}
          />
          {isFetching && <Loading what="the post-processed values" />}
          {error !== null && <ProblemNotice error={error} />}
          {!isDrawn && !isOfTables && (
            <Pictures document={shown} processing={isChanged ? processing : undefined} />
          )}
        </>
      )}
      <div className={styles.downloads}>
        {isDrawn && !isDummy && (
          <DownloadPicture id={document.id} processing={isChanged ? processing : undefined} />
        )}
        {isOfTables
          ? !isDummy && <DownloadTables id={document.id} />
          : !('answers' in shown) && <DownloadCsv name={fileName(document)} part={shown} />}
        {isDummy || isChanged ? (
          <DownloadDocument name={fileName(document)} document={shown} />
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
          question={document.question as AskedQuestion}
          dataset={document.dataset}
          practice={isDummy}
        />
      )}
    </Section>
  )
}

/** The chosen post-processing, at first that of the question, and the document with post-processed values. */
function useProcessing(document: AnswerDocument) {
  const asked = askedProcessing(document)
  const [processing, setProcessing] = useState(asked)
  const isChanged = !isSameProcessing(processing, asked)
  const { data, error, isFetching } = api.useQuery(
    'post',
    '/v1/releases/{id}/postprocess',
    { params: { path: { id: document.id } }, body: processing },
    { enabled: isChanged && !('dummy' in document), staleTime: Number.POSITIVE_INFINITY },
  )
  const shown = isChanged && data !== undefined ? data : document
  return {
    processing,
    setProcessing,
    isChanged,
    shown,
    isFetching: isChanged && isFetching,
    error: isChanged ? error : null,
  }
}

type SeriesOfPart = (part: AnswerPart, place: number) => readonly TimeSeries[]

/** Returns a function that makes the time series of a part of a document, once the columns of its dataset are known. */
function useSeries({ dataset, question }: AnswerDocument): SeriesOfPart {
  const { data } = api.useQuery('get', '/v1/datasets/{dataset}', at({ dataset }))
  return (part, place) => {
    const asked = questionsOf(question)[place]
    return asked === undefined || data === undefined
      ? []
      : seriesOf({ ...part, measured: measuredReport(part) }, asked, data.columns)
  }
}

interface ValuesProps {
  readonly document: AnswerDocument
  readonly seriesOf: SeriesOfPart
}

/** The values of an answer, or of each answer of a batch, and what is left out of them. */
function Values({ document, seriesOf: charts }: ValuesProps) {
  const valuesOf = (part: AnswerPart, place: number) => (
    <>
      {'tables' in part.result ? (
        <MarginalsView
          part={part}
          result={part.result}
          id={'answers' in document || 'dummy' in document ? undefined : document.id}
          seriesOf={(table) => charts(table, place)}
        />
      ) : (
        <AnswerValues part={part} charts={charts(part, place)} />
      )}
      <ClampChooser part={part} dataset={document.dataset} question={questionsOf(document.question)[place]} />
      <ContributionAdvice
        part={part}
        dataset={document.dataset}
        question={questionsOf(document.question)[place]}
      />
      <p className={styles.coverage}>{part.coverage.statement}</p>
    </>
  )
  if (!('answers' in document)) return valuesOf(document, 0)
  return document.answers.map((part, place) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the answers of a batch have no other name
    <div key={place} className={styles.part}>
      <h3>{partTitle(document, place)}</h3>
      {valuesOf(part, place)}
      {!('tables' in part.result) && <DownloadCsv name={`${fileName(document)}-${place + 1}`} part={part} />}
    </div>
  ))
}

const AS_MEASURED: Processing = { round: false, nonNegative: false }

interface PicturesProps {
  readonly document: AnswerDocument
  /** Post-processing that the stored document does not have. */
  readonly processing: Processing | undefined
}

/** The picture of an answer, and below it that of the measured values if they were post-processed. */
function Pictures({ document, processing }: PicturesProps) {
  const { id } = document
  const picture = <ReleasePicture id={id} processing={processing} />
  if (partsOf(document).every((part) => measuredReport(part) === undefined)) return picture
  return (
    <>
      <h3 className={styles.pictureTitle}>Post-processed</h3>
      {picture}
      <h3 className={styles.pictureTitle}>As measured</h3>
      <ReleasePicture id={id} processing={AS_MEASURED} />
    </>
  )
}

function fileName({ id, ...document }: AnswerDocument): string {
  return `${'dummy' in document ? 'made-up' : 'release'}-${id}`
}

function costSentence(document: AnswerDocument, replayed: boolean): string {
  const { budget } = document
  const left = `Left: ${formatAmount(budget.remaining)} of ${formatAmount(budget.cap)}`
  if ('inference' in document && document.inference !== undefined && sizeOf(priceOf(document)) === 0)
    return `Free: it follows from answers that were paid before. ${left}.`
  if ('dummy' in document) return `Free. On the data it would cost ${formatAmount(document.cost)}.`
  if (replayed) return `Free: this question was paid before${priceText(document)}. ${left}.`
  return `Cost ${formatAmount(document.cost)}. ${left}.`
}

function priceOf({ price, cost }: { readonly price?: Amount; readonly cost: Amount }): Amount {
  return price ?? cost
}

function priceText({ price }: { readonly price?: Amount }): string {
  return price === undefined ? '' : `, with ${formatAmount(price)}`
}

function partTitle(document: Extract<AnswerDocument, { answers: unknown }>, place: number): string {
  const question = document.question?.queries[place] as AskedQuestion | undefined
  return question === undefined ? `Question ${place + 1}` : questionText(question)
}

interface ProcessingChoiceProps {
  /** Post-processing that the answer allows. */
  readonly offered: Processing
  readonly processing: Processing
  readonly onChange: (processing: Processing) => void
}

/** Choice of post-processing, which is free. Nothing is shown for an answer that allows none. */
function ProcessingChoice({ offered, processing, onChange }: ProcessingChoiceProps) {
  if (!offered.round) return null
  return (
    <div className={styles.processing}>
      <Checkbox
        label="Round to whole numbers"
        value={processing.round}
        onChange={(round) => onChange({ ...processing, round })}
      />
      {offered.nonNegative && (
        <Checkbox
          label="Replace negative values by 0"
          value={processing.nonNegative}
          onChange={(nonNegative) => onChange({ ...processing, nonNegative })}
        />
      )}
      <span className={styles.free}>Free: it uses the paid answer only.</span>
    </div>
  )
}

import { useSearchParams } from 'wouter'
import { Loading } from '../../components/loading.tsx'
import { Notice } from '../../components/notice.tsx'
import { Page } from '../../components/page.tsx'
import { ProblemNotice } from '../../components/problem-notice.tsx'
import { AnswerSide, useRelease } from './answer-side.tsx'
import { ChooseAnswers, ChooseSecond } from './choose-answers.tsx'
import { asksTheSame } from './comparison.ts'
import { Differences, type Documents } from './differences.tsx'
import styles from './history.module.css'

/** Page that compares two stored answers, whose ids are in the address. */
export default function ComparePage() {
  const [search] = useSearchParams()
  const one = search.get('one') ?? ''
  const other = search.get('other') ?? ''
  return (
    <Page
      title="Compare two answers"
      path={[{ title: 'History', href: '/history' }]}
      lead="How much two answers differ, and whether the noise alone can explain it. This is free."
    >
      {one !== '' && other !== '' && <Pair one={one} other={other} />}
      {one !== '' && other === '' && <ChooseSecond one={one} />}
      {one === '' && <ChooseAnswers />}
    </Page>
  )
}

function Pair(ids: { readonly one: string; readonly other: string }) {
  const one = useRelease(ids.one)
  const other = useRelease(ids.other)
  for (const { error, refetch } of [one, other])
    if (error !== null) return <ProblemNotice error={error} onRetry={refetch} />
  if (one.data === undefined || other.data === undefined) return <Loading what="the answers" />
  return (
    <>
      <div className={styles.pair}>
        <AnswerSide title="First" document={one.data} />
        <AnswerSide title="Second" document={other.data} />
      </div>
      <Caveats one={one.data} other={other.data} />
      <Differences one={one.data} other={other.data} />
    </>
  )
}

/** Says what else may explain a difference. */
function Caveats({ one, other }: Documents) {
  const texts: string[] = []
  if (one.id === other.id) texts.push('Both are the same answer. Repeating it reveals nothing more.')
  else if (one.dataset !== other.dataset) texts.push('The answers are about different datasets.')
  else if (one.datasetVersion !== other.datasetVersion)
    texts.push('The answers are about different versions of the dataset, so the rows may differ as well.')
  if (!asksTheSame(one, other)) texts.push('The questions differ.')
  if (texts.length === 0) return null
  return <Notice>{texts.join(' ')}</Notice>
}

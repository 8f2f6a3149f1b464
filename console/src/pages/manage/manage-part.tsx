import type { DatasetPart } from '../datasets/dataset.ts'
import { BudgetSection } from './budget-section.tsx'
import { DatasetSection } from './dataset-section.tsx'
import { SuspensionSection } from './suspension-section.tsx'
import { VersionsSection } from './versions-section.tsx'

/** Part of a dataset's page for custodians: suspension, budget and allotments, versions, texts, withdrawal. */
export default function ManagePart({ dataset }: DatasetPart) {
  return (
    <>
      <SuspensionSection dataset={dataset} />
      <BudgetSection dataset={dataset} />
      <VersionsSection dataset={dataset} />
      <DatasetSection dataset={dataset} />
    </>
  )
}

import type { ExportFindings } from '../../../../src/ledger/protocol/verifier/export.ts'
import type { NotedFinding } from '../../../../src/ledger/protocol/verifier/noted-events.ts'
import type { RequestCounts } from '../../../../src/ledger/protocol/verifier/requests.ts'
import { type SoundVerification, statedBalances } from '../../../../src/ledger/protocol/verifier/verifier.ts'
import type { Schemas } from '../../api/schemas.ts'
import { formatCount } from '../../format/number.ts'
import { formatTime } from '../../format/time.ts'
import { ADMINISTRATION } from './event-text.ts'
import type { KeptHead } from './kept-heads.ts'
import type { SignatureCheck } from './web-crypto.ts'

/** One finding of a verification. `unknown`: it says neither that the ledger is sound nor that it is not. */
export interface Check {
  readonly state: 'good' | 'bad' | 'unknown'
  readonly title: string
  readonly text: string
}

/** Findings of the service's own verification of the chain. Acts have no balances. */
export type StatedVerification = Schemas['Verification'] | Schemas['AdministrationVerification']

/** Findings of this page, and the statements that they are compared with. */
export interface Findings {
  /** Verification of an export with one chain. Noted are the head that the service stated before it, and then `kept`. */
  readonly own: ExportFindings
  /** Absent if the service signs no heads. */
  readonly signature?: SignatureCheck | undefined
  /** Head that this browser noted earlier. */
  readonly kept?: KeptHead | undefined
  /** Made after the export was sent. */
  readonly stated: StatedVerification
}

/** True if nothing speaks against the ledger. */
export function isSound(checks: readonly Check[]): boolean {
  return checks.every(({ state }) => state !== 'bad')
}

/** Returns the chain of an export, or the first line that does not fit, counted from 1. */
export function chainOf({ datasets: [chain], badLine }: ExportFindings): SoundChain | Fault {
  if (chain?.verification.kind === 'sound' && badLine === undefined)
    return { dataset: chain.dataset, verification: chain.verification, requests: chain.requests }
  const broken = chain?.verification.kind === 'broken' ? chain.verification : undefined
  return badLine !== undefined && badLine.line <= (broken?.sequence ?? badLine.line)
    ? badLine
    : { line: broken?.sequence ?? 1, reason: broken?.reason ?? 'the export is empty' }
}

interface SoundChain {
  readonly dataset: string
  readonly verification: SoundVerification
  readonly requests: RequestCounts
}

interface Fault {
  readonly line: number
  readonly reason: string
}

/** Returns the findings of a verification, the most important first. */
export function checksOf({ own, signature, kept, stated }: Findings): readonly Check[] {
  const chain = chainOf(own)
  if ('line' in chain)
    return [
      {
        state: 'bad',
        title: `Line ${chain.line} does not fit`,
        text: `${sentence(chain.reason)} The lines before it fit.`,
      },
      statedCheck(undefined, stated),
      signatureCheck(signature),
    ]
  const { verification, requests } = chain
  const [head, earlier] = own.noted
  return [
    {
      state: 'good',
      title: `${formatCount(verification.events, 'event')} verified in this browser`,
      text: `Every hash was recomputed, each event names the hash of the one before it, and each was possible at its place${
        chain.dataset === ADMINISTRATION
          ? ''
          : ': no charge exceeds the cap or an allotment, and every answer has its charge'
      }.`,
    },
    ...requestCheck(requests),
    headCheck(head),
    keptCheck(verification, kept, earlier),
    statedCheck(verification, stated),
    signatureCheck(signature),
  ]
}

/** Writes a reason as a sentence. */
export function sentence(reason: string): string {
  return `${reason.charAt(0).toUpperCase()}${reason.slice(1)}.`
}

function requestCheck({ referredTo, verified }: RequestCounts): readonly Check[] {
  if (referredTo === 0) return []
  const title = `${verified} of ${formatCount(referredTo, 'request')} compared`
  return verified === 0
    ? [{ state: 'unknown', title, text: 'The export contains no requests.' }]
    : [{ state: 'good', title, text: 'The text of each request has the hash that its event contains.' }]
}

function headCheck(found: NotedFinding | undefined): Check {
  return found?.reason === undefined
    ? {
        state: 'good',
        title: 'The export is complete',
        text: `It contains event ${found?.noted.sequence}, which the service stated as its newest before the export.`,
      }
    : {
        state: 'bad',
        title: 'The export is not that of the service',
        text: `${sentence(found.reason)} The service stated it as its newest before the export, with the hash ${found.noted.hash}.`,
      }
}

function keptCheck(
  { events }: SoundVerification,
  kept: KeptHead | undefined,
  found: NotedFinding | undefined,
): Check {
  if (kept === undefined)
    return {
      state: 'unknown',
      title: 'No earlier head to compare with',
      text: 'This browser notes the newest event now. The next verification finds out if the ledger still contains it.',
    }
  const since = `noted in this browser at ${formatTime(kept.at)} UTC`
  return found?.reason === undefined
    ? {
        state: 'good',
        title: 'Nothing was removed or rewritten since the last verification',
        text: `Event ${kept.sequence}, ${since}, is still there. ${formatCount(events - kept.sequence, 'event')} came after it.`,
      }
    : {
        state: 'bad',
        title: 'Events were removed or rewritten since the last verification',
        text: `${sentence(found.reason)} It was ${since} with the hash ${kept.hash}.`,
      }
}

function statedCheck(own: SoundVerification | undefined, stated: StatedVerification): Check {
  if (!stated.sound)
    return {
      state: 'bad',
      title: 'The service found a fault itself',
      text: `Event ${stated.sequence}: ${stated.reason}.`,
    }
  const claim = `The service verified ${formatCount(stated.events, 'event')} itself`
  if (own === undefined)
    return {
      state: 'bad',
      title: 'The service finds its ledger sound',
      text: `${claim}. The export differs.`,
    }
  const later = stated.events - own.events
  if (later > 0)
    return {
      state: 'unknown',
      title: `The service went on: ${formatCount(later, 'later event')}`,
      text: `${claim}. Verify again to compare the results.`,
    }
  return later === 0 && stated.headHash === own.headHash && hasBalances(own, stated)
    ? {
        state: 'good',
        title: 'The service comes to the same result',
        text:
          'cap' in stated
            ? `${claim}, ends with the same hash, and has the same balances.`
            : `${claim}, and ends with the same hash.`,
      }
    : {
        state: 'bad',
        title: 'The service comes to another result',
        text: `${claim}, and ends with the hash ${stated.headHash}. Hash or balances differ from those found here.`,
      }
}

/** True if the balances are those that are stated. Acts state none. */
function hasBalances(own: SoundVerification, stated: StatedVerification): boolean {
  if (!('cap' in stated)) return true
  const { cap, spent } = stated
  const analysts = stated.analysts.map((each) => ({ analyst: each.analyst, spent: each.spent }))
  return JSON.stringify(statedBalances(own)) === JSON.stringify({ cap, spent, analysts })
}

/** Findings about the signature of the newest event. */
const SIGNATURE_CHECKS: Readonly<Record<SignatureCheck, Check>> = {
  valid: {
    state: 'good',
    title: 'The signature of the newest event is valid',
    text: 'It was made with the public key below. Compare the key with one that you got over another channel.',
  },
  invalid: {
    state: 'bad',
    title: 'The signature of the newest event is invalid',
    text: 'It was not made with the public key below, or the head was changed.',
  },
  'no key': {
    state: 'bad',
    title: 'The signature cannot be checked',
    text: 'The public key is not the PEM of an Ed25519 key.',
  },
  unsupported: {
    state: 'unknown',
    title: 'This browser cannot check signatures',
    text: 'It has no Ed25519. Check the head with `npx sotto ledger verify`.',
  },
}

function signatureCheck(signature: SignatureCheck | undefined): Check {
  if (signature !== undefined) return SIGNATURE_CHECKS[signature]
  return {
    state: 'unknown',
    title: 'The service signs no heads',
    text: 'Note the newest event where the custodian cannot change it.',
  }
}

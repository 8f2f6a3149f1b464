import type { Amount } from 'sotto-client'
import { formatCount } from '../../format/number.ts'
import { formatTime } from '../../format/time.ts'
import { ADMINISTRATION, type Chain, type ExportVerification } from './chain.ts'
import type { KeptHead } from './kept-heads.ts'
import type { SignatureCheck } from './signature.ts'
import { amountOf, type Units } from './units.ts'

/** One finding of a verification. `unknown`: it says neither that the ledger is sound nor that it is not. */
export interface Check {
  readonly state: 'good' | 'bad' | 'unknown'
  readonly title: string
  readonly text: string
}

/** What the service found when it verified the chain itself. Acts have no balances. */
export type StatedVerification =
  | {
      readonly sound: true
      readonly events: number
      readonly headHash: string
      readonly spent?: Amount
      readonly cap?: Amount
      readonly analysts?: readonly { readonly analyst: string; readonly spent: Amount }[]
    }
  | { readonly sound: false; readonly sequence: number; readonly reason: string }

/** What was found here, and what it is compared with. */
export interface Findings {
  readonly own: ExportVerification
  /** Head that the service stated before it sent the export. */
  readonly head: { readonly sequence: number; readonly hash: string }
  /** Absent if the service signs no heads. */
  readonly signature?: SignatureCheck
  /** Head that this browser noted earlier. */
  readonly kept?: KeptHead
  /** Made after the export was sent. */
  readonly stated: StatedVerification
}

/** True if nothing speaks against the ledger. */
export function isSound(checks: readonly Check[]): boolean {
  return checks.every(({ state }) => state !== 'bad')
}

/** Returns the findings of a verification, the most important first. */
export function checksOf({ own, head, signature, kept, stated }: Findings): readonly Check[] {
  if (own.kind === 'broken')
    return [
      {
        state: 'bad',
        title: `Line ${own.line} does not fit`,
        text: `${own.reason[0]?.toUpperCase()}${own.reason.slice(1)}. The lines before it fit.`,
      },
      statedCheck(undefined, stated),
      signatureCheck(signature),
    ]
  const { chain } = own
  return [
    {
      state: 'good',
      title: `${formatCount(chain.events.length, 'event')} verified in this browser`,
      text:
        chain.dataset === ADMINISTRATION
          ? 'Every hash was recomputed, and each event names the hash of the one before it.'
          : 'Every hash was recomputed, each event names the hash of the one before it, no charge exceeds the cap, and every answer has its charge.',
    },
    ...requestCheck(chain),
    headCheck(chain, head),
    keptCheck(chain, kept),
    statedCheck(chain, stated),
    signatureCheck(signature),
  ]
}

function requestCheck({ requests: { referredTo, verified } }: Chain): readonly Check[] {
  if (referredTo === 0) return []
  const title = `${verified} of ${formatCount(referredTo, 'request')} compared`
  return verified === 0
    ? [{ state: 'unknown', title, text: 'The export contains no requests, as those of earlier versions.' }]
    : [{ state: 'good', title, text: 'The text of each request has the hash that its event contains.' }]
}

function headCheck(chain: Chain, { sequence, hash }: Findings['head']): Check {
  return chain.events[sequence - 1]?.hash === hash
    ? {
        state: 'good',
        title: 'The export is complete',
        text: `It contains event ${sequence}, which the service stated as its newest before the export.`,
      }
    : {
        state: 'bad',
        title: 'The export is not that of the service',
        text: `It lacks event ${sequence} with the hash that the service stated: ${hash}.`,
      }
}

function keptCheck(chain: Chain, kept: KeptHead | undefined): Check {
  if (kept === undefined)
    return {
      state: 'unknown',
      title: 'No earlier head to compare with',
      text: 'This browser notes the newest event now. The next verification finds out if the ledger still contains it.',
    }
  const since = `noted in this browser at ${formatTime(kept.at)} UTC`
  const event = chain.events[kept.sequence - 1]
  if (event?.hash === kept.hash)
    return {
      state: 'good',
      title: 'Nothing was removed or rewritten since the last verification',
      text: `Event ${kept.sequence}, ${since}, is still there. ${formatCount(chain.events.length - kept.sequence, 'event')} came after it.`,
    }
  return {
    state: 'bad',
    title: event === undefined ? 'Events were removed' : 'The ledger was rewritten',
    text:
      event === undefined
        ? `Event ${kept.sequence}, ${since}, is missing.`
        : `Event ${kept.sequence} had another hash, ${since}: ${kept.hash}.`,
  }
}

function statedCheck(chain: Chain | undefined, stated: StatedVerification): Check {
  if (!stated.sound)
    return {
      state: 'bad',
      title: 'The service found a fault itself',
      text: `Event ${stated.sequence}: ${stated.reason}.`,
    }
  const claim = `The service verified ${formatCount(stated.events, 'event')} itself`
  if (chain === undefined)
    return {
      state: 'bad',
      title: 'The service finds its ledger sound',
      text: `${claim}. The export differs.`,
    }
  const later = stated.events - chain.events.length
  if (later > 0)
    return {
      state: 'unknown',
      title: `The service went on: ${formatCount(later, 'later event')}`,
      text: `${claim}. Verify again to compare the results.`,
    }
  const same =
    later === 0 &&
    stated.headHash === chain.headHash &&
    isSameAmount(chain.spent, stated.spent) &&
    isSameAmount(chain.cap, stated.cap) &&
    (stated.analysts ?? []).every(({ analyst, spent }) =>
      isSameAmount(chain.analysts.get(analyst) ?? {}, spent),
    )
  return same
    ? {
        state: 'good',
        title: 'The service comes to the same result',
        text:
          stated.spent === undefined
            ? `${claim}, and ends with the same hash.`
            : `${claim}, ends with the same hash, and has the same balances.`,
      }
    : {
        state: 'bad',
        title: 'The service comes to another result',
        text: `${claim}, and ends with the hash ${stated.headHash}. Hash or balances differ from those found here.`,
      }
}

/** True if an exact amount is the one that is stated. Acts state none. */
function isSameAmount(units: Units, stated: Amount | undefined): boolean {
  if (stated === undefined) return true
  const none: Units = 'rho' in stated ? { rhoPico: 0n } : { epsilonNano: 0n, deltaAtto: 0n }
  return JSON.stringify(amountOf({ ...none, ...units })) === JSON.stringify(stated)
}

function signatureCheck(signature: SignatureCheck | undefined): Check {
  switch (signature) {
    case undefined:
      return {
        state: 'unknown',
        title: 'The service signs no heads',
        text: 'Note the newest event where the custodian cannot change it.',
      }
    case 'valid':
      return {
        state: 'good',
        title: 'The signature of the newest event is valid',
        text: 'It was made with the public key below. Compare the key with one that you got over another channel.',
      }
    case 'invalid':
      return {
        state: 'bad',
        title: 'The signature of the newest event is invalid',
        text: 'It was not made with the public key below, or the head was changed.',
      }
    case 'no key':
      return {
        state: 'bad',
        title: 'The signature cannot be checked',
        text: 'The public key is not the PEM of an Ed25519 key.',
      }
    case 'unsupported':
      return {
        state: 'unknown',
        title: 'This browser cannot check signatures',
        text: 'It has no Ed25519. Check the head with `npx sotto ledger verify`.',
      }
  }
}

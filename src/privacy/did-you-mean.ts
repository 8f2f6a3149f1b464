import { must } from './must.ts'

/** Longest text that is compared: the cost grows with the product of both lengths. */
const MOST_LENGTH = 64
/** Most known texts that are compared. */
const MOST_KNOWN = 1_000

/**
 * Returns ` (did you mean "..."?)` with the known text that is nearest to a wrong one, or an empty text if none is near.
 * Give it only texts that the caller may see.
 */
export function didYouMean(wrong: string, known: readonly string[]): string {
  if (wrong.length > MOST_LENGTH) return ''
  const text = wrong.toLowerCase()
  let nearest: string | undefined
  let least = Math.ceil(Math.min(wrong.length, 9) / 3) + 1
  for (const each of known.slice(0, MOST_KNOWN)) {
    if (Math.abs(each.length - text.length) >= least) continue
    const distance = editDistance(text, each.toLowerCase())
    if (distance < least) {
      least = distance
      nearest = each
    }
  }
  return nearest === undefined ? '' : ` (did you mean "${nearest}"?)`
}

/** Number of characters to insert, delete or replace to make one text of another (Levenshtein). */
function editDistance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (let i = 1; i <= one.length; i += 1) {
    let left = i
    const next = [left]
    for (let j = 1; j <= other.length; j += 1) {
      const replaced = must(row[j - 1], 'a distance') + (one[i - 1] === other[j - 1] ? 0 : 1)
      left = Math.min(must(row[j], 'a distance') + 1, left + 1, replaced)
      next.push(left)
    }
    row = next
  }
  return must(row[other.length], 'a distance')
}

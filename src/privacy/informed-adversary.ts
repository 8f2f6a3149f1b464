import { deltaNumber, epsilonNumber, type PrivacyLoss } from './loss.ts'

/**
 * Upper bound on the probability that an informed adversary guesses right, who knows every person with all rows except
 * one person, and considers `candidates` people equally likely to be that one.
 *
 * For a pure loss it is the upper bound of Lee and Clifton 2011, section 5.1, with the loss between the candidates
 * for epsilon times the quotient of the sensitivities. It bounds the posterior after every single answer. With a
 * delta it bounds the probability that the best guess is right: let s_w be the probability that world w is guessed if
 * it is the true one; s_w <= e^epsilon P[w guessed in world v] + delta for each other world v, and the guesses in a
 * world add up to at most 1. Averaged over v and summed over w: S <= e^epsilon (n - S) / (n - 1) + n delta for the
 * sum S of all s_w, so S / n <= (e^epsilon + (n - 1) delta) / (e^epsilon + n - 1).
 *
 * @param loss between datasets that differ by that one person replaced
 * @param candidates integer, at least 1
 */
export function informedAdversaryRisk(loss: PrivacyLoss, candidates: number): number {
  const others = candidates - 1
  const unlikelier = Math.exp(-epsilonNumber(loss.epsilonNano))
  return Math.min(1, (1 + others * deltaNumber(loss.deltaAtto) * unlikelier) / (1 + others * unlikelier))
}

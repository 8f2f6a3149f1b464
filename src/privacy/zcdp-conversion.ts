import {
  type DeltaAtto,
  type EpsilonNano,
  epsilonNano,
  ONE_DELTA_ATTO,
  ONE_EPSILON_NANO,
  ONE_RHO_PICO,
  type PrivacyLoss,
  type RhoPico,
  rhoPico,
} from './loss.ts'
import { divideRoundingUp } from './rational.ts'

/*
 * Conversion between rho of zero-concentrated differential privacy and (epsilon, delta). Source: Canonne, Kamath,
 * Steinke 2020, "The Discrete Gaussian for Differential Privacy" (arXiv 2004.00010), proposition 12 and corollary 13:
 * a rho-zCDP mechanism is (epsilon, delta)-differentially private if for some order alpha = 1 + a above 1
 *
 *   a (1 + a) rho + ln(1 / delta) <= a epsilon + ln(1 + a) + a ln(1 + 1 / a)
 *
 * Any order is a proof, so floating-point arithmetic may search for the best order: its errors affect how tight a
 * figure is, not whether it holds. At that order the inequality is evaluated in integers, each side rounded in the
 * safe direction. Proof: src/privacy/zcdp-conversion.md.
 */

/** Largest rho that a grant buys. The ledger's amounts of it still fit into a 64-bit integer. */
const LARGEST_RHO_PICO = rhoPico(1_000_000n * ONE_RHO_PICO)

/** Both sides of the inequality are integer numbers of 2^-192. */
const FRACTION_BITS = 192n

/** Orders lie between 1 + 2^-64 and 1 + 2^64, so that a is an integer number of 2^-128 for every double. */
const EXCESS_BITS = 128n
const LEAST_EXCESS = 2 ** -64
const LARGEST_EXCESS = 2 ** 64

/** An order at which the inequality is evaluated. */
interface Order {
  /** Distance of the order from 1, in units of 2^-128. */
  readonly excess: bigint
  /** ln(1 + a) + a ln(1 + 1 / a), rounded down. */
  readonly gain: bigint
}

/**
 * Rho that a granted (epsilon, delta) buys: every rho-zCDP mechanism has this guarantee. It is the largest value that
 * the conversion allows, rounded down to 1e-12; 0 for a delta of 0, which no rho above 0 guarantees; at most 1e6.
 */
export function rhoBoughtBy({ epsilonNano, deltaAtto }: PrivacyLoss): RhoPico {
  if (deltaAtto === 0n) return rhoPico(0n)
  if (deltaAtto === ONE_DELTA_ATTO) return LARGEST_RHO_PICO
  const [epsilon, surprise] = [Number(epsilonNano) / 1e9, surpriseOf(deltaAtto)]
  const target = fromFraction(surprise)
  // The derivative, with respect to a, of the rho that the inequality allows is 0 at exactly one place.
  const order = orderFrom(
    (a) => (a * a * (epsilon + Math.log1p(1 / a))) / (1 + 2 * a) + Math.log1p(a) >= target,
  )
  const { excess, gain } = order
  const left = allowedBy(order, epsilonNano) + gain - surprise
  const most = (left * ONE_RHO_PICO) << (2n * EXCESS_BITS - FRACTION_BITS)
  const bought = most / (excess * ((1n << EXCESS_BITS) + excess))
  const rho = bought > LARGEST_RHO_PICO ? LARGEST_RHO_PICO : rhoPico(bought)
  if (spentBy(order, rho) + surprise > allowedBy(order, epsilonNano) + gain)
    throw new RangeError('the rho that a grant buys must keep the guarantee')
  return rho
}

/**
 * Epsilon of a rho-zCDP mechanism at this delta: the smallest value that the conversion gives, rounded up to 1e-9.
 * @throws RangeError for a delta of 0, unless rho is 0 too.
 */
export function epsilonOfRho(rho: RhoPico, deltaAtto: DeltaAtto): EpsilonNano {
  if (rho === 0n || deltaAtto === ONE_DELTA_ATTO) return epsilonNano(0n)
  if (deltaAtto === 0n) throw new RangeError('a rho above 0 has an epsilon only at a delta above 0')
  const surprise = surpriseOf(deltaAtto)
  const [rhoNumber, target] = [Number(rho) / 1e12, fromFraction(surprise)]
  const order = orderFrom((a) => a * a * rhoNumber + Math.log1p(a) >= target)
  const needed = spentBy(order, rho) + surprise - order.gain
  const unit = order.excess << (FRACTION_BITS - EXCESS_BITS)
  return epsilonNano(needed <= 0n ? 0n : divideRoundingUp(needed * ONE_EPSILON_NANO, unit))
}

/** a (1 + a) rho, rounded up. */
function spentBy({ excess }: Order, rho: RhoPico): bigint {
  const product = excess * ((1n << EXCESS_BITS) + excess) * rho
  return divideRoundingUp(product, ONE_RHO_PICO << (2n * EXCESS_BITS - FRACTION_BITS))
}

/** a epsilon, rounded down. */
function allowedBy({ excess }: Order, epsilonNano: EpsilonNano): bigint {
  return ((excess * epsilonNano) << (FRACTION_BITS - EXCESS_BITS)) / ONE_EPSILON_NANO
}

/** ln(1 / delta), rounded up, for a delta above 0. */
function surpriseOf(delta: DeltaAtto): bigint {
  return logarithm(ONE_DELTA_ATTO, delta) + LOGARITHM_ERROR
}

/** Smallest order at which a monotone condition holds, to within a rounding of its excess. */
function orderFrom(isFarEnough: (excess: number) => boolean): Order {
  let [below, enough] = [LEAST_EXCESS, LARGEST_EXCESS]
  for (;;) {
    const middle = Math.sqrt(below * enough)
    if (middle <= below || middle >= enough) break
    if (isFarEnough(middle)) enough = middle
    else below = middle
  }
  const [one, excess] = [1n << EXCESS_BITS, BigInt(enough * 2 ** Number(EXCESS_BITS))]
  const gain = logarithm(one + excess, one) + ((excess * logarithm(one + excess, excess)) >> EXCESS_BITS)
  return { excess, gain }
}

/**
 * Bound on the error by which {@link logarithm} is too low: fewer than 65 values of {@link twiceArtanh}, each less
 * than 140 too low.
 */
const LOGARITHM_ERROR = 1n << 14n

/** ln(numerator / denominator) of a fraction from 1 to 2^65, rounded down: never too high. */
function logarithm(numerator: bigint, denominator: bigint): bigint {
  let doublings = BigInt(numerator.toString(2).length - denominator.toString(2).length)
  if (numerator < denominator << doublings) doublings -= 1n
  const power = denominator << doublings
  return doublings * LOGARITHM_OF_TWO + twiceArtanh(numerator - power, numerator + power)
}

/**
 * 2 artanh(numerator / denominator), which is ln((1 + z) / (1 - z)), for a fraction z from 0 to 1/3; never too high.
 */
function twiceArtanh(numerator: bigint, denominator: bigint): bigint {
  const ratio = (numerator << FRACTION_BITS) / denominator
  const square = (ratio * ratio) >> FRACTION_BITS
  let sum = 0n
  let power = ratio
  for (let odd = 1n; power > 0n; odd += 2n) {
    sum += power / odd
    power = (power * square) >> FRACTION_BITS
  }
  return 2n * sum
}

const LOGARITHM_OF_TWO = twiceArtanh(1n, 3n)

function fromFraction(value: bigint): number {
  return Number(value) * 2 ** -Number(FRACTION_BITS)
}

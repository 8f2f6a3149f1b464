import type { PrivacyLoss, RhoPico } from '../../privacy/loss.ts'
import type { UniformSource } from './samplers/uniform-source.ts'

/**
 * Contract that every mechanism fulfils. Each file states its valid inputs and outputs in a table, and its proof is the
 * page of the same name beside it. Every function is pure except `release`, which draws from its source.
 *
 * `Measurement` is the mechanism bound to its parameters and a loss: it holds everything that is needed to release, to
 * price and to state the accuracy, and nothing about the data. `Sensitivity` is how far one privacy unit moves the input.
 */
export interface Mechanism<
  Parameters,
  Measurement extends { readonly loss: PrivacyLoss },
  Sensitivity,
  Input,
  Output,
> {
  /**
   * Binds the mechanism to parameters, which include the sensitivity, and to a loss. The privacy map confirms that a
   * release costs no more than this loss.
   * @throws Refusal or RangeError for parameters or a loss outside the table of valid inputs.
   */
  readonly calibrate: (parameters: Parameters, loss: PrivacyLoss) => Measurement
  /** Loss of one release of an input with this sensitivity, rounded up. */
  readonly privacyMap: (measurement: Measurement, sensitivity: Sensitivity) => PrivacyLoss
  /** Rho of the same release, rounded up; `undefined` for a mechanism without a price in rho. */
  readonly zeroConcentratedMap: ((measurement: Measurement, sensitivity: Sensitivity) => RhoPico) | undefined
  /**
   * Draws one release, exactly from the stated distribution.
   * @throws RangeError for an invalid input, with a message that does not describe it; and any error of the source. A
   * failure of randomness is fatal, and nothing is released.
   */
  readonly release: (measurement: Measurement, input: Input, source: UniformSource) => Output
  /**
   * Error bounds that hold with this confidence, computed without data.
   * @throws RangeError for a confidence outside (0, 1).
   */
  readonly accuracy: (measurement: Measurement, confidence: number) => { readonly confidence: number }
}

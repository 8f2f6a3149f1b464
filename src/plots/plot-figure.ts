import { answerDistributionFigure } from './answer-distribution.ts'
import type { Figure } from './figure.ts'
import { listFigure } from './list.ts'
import { noiseComparisonFigure } from './noise-comparison.ts'
import { noisyTableFigure } from './noisy-table.ts'
import type { Plot } from './plot.ts'
import { riskFigure } from './risk.ts'
import type { Palette } from './theme.ts'

/**
 * Figure of a plot, with positions and colours.
 *
 * @throws RangeError for a plot that cannot be drawn: too many or too few figures, or figures that are not finite.
 */
export function figureOf(plot: Plot, palette: Palette): Figure {
  switch (plot.plot) {
    case 'risk':
      return riskFigure(plot, palette)
    case 'noise-comparison':
      return noiseComparisonFigure(plot, palette)
    case 'answer-distribution':
      return answerDistributionFigure(plot, palette)
    case 'noisy-table':
      return noisyTableFigure(plot, palette)
    case 'list':
      return listFigure(plot, palette)
  }
}

import type { Frame } from './statement.ts'

/* The flags of PostgreSQL's parser for the frame of a window. The others are EXCLUDE, and RANGE and GROUPS with distances. */

const STATED = 0x1
const UNITS = { range: 0x2, rows: 0x4 } as const
const BETWEEN = 0x10

/** An end of a frame: the sign of its distance from the current row, or nothing for an end of the partition. */
interface End {
  readonly flag: number
  readonly sign?: -1 | 0 | 1
}

const STARTS: readonly End[] = [
  { flag: 0x20 },
  { flag: 0x200, sign: 0 },
  { flag: 0x800, sign: -1 },
  { flag: 0x2000, sign: 1 },
]
const ENDS: readonly End[] = [
  { flag: 0x100 },
  { flag: 0x400, sign: 0 },
  { flag: 0x1000, sign: -1 },
  { flag: 0x4000, sign: 1 },
]

interface FrameShape {
  readonly unit: Frame['unit']
  readonly start: End
  readonly end: End
}

/** The frames that are supported, by their flags. */
export const FRAMES: ReadonlyMap<number, FrameShape> = new Map(
  (['range', 'rows'] as const).flatMap((unit) =>
    STARTS.flatMap((start) =>
      ENDS.flatMap((end) => {
        const isFar = (each: End) => each.sign === -1 || each.sign === 1
        if (unit === 'range' && (isFar(start) || isFar(end))) return []
        const flags = UNITS[unit] | start.flag | end.flag
        return [flags, flags | STATED, flags | STATED | BETWEEN].map(
          (each) => [each, { unit, start, end }] as const,
        )
      }),
    ),
  ),
)

import { type KeyboardEvent, type PointerEvent, useEffect, useId, useRef, useState } from 'react'
import { formatEstimate } from '../../format/number.ts'
import styles from './curve.module.css'
import {
  type CurveBand,
  type CurveLine,
  type CurveLook,
  heightAt,
  labelledTicks,
  positionOf,
  type Scale,
  shortValueAt,
  type Tick,
  valueAfterKey,
} from './scale.ts'

export interface CurveAxis {
  readonly title: string
  readonly scale: Scale
  /** Formats the ticks and the chosen value. */
  readonly format?: (value: number) => string
  /** Returns about as many ticks, with their texts; without it, they are round numbers. */
  readonly ticks?: (count: number) => readonly Tick[]
  /** True leaves the axis out, for that at the left. */
  readonly hidden?: boolean
  /** Receives the value that the person chooses by dragging, clicking or keyboard. */
  readonly onChoose?: ((value: number) => void) | undefined
  /** Distance between the values that can be chosen, if only some can: 1 for whole numbers. */
  readonly step?: number
}

/** Straight line across the chart at a value of an axis. */
export interface CurveMark {
  readonly axis: 'x' | 'y'
  readonly value: number
  readonly label: string
  readonly look?: CurveLook
}

export interface CurveProps {
  /** Subject of the chart and its most important fact, for screen readers. */
  readonly label: string
  readonly x: CurveAxis
  readonly y: CurveAxis
  readonly lines: readonly CurveLine[]
  readonly bands?: readonly CurveBand[]
  readonly marks?: readonly CurveMark[]
  /**
   * Point that is chosen. Without `y` it lies on the first line. It can be moved along the x axis if that has `onChoose`;
   * a handle at the y axis appears if that has `onChoose`.
   */
  readonly chosen?: { readonly x: number; readonly y?: number | undefined } | undefined
  /** Height in pixels. */
  readonly height?: number
}

/** Axes with their formats, the area inside them in pixels, and the positions of values. */
type Drawing = ReturnType<typeof drawingOf>

/** Line chart with axes, bands, and a chosen point that can be dragged and moved by keyboard. */
export function Curve({ label, x, y, lines, bands = [], marks = [], chosen, height = 280 }: CurveProps) {
  const [ref, width] = useWidth()
  const clip = useId()
  const drawing = drawingOf(x, y, width, height)
  const { area, across, up } = drawing
  const chosenY = chosen === undefined ? undefined : (chosen.y ?? heightAt(lines[0]?.points ?? [], chosen.x))
  return (
    <figure className={styles.curve} ref={ref}>
      <svg
        viewBox={`0 0 ${width} ${height}`}
        // A chosen point may have handles.
        role={chosen === undefined ? 'img' : 'group'}
        aria-label={label}
        className={styles.drawing}
      >
        {/* biome-ignore lint/a11y/noAriaHiddenOnFocusable: a group of shapes is not focusable */}
        <g aria-hidden="true">
          <clipPath id={clip}>
            <rect x={area.left} y={area.top} width={area.width} height={area.height} />
          </clipPath>
          <Axes {...drawing} />
          <g clipPath={`url(#${clip})`}>
            {bands.map((band) => (
              <path
                key={band.name}
                className={`${styles.band} ${lookOf(band.look)}`}
                d={bandPath(band, drawing)}
              />
            ))}
            {lines.map((line) => (
              <path
                key={line.name}
                className={`${styles.line} ${lookOf(line.look)}`}
                data-dashed={line.dashed}
                d={pathOf(line.points.map((point) => [across(point.x), up(point.y)]))}
              />
            ))}
          </g>
          {marks.map((mark) => (
            <Mark key={`${mark.axis} ${mark.value} ${mark.label}`} mark={mark} drawing={drawing} />
          ))}
        </g>
        {chosen !== undefined && <Chosen drawing={drawing} x={chosen.x} y={chosenY} />}
      </svg>
      <Legend lines={lines} bands={bands} />
    </figure>
  )
}

function lookOf(look: CurveLook = 'accent'): string {
  return styles[look] ?? ''
}

/** Returns a reference for an element, and its width in pixels. */
function useWidth() {
  const ref = useRef<HTMLElement>(null)
  const [width, setWidth] = useState(600)
  useEffect(() => {
    const element = ref.current
    if (element === null) return
    const observer = new ResizeObserver(([entry]) => {
      const measured = Math.round(entry?.contentRect.width ?? 0)
      if (measured > 0) setWidth(measured)
    })
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  return [ref, width] as const
}

function drawingOf(x: CurveAxis, y: CurveAxis, width: number, height: number) {
  const axes = { x: { format: formatEstimate, ...x }, y: { format: formatEstimate, ...y } }
  const yTicks = labelledTicks(axes.y, 5)
  const widest = Math.max(...yTicks.map(([, text]) => text.length))
  const [left, top] = y.hidden === true ? [10, 10] : [16 + 7 * widest, 26]
  const [right, bottom] = [Math.max(left + 40, width - 16), height - 42]
  const area = { left, top, right, bottom, width: right - left, height: bottom - top }
  return {
    ...axes,
    area,
    xTicks: labelledTicks(axes.x, Math.max(2, Math.floor(area.width / 70))),
    yTicks,
    across: (value: number) => left + area.width * positionOf(x.scale, value),
    up: (value: number) => top + area.height * (1 - positionOf(y.scale, value)),
  }
}

function Axes({ area: { left, right, bottom }, x, y, xTicks, yTicks, across, up }: Drawing) {
  return (
    <>
      {y.hidden !== true && (
        <>
          <text className={styles.title} x={4} y={13}>
            {y.title}
          </text>
          {yTicks.map(([tick, text]) => (
            <g key={tick}>
              <line className={styles.grid} x1={left} x2={right} y1={up(tick)} y2={up(tick)} />
              <text className={styles.tick} x={left - 8} y={up(tick)} dy="0.32em" textAnchor="end">
                {text}
              </text>
            </g>
          ))}
        </>
      )}
      <line className={styles.axis} x1={left} x2={right} y1={bottom} y2={bottom} />
      {xTicks.map(([tick, text]) => (
        <g key={tick}>
          <line className={styles.axis} x1={across(tick)} x2={across(tick)} y1={bottom} y2={bottom + 4} />
          <text className={styles.tick} x={across(tick)} y={bottom + 17} textAnchor="middle">
            {text}
          </text>
        </g>
      ))}
      <text className={styles.title} x={right} y={bottom + 36} textAnchor="end">
        {x.title}
      </text>
    </>
  )
}

function pathOf(points: readonly (readonly [number, number])[]): string {
  return points
    .filter(([x, y]) => Number.isFinite(x) && Number.isFinite(y))
    .map(([x, y], index) => `${index === 0 ? 'M' : 'L'}${x.toFixed(2)} ${y.toFixed(2)}`)
    .join('')
}

function bandPath({ points }: CurveBand, { across, up }: Drawing): string {
  const top = points.map((point) => [across(point.x), up(point.upper)] as const)
  const bottom = points.map((point) => [across(point.x), up(point.lower)] as const).reverse()
  return `${pathOf([...top, ...bottom])}Z`
}

function Mark({ mark, drawing }: { readonly mark: CurveMark; readonly drawing: Drawing }) {
  const { area, across, up } = drawing
  const { left, top, right, bottom } = area
  const className = `${styles.mark} ${lookOf(mark.look ?? 'muted')}`
  if (mark.axis === 'y') {
    const height = up(mark.value)
    if (height < top || height > bottom) return null
    return (
      <g className={className}>
        <line x1={left} x2={right} y1={height} y2={height} />
        <text x={right - 4} y={height - 5} textAnchor="end">
          {mark.label}
        </text>
      </g>
    )
  }
  const place = across(mark.value)
  if (place < left || place > right) return null
  const late = place > left + area.width * 0.7
  return (
    <g className={className}>
      <line x1={place} x2={place} y1={top} y2={bottom} />
      <text x={late ? place - 5 : place + 5} y={bottom - 8} textAnchor={late ? 'end' : 'start'}>
        {mark.label}
      </text>
    </g>
  )
}

interface ChosenProps {
  readonly drawing: Drawing
  readonly x: number
  readonly y: number | undefined
}

/** The chosen point, the lines to both axes, and the handles that move it. */
function Chosen({ drawing, x: chosenX, y: chosenY }: ChosenProps) {
  const { area, x, y, across, up } = drawing
  const { left, top, right, bottom } = area
  const place = Math.min(right, Math.max(left, across(chosenX)))
  const height = chosenY === undefined ? bottom : Math.min(bottom, Math.max(top, up(chosenY)))
  const texts = [
    `${x.title} ${x.format(chosenX)}`,
    ...(chosenY === undefined ? [] : [`${y.title} ${y.format(chosenY)}`]),
  ]
  return (
    <>
      <path className={styles.guide} d={`M${left} ${height}H${place}V${bottom}`} />
      {x.onChoose !== undefined && (
        <rect
          className={styles.catcher}
          x={left}
          y={top}
          width={area.width}
          height={area.height}
          {...dragging('x', x, drawing)}
        />
      )}
      {x.onChoose === undefined ? (
        <circle className={styles.point} cx={place} cy={height} r={6} />
      ) : (
        <Handle axis="x" of={x} value={chosenX} text={texts.join(', ')} drawing={drawing}>
          <circle className={styles.reach} cx={place} cy={height} r={18} />
          <circle className={styles.point} cx={place} cy={height} r={7} />
        </Handle>
      )}
      {y.onChoose !== undefined && chosenY !== undefined && (
        <Handle axis="y" of={y} value={chosenY} text={texts.reverse().join(', ')} drawing={drawing}>
          <circle className={styles.reach} cx={left} cy={height} r={18} />
          <path className={styles.point} d={`M${left - 7} ${height - 7}h8l7 7l-7 7h-8z`} />
        </Handle>
      )}
    </>
  )
}

interface HandleProps {
  readonly axis: 'x' | 'y'
  readonly of: CurveAxis
  readonly value: number
  readonly text: string
  readonly drawing: Drawing
  readonly children: React.ReactNode
}

/** Part of the drawing that moves the chosen point along one axis. */
function Handle({ axis, of, value, text, drawing, children }: HandleProps) {
  const onKeyDown = (event: KeyboardEvent) => {
    const next = valueAfterKey(of.scale, value, event.key, of.step)
    if (next === undefined) return
    event.preventDefault()
    of.onChoose?.(next)
  }
  return (
    <g
      className={styles.handle}
      role="slider"
      tabIndex={0}
      aria-label={of.title}
      aria-orientation={axis === 'x' ? 'horizontal' : 'vertical'}
      aria-valuemin={of.scale.lower}
      aria-valuemax={of.scale.upper}
      aria-valuenow={value}
      aria-valuetext={text}
      onKeyDown={onKeyDown}
      {...dragging(axis, of, drawing)}
    >
      {children}
    </g>
  )
}

/** Returns handlers by which a pointer that is held down chooses values of an axis. */
function dragging(axis: 'x' | 'y', { scale, step, onChoose }: CurveAxis, { area }: Drawing) {
  const choose = (event: PointerEvent<SVGElement>) => {
    const drawing = event.currentTarget.ownerSVGElement
    if (drawing === null) return
    const box = drawing.getBoundingClientRect()
    // The drawing may be shown smaller than its own unit, as on paper.
    const unit = drawing.viewBox.baseVal.width / box.width
    const position =
      axis === 'x'
        ? ((event.clientX - box.left) * unit - area.left) / area.width
        : 1 - ((event.clientY - box.top) * unit - area.top) / area.height
    onChoose?.(shortValueAt(scale, position, step))
  }
  return {
    onPointerDown: (event: PointerEvent<SVGElement>) => {
      event.currentTarget.setPointerCapture(event.pointerId)
      choose(event)
    },
    onPointerMove: (event: PointerEvent<SVGElement>) => {
      if (event.currentTarget.hasPointerCapture(event.pointerId)) choose(event)
    },
  }
}

function Legend({ lines, bands }: Required<Pick<CurveProps, 'lines' | 'bands'>>) {
  // A band around a line needs no name of its own.
  const furtherBands = bands.filter(({ name }) => !lines.some((line) => line.name === name))
  if (lines.length + furtherBands.length <= 1) return null
  return (
    <figcaption>
      <ul className={styles.legend}>
        {lines.map(({ name, look, dashed }) => (
          <li key={name}>
            <svg width="22" height="10" aria-hidden="true">
              <path className={`${styles.line} ${lookOf(look)}`} data-dashed={dashed} d="M1 5H21" />
            </svg>
            {name}
          </li>
        ))}
        {furtherBands.map(({ name, look }) => (
          <li key={name}>
            <svg width="22" height="10" aria-hidden="true">
              <path className={`${styles.band} ${lookOf(look)}`} d="M1 0H21V10H1Z" />
            </svg>
            {name}
          </li>
        ))}
      </ul>
    </figcaption>
  )
}

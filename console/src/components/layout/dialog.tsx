import { useMutation } from '@tanstack/react-query'
import { type FormEvent, type ReactNode, useId, useLayoutEffect, useRef } from 'react'
import { Button, type ButtonLook } from '../forms/button.tsx'
import { ProblemNotice } from '../notices/notices.tsx'
import styles from './dialog.module.css'

export interface DialogProps {
  readonly title: string
  /** Called when the person closes the dialog, also by the escape key. */
  readonly onClose: () => void
  readonly children: ReactNode
}

/** Modal dialog over the page. It is open as long as it is drawn. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const heading = useId()
  // The dialog closes before it leaves the page, so that the focus returns to where it was.
  useLayoutEffect(() => {
    const element = dialog.current
    element?.showModal()
    return () => element?.close()
  }, [])
  return (
    <dialog
      ref={dialog}
      className={styles.dialog}
      aria-labelledby={heading}
      // The page decides what is drawn, so that it can keep a dialog open.
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      // Browsers close a dialog whose cancellation was prevented once already.
      onClose={() => dialog.current?.open === false && onClose()}
    >
      <h2 id={heading} className={styles.title}>
        {title}
      </h2>
      {children}
    </dialog>
  )
}

export interface FormDialogProps<Result> extends DialogProps {
  /** Text of the button that submits the form. */
  readonly action: string
  readonly look?: ButtonLook
  /** False while the form cannot be submitted. */
  readonly ready?: boolean
  /** Advice if the connection is lost, where a repeat may carry the action out a second time. */
  readonly lost?: string
  /** Carries out the action. If it fails, the dialog stays open and shows the error; otherwise it closes. */
  readonly onSubmit: () => Promise<Result>
  /** Called with the result, after the dialog was closed. */
  readonly onDone?: (result: Result) => void
}

/** Dialog that asks for a confirmation, or for the fields of an action, and carries it out. */
export function FormDialog<Result>({
  title,
  action,
  look = 'primary',
  ready = true,
  lost,
  onSubmit,
  onDone,
  onClose,
  children,
}: FormDialogProps<Result>) {
  const attempt = useMutation({
    mutationFn: onSubmit,
    onSuccess: (result) => {
      onClose()
      onDone?.(result)
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!attempt.isPending && ready) attempt.mutate()
  }
  const close = () => {
    if (!attempt.isPending) onClose()
  }
  return (
    <Dialog title={title} onClose={close}>
      <form className={styles.form} onSubmit={submit}>
        {children}
        {attempt.error !== null && <ProblemNotice error={attempt.error} lost={lost} />}
        <div className={styles.actions}>
          <Button onClick={close}>Cancel</Button>
          <Button type="submit" look={look} busy={attempt.isPending} disabled={!ready}>
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

import { useMutation } from '@tanstack/react-query'
import { ProblemNotice } from '../notices/notices.tsx'
import { Button, type ButtonProps } from './button.tsx'

export interface ActionButtonProps extends Omit<ButtonProps, 'busy' | 'onClick'> {
  readonly action: () => Promise<unknown>
}

/** Button that runs an action, and shows how it failed. */
export function ActionButton({ action, ...button }: ActionButtonProps) {
  const { mutate, isPending, error } = useMutation({ mutationFn: action })
  return (
    <>
      <Button {...button} busy={isPending} onClick={() => mutate()} />
      {error !== null && <ProblemNotice error={error} onRetry={mutate} />}
    </>
  )
}

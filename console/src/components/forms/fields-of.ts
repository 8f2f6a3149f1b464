/** Returns a function that gives a field its value, a member of a form, and the function that changes it. */
export function fieldsOf<Form extends object>(
  form: Form,
  onChange: (changes: Partial<NoInfer<Form>>) => void,
) {
  return <Name extends keyof Form>(name: Name) => ({
    value: form[name],
    onChange: (value: Form[Name]) => onChange({ [name]: value } as unknown as Partial<Form>),
  })
}

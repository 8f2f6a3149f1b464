import { useState } from 'react'
import styles from './theme-choice.module.css'

const THEMES = ['system', 'light', 'dark'] as const
type Theme = (typeof THEMES)[number]

const STORED = 'sotto.theme'

function storedTheme(): Theme {
  const stored = localStorage.getItem(STORED)
  return THEMES.find((theme) => theme === stored) ?? 'system'
}

/** Applies the theme that the person chose earlier. */
export function applyTheme(theme: Theme = storedTheme()): void {
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
}

/** Choice between the light and the dark theme, and that of the system. The browser remembers it. */
export function ThemeChoice() {
  const [chosen, choose] = useState(storedTheme)
  return (
    <fieldset className={styles.choice}>
      <legend>Theme</legend>
      {THEMES.map((theme) => (
        <label key={theme}>
          <input
            type="radio"
            name="theme"
            value={theme}
            checked={theme === chosen}
            onChange={() => {
              localStorage.setItem(STORED, theme)
              applyTheme(theme)
              choose(theme)
            }}
          />
          {theme}
        </label>
      ))}
    </fieldset>
  )
}

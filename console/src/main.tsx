import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import './styles/tokens.css'
import './styles/base.css'
import { App } from './app.tsx'
import { applyTheme } from './frame/theme-choice.tsx'

const root = document.getElementById('root')
if (root === null) throw new Error('index.html has no element with the id "root"')
applyTheme()
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
)

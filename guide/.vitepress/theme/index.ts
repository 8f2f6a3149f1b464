import type { Theme } from 'vitepress'
import DefaultTheme from 'vitepress/theme-without-fonts'
import { h } from 'vue'
import './theme.css'

/** Links to the other parts of the service. Their target keeps the site from taking them for pages of its own. */
const links = () => [
  h('a', { class: 'service-link', href: '/', target: '_self' }, 'Console'),
  h('a', { class: 'service-link', href: '/docs', target: '_self' }, 'API'),
]

export default {
  extends: DefaultTheme,
  Layout: () =>
    h(DefaultTheme.Layout, null, { 'nav-bar-content-after': links, 'nav-screen-content-after': links }),
} satisfies Theme

import react from '@vitejs/plugin-react'
import { defaultClientConditions, defineConfig } from 'vite'
import { compression } from 'vite-plugin-compression2'

/** Address of the service to which the development server forwards requests. */
const service = 'http://127.0.0.1:8080'

export default defineConfig({
  // The service sends the compressed files as they are.
  plugins: [react(), compression({ algorithms: ['gzip', 'brotliCompress'], threshold: 1_024 })],
  // The client is built from its source, so that no package must be built before.
  resolve: { conditions: ['sotto-source', ...defaultClientConditions] },
  build: {
    target: 'es2023',
    // The content security policy allows no `data:` address for scripts and styles.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
  server: {
    proxy: Object.fromEntries(
      ['/v1', '/docs', '/openapi.yaml', '/guide', '/problems'].map((path) => [path, service]),
    ),
  },
})

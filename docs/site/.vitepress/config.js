import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitepress';

const pages = fileURLToPath(new URL('../.pages/', import.meta.url));
const page = (text, link) => ({ text, link });
const examples = readdirSync(`${pages}/examples`).map((name) => page(name, `/examples/${name}/README`));
const decisions = readdirSync(`${pages}/docs/decisions`).map((name) => {
  const path = name.replace('.md', '');
  return page(path.replaceAll('-', ' '), `/docs/decisions/${path}`);
});

export default defineConfig({
  title: 'gjallar',
  description: 'A clustered Socket.IO server on uWebSockets.js',
  srcDir: '.pages',
  outDir: 'dist',
  // The README is the front page.
  rewrites: { 'README.md': 'index.md' },
  // The address of a server on this machine, and the files that build.js adds beside the pages.
  ignoreDeadLinks: [/^http:\/\/localhost/, /\/LICENSE$/, /\/results\.jsonl$/],
  markdown: { config: (md) => md.set({ html: false }) },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      page('Guide', '/docs/guide/quick-start'),
      page('Reference', '/docs/reference/configuration'),
      page('Benchmarks', '/docs/benchmarks'),
      page('Changes', '/CHANGELOG'),
    ],
    sidebar: [
      {
        text: 'Guide',
        items: [
          page('Quick start', '/docs/guide/quick-start'),
          page('Move an application', '/docs/move'),
          page('Several workers', '/docs/run'),
          page('Message recovery', '/docs/guide/recovery'),
          page('Authentication', '/docs/guide/authentication'),
          page('Scaling', '/docs/guide/scaling'),
          page('Proxies', '/docs/guide/proxies'),
          page('Deployment', '/docs/guide/deployment'),
          page('Operation', '/docs/guide/operation'),
          page('Node versions', '/docs/guide/node-versions'),
          page('Troubleshooting', '/docs/guide/troubleshooting'),
        ],
      },
      { text: 'Examples', collapsed: true, items: examples },
      {
        text: 'Reference',
        items: [
          page('Configuration', '/docs/reference/configuration'),
          page('Command line', '/docs/reference/command-line'),
          page('Client events', '/docs/reference/events'),
          page('Plain WebSockets', '/docs/reference/plain-websockets'),
          page('HTTP API', '/docs/reference/http-api'),
          page('HTTP endpoints', '/docs/reference/http-endpoints'),
          page('Error codes', '/docs/reference/error-codes'),
          page('Library', '/docs/reference/library/README'),
          page('Metrics and alerts', '/docs/operations'),
          page('Compatibility', '/docs/compatibility'),
          page('Guarantees', '/docs/guarantees'),
          page('Limits', '/docs/guarantees#limits-that-are-on-by-default'),
          page('Threat model', '/docs/threat-model'),
        ],
      },
      {
        text: 'Internals',
        collapsed: true,
        items: [
          page('Folders and layers', '/docs/internals/house'),
          page('Cluster', '/docs/internals/cluster'),
          page('Engine', '/docs/engine'),
          page('Fan-out', '/docs/fan-out'),
          page('Walks', '/docs/internals/walks'),
          page('Glossary', '/docs/internals/glossary'),
          page('Contributing', '/CONTRIBUTING'),
        ],
      },
      { text: 'Decisions', collapsed: true, items: decisions },
      { text: 'Benchmarks', items: [page('Results', '/docs/benchmarks'), page('Running them', '/load/README')] },
    ],
  },
});

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

const DESCRIPTION = 'A drop-in, clustered Socket.IO server on uWebSockets.js, with one worker per core';
/** The address of the repository, where there is one to link to. */
const repository = process.env.DOCS_REPOSITORY;

/** Our pages indent short blocks of commands, which is code without a language. They are shown like fenced ones. */
function fenceIndented(md) {
  md.renderer.rules.code_block = (tokens, index, options, environment, self) => {
    tokens[index].info = 'sh';
    return self.rules.fence(tokens, index, options, environment, self);
  };
}

/** Line breaks in cells of tables and comments are the only HTML in our pages. Everything else is text. */
function allowBreaks(md) {
  md.inline.ruler.before('text', 'line_break_tag', (state, silent) => {
    if (!state.src.startsWith('<br>', state.pos)) return false;
    if (!silent) state.push('hardbreak', 'br', 0);
    state.pos += 4;
    return true;
  });
  md.core.ruler.before('normalize', 'comments', (state) => {
    state.src = state.src.replace(/^<!--.*-->$/gm, '');
  });
}

/** An empty cell in the head of a table is no header. */
function leaveEmptyHeads(md) {
  md.core.ruler.push('empty_heads', ({ tokens }) => {
    for (const [index, token] of tokens.entries()) {
      if (token.type !== 'th_open' || tokens[index + 1].content !== '') continue;
      token.tag = 'td';
      tokens[index + 2].tag = 'td';
    }
  });
}

/** As GitHub does, so that a link leads to the same heading in both. */
const slugify = (title) =>
  title
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-');

export default defineConfig({
  title: 'gjallar',
  description: DESCRIPTION,
  srcDir: '.pages',
  outDir: 'dist',
  head: [
    ['link', { rel: 'icon', type: 'image/svg+xml', href: '/logo.svg' }],
    ['meta', { property: 'og:type', content: 'website' }],
    ['meta', { property: 'og:site_name', content: 'gjallar' }],
    ['meta', { property: 'og:image', content: '/logo.svg' }],
  ],
  transformHead: ({ pageData: { title, description } }) => [
    ['meta', { property: 'og:title', content: title || 'gjallar' }],
    ['meta', { property: 'og:description', content: description || DESCRIPTION }],
  ],
  // The address of a server on this machine, and the files that build.js adds beside the pages.
  ignoreDeadLinks: [/^http:\/\/localhost/, /\/LICENSE$/, /\/results\.jsonl$/, /\/deploy\/.*\.(cfg|conf|yaml)$/],
  markdown: {
    anchor: { slugify },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    config(md) {
      md.set({ html: false });
      fenceIndented(md);
      allowBreaks(md);
      leaveEmptyHeads(md);
    },
  },
  themeConfig: {
    logo: '/logo.svg',
    search: { provider: 'local' },
    socialLinks: repository ? [{ icon: 'github', link: repository }] : [],
    editLink: repository ? { pattern: `${repository}/edit/main/:path`, text: 'Edit this page' } : undefined,
    outline: [2, 3],
    nav: [
      page('Guide', '/docs/guide/deploy-your-application'),
      page('Reference', '/docs/reference/configuration'),
      page('Benchmarks', '/docs/benchmarks'),
      page('Changes', '/CHANGELOG'),
    ],
    sidebar: [
      {
        text: 'Start',
        items: [
          page('Quick start', '/docs/guide/quick-start'),
          page('Which server, when', '/docs/guide/which-server'),
          page('Move an application', '/docs/move'),
          page('Compare stock and gjallar', '/docs/guide/compare'),
          page('Gallery', '/docs/gallery'),
          page('FAQ', '/docs/guide/faq'),
        ],
      },
      {
        text: 'Guide',
        items: [
          page('Deploy your application', '/docs/guide/deploy-your-application'),
          page('Several workers', '/docs/run'),
          page('Ready for several workers?', '/docs/guide/several-workers'),
          page('Message recovery', '/docs/guide/recovery'),
          page('Durable rooms', '/docs/guide/durable-rooms'),
          page('Live data and slow clients', '/docs/guide/live-data'),
          page('Emit from other processes', '/docs/guide/emitter'),
          page('Authentication', '/docs/guide/authentication'),
          page('Test your application', '/docs/guide/testing'),
          page('Latency tuning', '/docs/guide/latency'),
          page('Sizing', '/docs/guide/sizing'),
          page('Scaling', '/docs/guide/scaling'),
          page('Placement', '/docs/guide/placement'),
          page('Proxies', '/docs/guide/proxies'),
          page('Load balancers', '/docs/guide/load-balancers'),
          page('Node versions', '/docs/guide/node-versions'),
        ],
      },
      {
        text: 'Production',
        items: [
          page('Checklist', '/docs/guide/production-checklist'),
          page('Deployment', '/docs/guide/deployment'),
          page('System limits', '/docs/guide/system-limits'),
          page('Operations', '/docs/operations'),
          page('Admin page and actions', '/docs/operations/admin'),
          page('Alerts', '/docs/operations/alerts'),
          page('Metrics', '/docs/operations/metrics'),
          page('OpenTelemetry', '/docs/operations/opentelemetry'),
          page('Redis', '/docs/operations/redis'),
          page('NATS', '/docs/operations/nats'),
          page('Security model', '/docs/guide/security'),
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
          page('Library options', '/docs/reference/library-options'),
          page('Compatibility', '/docs/compatibility'),
          page('Guarantees', '/docs/guarantees'),
          page('Limits', '/docs/limits'),
          page('Threat model', '/docs/threat-model'),
          page('Security policy', '/SECURITY'),
        ],
      },
      {
        text: 'Internals',
        collapsed: true,
        items: [
          page('The house', '/docs/internals/house'),
          page('The way of a message', '/docs/internals/message'),
          page('How to add something', '/docs/internals/adding'),
          page('Cluster', '/docs/internals/cluster'),
          page('Engine', '/docs/engine'),
          page('Fan-out', '/docs/fan-out'),
          page('Connection state recovery', '/docs/internals/recovery'),
          page('Cost from version to version', '/docs/internals/performance'),
          page('Glossary', '/docs/internals/glossary'),
          page('Contributing', '/CONTRIBUTING'),
        ],
      },
      { text: 'Decisions', collapsed: true, items: decisions },
      {
        text: 'Benchmarks',
        items: [page('Results', '/docs/benchmarks'), page('Running them', '/load/README')],
      },
    ],
  },
});

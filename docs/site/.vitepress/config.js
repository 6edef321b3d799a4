import { defineConfig } from 'vitepress';

const page = (text, link) => ({ text, link });
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
      page('Guide', '/docs/guide/quick-start'),
      page('Reference', '/docs/reference/configuration'),
      page('Benchmarks', '/docs/benchmarks'),
      page('Changes', '/CHANGELOG'),
    ],
    sidebar: [
      {
        text: 'Start',
        items: [
          page('Quick start', '/docs/guide/quick-start'),
          page('Move an application', '/docs/move'),
          page('Which server, when', '/docs/guide/which-server'),
        ],
      },
      {
        text: 'Library and run',
        items: [
          page('Several workers', '/docs/run'),
          page('Ready for several workers?', '/docs/guide/several-workers'),
          page('Message recovery', '/docs/guide/recovery'),
          page('Durable rooms', '/docs/guide/durable-rooms'),
          page('React', '/docs/guide/react'),
          page('AI streams', '/docs/guide/ai-streams'),
          page('State rooms', '/docs/guide/live-data'),
          page('Presence', '/docs/guide/presence'),
          page('Emit from other processes', '/docs/guide/emitter'),
          page('Schemas for events', '/docs/guide/event-schemas'),
          page('Compare stock and gjallar', '/docs/guide/compare'),
          page('Gallery', '/docs/gallery'),
          page('Test your application', '/docs/guide/testing'),
          page('Exports and options', '/docs/reference/library'),
          page('Compatibility', '/docs/compatibility'),
        ],
      },
      {
        text: 'Chat service',
        items: [
          page('Authentication', '/docs/guide/authentication'),
          page('Client events', '/docs/reference/events'),
          page('HTTP API', '/docs/reference/http-api'),
          page('Plain WebSockets', '/docs/reference/plain-websockets'),
        ],
      },
      {
        text: 'Production, for both',
        items: [
          page('Deployment', '/docs/guide/deployment'),
          page('Checklist', '/docs/guide/production-checklist'),
          page('Configuration', '/docs/reference/configuration'),
          page('Operations', '/docs/operations'),
          page('Alerts', '/docs/operations/alerts'),
          page('Metrics and traces', '/docs/operations/metrics'),
          page('Redis and NATS', '/docs/operations/redis'),
          page('Scaling and sizing', '/docs/guide/scaling'),
          page('Placement', '/docs/guide/placement'),
          page('Latency', '/docs/guide/latency'),
          page('Proxies and load balancers', '/docs/guide/proxies'),
          page('Node versions', '/docs/guide/node-versions'),
          page('Troubleshooting', '/docs/guide/troubleshooting'),
        ],
      },
      {
        text: 'Promises',
        items: [
          page('Guarantees', '/docs/guarantees'),
          page('Limits', '/docs/limits'),
          page('Security', '/docs/security'),
          page('Benchmarks', '/docs/benchmarks'),
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
          page('Recovery', '/docs/internals/recovery'),
          page('Fan-out', '/docs/fan-out'),
          page('State rooms', '/docs/internals/state'),
          page('Decisions and glossary', '/docs/internals/glossary'),
        ],
      },
    ],
  },
});

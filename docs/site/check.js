// Opens every page of the built site in Chromium, at the width of a phone and of a laptop: nothing may be wider than the
// window, a table or a block of code must fit or scroll, no HTML may show as text, every anchor must lead somewhere, and axe
// must find nothing. `npm run docs -- --check`.

import { createReadStream, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

// Of the repository, not of the site.
const require = createRequire(new URL('../../package.json', import.meta.url));
const { chromium } = require('playwright-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

const WIDTHS = [390, 1280];
const dist = fileURLToPath(new URL('dist/', import.meta.url));
const types = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
  '.png': 'image/png',
};

const server = createServer(({ url }, response) => {
  const path = join(dist, decodeURIComponent(new URL(url, 'http://localhost').pathname));
  const file = existsSync(path) && statSync(path).isDirectory() ? join(path, 'index.html') : path;
  if (!existsSync(file)) return response.writeHead(404).end();
  response.writeHead(200, { 'content-type': types[extname(file)] ?? 'application/octet-stream' });
  createReadStream(file).pipe(response);
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const origin = `http://127.0.0.1:${server.address().port}/`;

const pages = readdirSync(dist, { recursive: true })
  .filter((name) => name.endsWith('.html') && name !== '404.html')
  .map((name) => name.replaceAll('\\', '/'))
  .sort();
const ids = new Map();
const links = [];
const faults = [];
/** The tables and blocks of code of our own pages at each width, and how many of them scroll. */
const counts = Object.fromEntries(WIDTHS.map((width) => [width, { all: 0, scrolling: 0 }]));

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu'],
});
try {
  const page = await (await browser.newContext({ reducedMotion: 'reduce' })).newPage();
  for (const name of pages) {
    const failed = (fault) => faults.push(`${name}: ${fault}`);
    await page.setViewportSize({ width: WIDTHS[1], height: 900 });
    await page.goto(origin + name, { waitUntil: 'load' });
    const seen = await page.evaluate(look);
    ids.set(name, new Set(seen.ids));
    links.push(...seen.anchors.map((href) => ({ name, href })));
    if (seen.html) failed(`HTML shows as text: ${seen.html}`);
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 900 });
      const wide = await page.evaluate(overflow);
      if (wide) failed(`${wide} is wider than ${width} px`);
      const { all, scrolling, cut } = await page.evaluate(blocks);
      for (const text of cut) failed(`cut off at ${width} px: ${text}`);
      if (isOwn(name)) for (const [key, count] of Object.entries({ all, scrolling })) counts[width][key] += count;
    }
    // Rules of a page depend little on its width, and a page of the reference is like the others of its kind.
    if (isOwn(name)) for (const violation of await page.evaluate(`${axe};(${violations})()`)) failed(violation);
  }
} finally {
  await browser.close();
  server.close();
}

for (const { name, href } of links) {
  const { pathname, hash } = new URL(href, origin + name);
  const target = decodeURIComponent(pathname.slice(1)).replace(/^$|\/$/, '$&index.html');
  const known = ids.get(target) ?? ids.get(`${target}.html`);
  if (known && hash && !known.has(decodeURIComponent(hash.slice(1)))) faults.push(`${name}: no anchor ${href}`);
}
for (const fault of faults) console.error(fault);
console.log(`${pages.length} pages, ${links.length} anchors: ${faults.length} faults`);
for (const [width, { all, scrolling }] of Object.entries(counts)) {
  console.log(`at ${width} px, ${scrolling} of ${all} tables and blocks of code scroll`);
}
if (faults.length > 0) process.exitCode = 1;

/** Pages that typedoc writes differ in names alone. */
function isOwn(name) {
  return !/^docs\/reference\/library\/(?!README)/.test(name);
}

/** In the page. */
function look() {
  const main = document.querySelector('.VPContent') ?? document.body;
  const prose = main.cloneNode(true);
  for (const code of prose.querySelectorAll('pre, code, script, style')) code.remove();
  return {
    ids: [...document.querySelectorAll('[id]')].map(({ id }) => id),
    anchors: [...main.querySelectorAll('a[href*="#"]')]
      .map((link) => link.href)
      .filter((href) => href.startsWith(location.origin)),
    html: /&lt;|<\/?(?:br|sub|sup|div|img|p|!--)\b[^>]*>|<!--/.exec(prose.textContent)?.[0],
  };
}

/** In the page. */
function overflow() {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= width) return undefined;
  const wide = [...document.querySelectorAll('.VPContent *')].find(
    (part) => part.getBoundingClientRect().right > width + 1,
  );
  return wide
    ? `<${wide.tagName.toLowerCase()} class="${wide.className}"> ${wide.textContent.trim().slice(0, 40)}`
    : 'the page';
}

/** In the page. What is wider than its place must scroll there. */
function blocks() {
  const found = [...document.querySelectorAll('.vp-doc table, .vp-doc pre')];
  const wide = found.filter((block) => block.scrollWidth > block.clientWidth + 1);
  const cut = wide.filter((block) => !['auto', 'scroll'].includes(getComputedStyle(block).overflowX));
  return {
    all: found.length,
    scrolling: wide.length - cut.length,
    cut: cut.map((block) => block.textContent.trim().slice(0, 40)),
  };
}

/** In the page. */
async function violations() {
  // The frame around each page is VitePress's own.
  const { violations: found } = await globalThis.axe.run('.VPContent', {
    rules: { region: { enabled: false }, 'heading-order': { enabled: false } },
  });
  return found.map(
    ({ id, nodes }) =>
      `${id}: ${nodes
        .slice(0, 3)
        .map(({ target }) => target.join(' '))
        .join(', ')}`,
  );
}

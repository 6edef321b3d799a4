// llms.txt: a list of the pages for language models, as https://llmstxt.org describes it. It has the pages of docs/pages.md, in
// its order, each with its first sentences.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * @param {string} pages the folder of the pages
 * @param {string} description what the product is
 * @param {string} [site] the address of the site; without it, links begin at its root
 */
export function llmsText(pages, description, site = '') {
  const index = 'docs/pages.md';
  const seen = new Set();
  const lines = [];
  for (const row of readFileSync(join(pages, index), 'utf8').split('\n')) {
    const [, section = ''] = /^\| \**([^|*]+?)\** \|/.exec(row) ?? [];
    const found = [...row.matchAll(/\]\(([^)#]+\.md)[^)]*\)/g)].map(([, link]) => join(dirname(index), link));
    const fresh = found.filter((path) => !seen.has(path));
    for (const path of fresh) seen.add(path);
    if (fresh.length > 0) lines.push('', `## ${section}`, '', ...fresh.map((path) => entry(pages, path, site)));
  }
  return `${[`# gjallar`, '', `> ${description}`, ...lines].join('\n')}\n`;
}

function entry(pages, path, site) {
  const [title, first = ''] = readFileSync(join(pages, path), 'utf8').split(/\n\s*\n/);
  const text = /^[\w`[]/.test(first) ? first.replaceAll('\n', ' ').replace(/\[([^\]]*)\]\([^)]*\)/g, '$1') : '';
  const link = `${site.replace(/\/$/, '')}/${path.replace(/md$/, 'html')}`;
  return `- [${title.replace(/^#+ */, '')}](${link})${text && `: ${text}`}`;
}

import { readFileSync } from 'node:fs';

const page = readFileSync(new URL('../../../public/index.html', import.meta.url));

/** What the peers of `http` answer, by path, with the headers that a browser needs. */
export const answers = {
  '/healthz': { type: 'application/json', body: '{"ok":true}\n' },
  '/': { type: 'text/html; charset=utf-8', body: page },
};

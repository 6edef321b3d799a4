import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { atExit } from '../../torture/support/at-exit.js';
import { installFrameworks } from '../frameworks/install.js';
import { talk } from '../talk.js';

const folder = fileURLToPath(new URL('../frameworks/', import.meta.url));
const chat = fileURLToPath(new URL('../apps/chat.cjs', import.meta.url));

/** A copy of an application for one run: the scripts edit its files, and frameworks write beside them. */
function copyOf(name, file) {
  installFrameworks();
  mkdirSync(join(folder, '.run'), { recursive: true });
  // As deep as the original, whose imports lead out of the folder.
  const copy = mkdtempSync(join(folder, '.run', `${name}-`));
  cpSync(join(folder, name), copy, { recursive: true });
  cpSync(chat, join(copy, 'chat.cjs'));
  const remove = () => rmSync(copy, { recursive: true, force: true, maxRetries: 5 });
  const forget = atExit(remove);
  return {
    folder: copy,
    file: file ? join(copy, file) : join(folder, 'node_modules/next/dist/bin/next'),
    remove: () => {
      remove();
      forget();
    },
  };
}

const shown = (page, id, text) =>
  page.waitForFunction(([where, what]) => document.getElementById(where)?.textContent === what, [id, text]);

/** Edits a file, and waits until the page shows it. A page that keeps its state was not loaded again. */
async function hotReload(visitor, file) {
  const page = await visitor.page();
  await shown(page, 'said', 'from the page');
  await page.click('#count');
  await shown(page, 'count', '1');
  writeFileSync(file, readFileSync(file, 'utf8').replace('before the edit', 'after the edit'));
  await shown(page, 'title', 'after the edit');
  return { said: await page.textContent('#said'), count: await page.textContent('#count') };
}

const summary = ({ status, headers }) => [status, headers['content-type']];

export default {
  'next-dev': {
    about: 'Next.js with a custom server in development: pages, HMR',
    isHeavy: true,
    hasPage: true,
    isVerbose: true,
    prepare: () => copyOf('next-custom', 'server.cjs'),
    script: async (visitor, { folder: copy }) => ({
      page: summary(await visitor.http('/')),
      missing: summary(await visitor.http('/missing')),
      hot: await hotReload(visitor, join(copy, 'pages/index.jsx')),
      sockets: await talk(visitor),
    }),
  },
  'next-pages': {
    about: 'Next.js built and started: Socket.IO attached by an API route',
    isHeavy: true,
    hasPage: true,
    isVerbose: true,
    path: '/api/socket.io/',
    attachedBy: '/api/socket',
    prepare: () => {
      const prepared = { ...copyOf('next-pages'), args: ['start'] };
      const { status, stdout, stderr } = spawnSync(process.execPath, [prepared.file, 'build'], {
        cwd: prepared.folder,
        encoding: 'utf8',
        env: { ...process.env, NODE_ENV: 'production', NEXT_TELEMETRY_DISABLED: '1' },
      });
      if (status !== 0) throw new Error(`next build: ${stdout}${stderr}`);
      return prepared;
    },
    script: async (visitor) => {
      const page = await visitor.page();
      await shown(page, 'said', 'from the page');
      return {
        html: summary(await visitor.http('/')),
        api: await visitor.http('/api/about?a=1', {
          method: 'POST',
          headers: { 'content-type': 'application/json', cookie: 'c=d' },
          body: '{"e":["f"]}',
        }),
        missing: summary(await visitor.http('/missing')),
        said: await page.textContent('#said'),
        sockets: await talk(visitor, { options: { path: '/api/socket.io/' } }),
      };
    },
  },
  vite: {
    about: 'Vite in middleware mode: modules, HMR on the same port',
    isHeavy: true,
    hasPage: true,
    prepare: () => copyOf('vite', 'server.mjs'),
    script: async (visitor, { folder: copy }) => ({
      api: await visitor.http('/api'),
      module: summary(await visitor.http('/title.js')),
      hot: await hotReload(visitor, join(copy, 'title.js')),
      sockets: await talk(visitor),
    }),
  },
};

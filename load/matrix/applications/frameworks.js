import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { atExit } from '../../harness/process/at-exit.js';
import { installFrameworks } from '../frameworks/install.js';
import { talk } from '../talk.js';
import { next } from '../visitor.js';

const folder = fileURLToPath(new URL('../frameworks/', import.meta.url));
const example = fileURLToPath(new URL('../../../examples/next', import.meta.url));
const chat = fileURLToPath(new URL('../apps/chat.cjs', import.meta.url));

/**
 * A copy of an application for one run: the scripts edit its files, and frameworks write beside them.
 * @param {string} name
 * @param {string} [file] that Node.js runs, instead of the program of Next.js
 * @param {string} [source] the folder of the application
 */
function copyOf(name, file, source = join(folder, name)) {
  installFrameworks();
  mkdirSync(join(folder, '.run'), { recursive: true });
  // As deep as the original, whose imports lead out of the folder.
  const copy = mkdtempSync(join(folder, '.run', `${name}-`));
  cpSync(source, copy, { recursive: true });
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

/** Builds an application of Next.js for production. */
function built(prepared) {
  const { status, stdout, stderr } = spawnSync(join(folder, 'node_modules/.bin/next'), ['build'], {
    cwd: prepared.folder,
    encoding: 'utf8',
    env: { ...process.env, NODE_ENV: 'production', NEXT_TELEMETRY_DISABLED: '1' },
  });
  if (status !== 0) throw new Error(`next build: ${stdout}${stderr}`);
  return prepared;
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
    prepare: () => built({ ...copyOf('next-pages'), args: ['start'] }),
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
  'next-example': {
    about: 'examples/next built and started: two people on its page, and a client without one',
    isHeavy: true,
    hasPage: true,
    isVerbose: true,
    env: { NODE_ENV: 'production' },
    prepare: () => built(copyOf('next-example', 'server.js', example)),
    script: async (visitor) => {
      const [client, ...pages] = await Promise.all([visitor.connected(), visitor.page(), visitor.page()]);
      const connected = (page) => page.waitForFunction(() => document.querySelector('button')?.disabled === false);
      await Promise.all(pages.map(connected));
      const said = next(client, 'said');
      await pages[0].getByLabel('Text').fill('from a page');
      await pages[0].getByRole('button').click();
      const item = pages.map((page) => page.getByRole('listitem').first().textContent());
      return { page: summary(await visitor.http('/')), said: await said, shown: await Promise.all(item) };
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

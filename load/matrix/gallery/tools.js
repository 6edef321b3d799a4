import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { talk } from '../talk.js';
import { asked, next } from '../visitor.js';

const io = { 'socket.io': '4.8.4' };

/** It ends before a visitor could ask who serves it, so one of its tests does. */
async function karma({ application, way }) {
  const code = await application.exited;
  const printed = application.printed('out');
  const results = printed.match(/RESULT .*/g);
  const served = /LOG 'served by (.*)'/.exec(printed)?.[1];
  const expected = way.isGjallar ? 'gjallar' : 'socket.io';
  if (served !== expected)
    throw new Error(`${served ?? 'nothing'} answers instead of ${expected}: ${printed.slice(-500)}`);
  return { code, results, logged: printed.includes("LOG 'from the browser'") };
}

/** The page of a site, and what reaches it when its files change. */
async function browserSync(visitor, { folder }) {
  const files = ['index.html', 'style.css'].map((name) => join(folder, 'site', name));
  const contents = files.map((file) => readFileSync(file));
  try {
    return await edited(visitor, files);
  } finally {
    for (const [index, file] of files.entries()) writeFileSync(file, contents[index]);
  }
}

async function edited(visitor, [html, style]) {
  const page = await visitor.page('/');
  const before = await page.textContent('#title');
  await page.waitForFunction(() => globalThis.___browserSync___?.socket?.connected);
  await page.evaluate(() => {
    globalThis.isOld = true;
  });
  writeFileSync(style, 'h1 { color: blue }');
  await page.waitForFunction(() => getComputedStyle(document.querySelector('h1')).color === 'rgb(0, 0, 255)');
  const injected = await page.evaluate(() => globalThis.isOld === true);
  writeFileSync(html, '<!doctype html><title>site</title><body><h1 id="title">after the edit</h1></body>');
  await page.waitForFunction(() => document.getElementById('title')?.textContent === 'after the edit');
  const client = await visitor.http('/browser-sync/browser-sync-client.js');
  return { before, injected, client: client.status, missing: (await visitor.http('/missing')).status };
}

async function tsx(visitor) {
  const socket = await visitor.connected();
  return { page: await visitor.http('/'), level: await asked(socket, 'level'), sockets: await talk(visitor) };
}

async function esbuild(visitor) {
  return { about: await visitor.http('/about'), sockets: await talk(visitor) };
}

/** Node.js restarts the application when a file of it changes. Clients come back. */
async function watch(visitor, { folder }) {
  const socket = await visitor.connected('/', { reconnection: true, reconnectionDelay: 50, reconnectionDelayMax: 100 });
  const before = (await visitor.http('/')).body;
  const lost = next(socket, 'disconnect');
  const back = new Promise((resolve) => socket.once('disconnect', () => socket.once('connect', resolve)));
  const file = join(folder, 'text.cjs');
  writeFileSync(file, "exports.text = 'after the edit';");
  try {
    const [reason] = await lost;
    await back;
    for (const end = Date.now() + 10_000; Date.now() < end; await wait(50)) {
      if ((await visitor.http('/').catch(() => ({}))).body === 'after the edit') break;
    }
    const after = (await visitor.http('/')).body;
    return { before, after, reason, sockets: await talk(visitor) };
  } finally {
    writeFileSync(file, "exports.text = 'before the edit';");
  }
}

export default {
  karma: {
    about: 'Karma: 300 tests in Chromium, with one that fails',
    version: '6.4.4',
    state: 'one server per run',
    listens: false,
    hasPage: true,
    env: { CHROME_BIN: process.env.CHROMIUM ?? '/usr/bin/chromium' },
    script: karma,
    from: {
      packages: { karma: '6.4.4', 'karma-chrome-launcher': '3.2.0', 'karma-jasmine': '5.1.0' },
      file: 'run.cjs',
    },
  },
  'browser-sync': {
    about: 'Browsersync: a style that is injected and a page that reloads, in Chromium',
    version: '3.0.4',
    state: 'watches files',
    hasPage: true,
    isSequential: true,
    path: '/browser-sync/socket.io/',
    script: browserSync,
    from: { packages: { 'browser-sync': '3.0.4' } },
  },
  tsx: {
    about: 'an application in TypeScript that tsx runs',
    version: '4.21.0',
    isStateless: true,
    script: tsx,
    from: { packages: { ...io, tsx: '4.21.0' }, file: 'server.ts', nodeArgs: ['--import', 'tsx'] },
  },
  esbuild: {
    about: 'an ES module that esbuild compiles to one CommonJS file, without socket.io',
    version: '0.27.0',
    isStateless: true,
    script: esbuild,
    from: {
      packages: { ...io, esbuild: '0.27.0', express: '5.1.0' },
      file: 'bundle.cjs',
      build: [
        [
          'esbuild',
          ...['server.mjs', '--bundle', '--platform=node', '--format=cjs', '--minify', '--outfile=bundle.cjs'],
          '--external:socket.io',
        ],
      ],
    },
  },
  'node-watch': {
    about: 'node --watch: the application restarts, and its clients come back',
    version: process.version.slice(1),
    state: 'Node.js watches gjallar',
    isSequential: true,
    script: watch,
    app: 'watch',
    from: { packages: io, nodeArgs: ['--watch'] },
  },
};

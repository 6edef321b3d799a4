import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { accepts, freePort } from '../harness/ports.js';
import { atExit } from '../harness/process/at-exit.js';
import { ApplicationProcess } from './process.js';
import { Visitor } from './visitor.js';
import { root, ways } from './ways.js';

/**
 * Runs an application in one way, and visits it with its script.
 * @param {import('./applications/index.js').Application} application
 * @param {string} name of the way
 * @returns {Promise<object>} what the visit gave, and what the application printed; equal in all ways
 */
export async function record(application, name) {
  const way = ways[name];
  const port = application.port ?? (await freePort());
  if (application.port && (await accepts(port))) throw new Error(`another program uses port ${port}`);
  const prepared = await prepare(application, way);
  const { file, args = [], nodeArgs = [] } = prepared;
  const running = new ApplicationProcess({
    args: way.command({ file, args, nodeArgs, workers: application.workers ?? 4 }),
    cwd: prepared.folder,
    port,
    env: { ...application.env, ...way.env },
  });
  const visitor = new Visitor(running);
  visitor.way = way;
  try {
    if (application.listens !== false) {
      await running.listening();
      if (application.attachedBy) await visitor.http(application.attachedBy);
      await checkServer(visitor, application, way, name);
    }
    const visit = await application.script(visitor, prepared);
    await visitor.leave();
    const isPrinted = !way.hasWorkers && !application.isVerbose;
    return neutral({ visit, ...(isPrinted ? printedBy(running) : {}) }, port);
  } catch (error) {
    error.message += printedBy(running)
      .errors.map((line) => `\n    ${line}`)
      .join('');
    throw error;
  } finally {
    await visitor.leave();
    await running.end();
    prepared.remove();
  }
}

/** A way that did not run the application as it says would prove nothing. */
async function checkServer(visitor, application, way, name) {
  const { isOnUws, isGjallar } = await visitor.server(application.path);
  if (isOnUws !== Boolean(way.isOnUws && !application.onNode?.includes(name))) {
    throw new Error(isOnUws ? 'uWebSockets.js answers' : 'uWebSockets.js does not answer');
  }
  // The application may reject the request itself; uWebSockets.js is proof enough then.
  if (way.isGjallar && !isOnUws && !isGjallar) throw new Error('stock socket.io answers instead of gjallar');
}

/** The lines of an application that matter: not the place in the code that an error names. */
function printedBy(running) {
  const lines = (text) => text.split('\n').filter(Boolean);
  return {
    printed: lines(running.printed('out')),
    errors: lines(running.printed('error')).filter((line) => /^\S.*(Error|Warning)\b/.test(line)),
  };
}

/** Replaces what differs from run to run. */
function neutral(value, port) {
  return JSON.parse(
    JSON.stringify(value ?? null)
      .replaceAll(String(port), 'PORT')
      .replace(/\(node:\d+\)/g, '(node)')
      .replace(/"port: \d+"/g, '"port: PORT"')
      .replace(/127\.0\.0\.1:\d+/g, '127.0.0.1:PORT'),
  );
}

/** A TypeScript file is compiled first, as strictly as its author can ask. */
async function prepare({ file, folder, prepare: own }, way) {
  if (own) return own(way);
  if (!file.endsWith('.ts')) return { file: join(folder, file), folder, remove() {} };
  const output = mkdtempSync(join(folder, '.compiled-'));
  const remove = () => rmSync(output, { recursive: true, force: true });
  const forget = atExit(remove);
  const options = [
    '--strict',
    '--skipLibCheck',
    '--module',
    'commonjs',
    '--moduleResolution',
    'bundler',
    '--target',
    'es2022',
  ];
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const { status, stdout } = spawnSync(
    process.execPath,
    [tsc, ...options, '--types', 'node', '--ignoreConfig', '--outDir', output, join(folder, file)],
    { encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(`tsc: ${stdout}`);
  writeFileSync(join(output, 'package.json'), '{ "type": "commonjs" }');
  return {
    file: join(output, basename(file).replace(/ts$/, 'js')),
    folder,
    remove: () => {
      remove();
      forget();
    },
  };
}

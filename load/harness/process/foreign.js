import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

// Programs that are not written for Node are folders. `peer.js` in there says how one is built and run:
// - `build`: the command that builds it, run in its folder. What it makes goes to `target/`
// - `run`: the command that runs it, in its folder; its settings follow as one argument, in JSON
// - `warmUp`: seconds that a row is warmed up longer, for a compiler that works while it runs
// - `env`: variables to build and run it with

const MAX_BUILD_MS = 600_000;
const prepared = new Map();

/** Whether a peer is written in another language, so that it is built first. @param {string} name */
export const isForeign = (name) => existsSync(new URL(`../../peers/foreign/${name}/`, import.meta.url));

/**
 * How to run the program in a folder, which is built first.
 * @param {URL} folder
 * @returns {Promise<null | { unavailable: string } | { command: string[], cwd: string, warmUp?: number, env?: Record<string, string> }>}
 *   null when there is no such program
 */
export async function foreignProgram(folder) {
  const key = folder.href;
  if (!prepared.has(key)) prepared.set(key, await prepare(folder));
  return prepared.get(key);
}

async function prepare(folder) {
  const description = new URL('peer.js', folder);
  if (!existsSync(description)) return null;
  const { build, run, warmUp, env } = (await import(description)).default;
  const cwd = fileURLToPath(folder);
  mkdirSync(join(cwd, 'target'), { recursive: true });
  const [builder, ...args] = build;
  const options = { cwd, env: { ...process.env, ...env }, encoding: 'utf8', timeout: MAX_BUILD_MS };
  const { status, stdout, stderr, error } = spawnSync(builder, args, options);
  if (error?.code === 'ENOENT') return { unavailable: `there is no ${builder}` };
  if (status === 0) return { command: run, cwd, warmUp, env };
  const log = join(cwd, 'target/build.log');
  writeFileSync(log, `${stdout}${stderr}${error?.message ?? ''}`);
  return { unavailable: `${builder} could not build it, see ${log}` };
}

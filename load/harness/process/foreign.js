import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

// Programs that are not written for Node are folders. `peer.js` in there says how one is built and run:
// - `toolchain`: a command that tells the version of what builds it, and fails where there is none
// - `build`: the command that builds it, run in its folder. What it makes goes to `target/`
// - `run`: the command that runs it, in its folder; its settings follow as one argument, in JSON
// - `warmUp`: seconds that a row is warmed up longer, for a compiler that works while it runs
// - `env`: variables to build and run it with

const MAX_BUILD_MS = 600_000;
const prepared = new Map();

/**
 * How to run the program in a folder, built again if anything in there or its toolchain has changed since.
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
  const { toolchain, build, run, warmUp, env } = (await import(description)).default;
  const cwd = fileURLToPath(folder);
  const options = { cwd, env: { ...process.env, ...env }, encoding: 'utf8', timeout: MAX_BUILD_MS };
  const version = execute(toolchain, options);
  if (!version.done) return { unavailable: `there is no working ${toolchain[0]}` };
  const target = join(cwd, 'target');
  mkdirSync(target, { recursive: true });
  const stamp = join(target, 'built-from');
  const content = fingerprint(cwd, target, version.output);
  if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== content) {
    const { done, output } = execute(build, options);
    if (!done) {
      const log = join(target, 'build.log');
      writeFileSync(log, output);
      return { unavailable: `${build[0]} could not build it, see ${log}` };
    }
    writeFileSync(stamp, content);
  }
  return { command: run, cwd, warmUp, env };
}

function execute([command, ...args], options) {
  const { status, stdout, stderr, error } = spawnSync(command, args, options);
  return { done: status === 0, output: `${stdout ?? ''}${stderr ?? ''}${error?.message ?? ''}` };
}

/** Changes with the toolchain and with every file of the folder but what is built there. */
function fingerprint(folder, target, toolchain) {
  const hash = createHash('sha256').update(toolchain);
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !file.startsWith(join(target, '/')));
  for (const file of files.sort()) hash.update(file).update(readFileSync(file));
  return hash.digest('hex');
}

import { realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { relative } from 'node:path';
import { parseArgs } from 'node:util';
import { GjallarError } from '../base/errors.js';
import { logGreeting } from '../base/log.js';
import { packageFile, packagePath, pageOf, version } from '../base/package.js';
import { loadRunConfig } from '../host/config/load.js';
import type { RunConfig } from '../host/config/options.js';
import { withMeantOption } from '../host/config/unknown.js';
import { fileOf, nodeFlags, nodeFlagsIn, splitArguments, youngGeneration } from './application-arguments.js';
import { runPrimary, type Started, tellParent } from './primary.js';
import { typeScriptFlags } from './typescript.js';
import { packageFolderOf } from './watch.js';

/** What keeps users or rooms in the memory of one worker cannot be noticed from outside. */
const CHECK =
  `. Workers share no memory: ${pageOf('docs/guide/several-workers.md')} has five questions that show whether the ` +
  'application is ready';

/** What suits somebody who changes the application, unless it is set: one log to read, and a reload that waits for nobody. */
const WATCHING = { WORKERS: '1', RELOAD_SETTLE: '0', DRAIN_TIMEOUT: '1s' };

interface Command {
  file: string;
  /** The arguments of the application. */
  rest: string[];
  nodeFlags: string[];
  watch: boolean;
}

/** `gjallar run FILE`: runs any Socket.IO application on several workers. */
export function runApplication(args: readonly string[]): Promise<void> {
  const { file, rest, nodeFlags: flags, watch } = readCommand(args);
  checkCopy(file);
  const config = loadRunConfig(process.env);
  return runPrimary(config, {
    file,
    arguments: rest,
    ...(watch && { watch: packageFolderOf(file) }),
    nodeFlags: [
      ...youngGeneration(process.env),
      ...typeScriptFlags(file, flags),
      ...flags,
      '--import',
      packageFile('dist/host/run/preload.mjs').href,
    ],
    // A message to a process manager. When all workers listen, the primary says `ready` itself.
    onMessage: (message) => {
      if (message !== 'ready') tellParent(message);
    },
    started: (facts) => greet(file, config, facts),
  });
}

/** Reads the arguments, and sets the variables of the configuration that they set. */
function readCommand(args: readonly string[]): Command {
  const { own, rest } = splitArguments(args);
  const options = {
    workers: { type: 'string', short: 'w' },
    'admin-port': { type: 'string' },
    watch: { type: 'boolean' },
    ...nodeFlags,
  } as const;
  try {
    const { values, positionals } = parseArgs({ args: own, allowPositionals: true, options });
    const [file, ...more] = positionals;
    if (!file) throw new Error('gjallar run needs the file of an application');
    if (values.workers !== undefined) process.env.WORKERS = values.workers;
    if (values['admin-port'] !== undefined) process.env.ADMIN_PORT = values['admin-port'];
    const { watch = false } = values;
    if (watch) for (const [name, value] of Object.entries(WATCHING)) process.env[name] ??= value;
    return { file: fileOf(file), rest: [...more, ...rest], nodeFlags: nodeFlagsIn(values), watch };
  } catch (error) {
    if (error instanceof GjallarError) throw error;
    throw new GjallarError(
      'BAD_CONFIG',
      `${withMeantOption((error as Error).message, Object.keys(options))}; usage: gjallar run FILE [--workers N] [-- arguments]`,
    );
  }
}

/** With two copies of gjallar, the application's servers would not learn that they run on a worker. */
function checkCopy(file: string): void {
  let used: string;
  try {
    used = realpathSync(createRequire(file).resolve('gjallar/package.json'));
  } catch {
    // An unmodified application has no copy of its own.
    return;
  }
  const own = realpathSync(packagePath('package.json'));
  if (used === own) return;
  throw new GjallarError(
    'BAD_CONFIG',
    `${relative('', file)} uses another copy of gjallar, in ${relative('', used)}; start that one with npx gjallar run`,
  );
}

function greet(file: string, { workers }: RunConfig, { addresses, bus, log }: Started): void {
  const ports = [...new Set(addresses.map(({ port }) => port))];
  const where = ports.length === 0 ? 'runs' : `listens on port ${ports.join(', ')}`;
  const count = `${workers} ${workers === 1 ? 'worker' : 'workers'}`;
  const greeting = `gjallar: ${relative('', file)} ${where} with ${count} on the ${bus} bus${workers > 1 ? CHECK : ''}`;
  logGreeting(log, { version, ports, workers, backplane: bus }, greeting);
}

#!/usr/bin/env node
import nodeModule from 'node:module';
import { parseArgs } from 'node:util';
import { GjallarError } from './base/errors.js';
import { version } from './base/package.js';
import { asksForHelp } from './cli/application-arguments.js';
import { checkProgramRuntime } from './cli/runtime.js';
import { obeyEarlySignals } from './cluster/primary/early-signals.js';

/** By then, a worker has loaded what it needs to listen. */
const FLUSH_AFTER_MS = 2000;

// First of all. The tools end on these signals, as other programs do.
if ([undefined, 'run'].includes(process.argv[2])) obeyEarlySignals();
// Where Node.js has it: the next processes need not compile the code again. By itself, Node.js writes the cache when a
// process ends. The first reload would come before that.
const { enableCompileCache, flushCompileCache } = nodeModule as {
  enableCompileCache?(): void;
  flushCompileCache?(): void;
};
enableCompileCache?.();
if (flushCompileCache) setTimeout(flushCompileCache, FLUSH_AFTER_MS).unref();

main(process.argv.slice(2)).catch((error: unknown) => {
  if (!(error instanceof GjallarError)) throw error;
  console.error(`gjallar: ${error.message}`);
  process.exit(1);
});

/**
 * Each process loads only what it needs: starting a server is mostly that. uWebSockets.js is loaded late also because a
 * missing binary is reported like every other error.
 */
async function main([command, ...rest]: string[]): Promise<void> {
  checkProgramRuntime();
  if (command === 'run') {
    if (asksForHelp(rest)) return console.log((await import('./cli/help.js')).runHelpText(version));
    const { runApplication } = await import('./cli/run.js');
    return runApplication(rest);
  }
  if (command === 'help') return main([...rest, '--help']);
  if (command !== undefined) {
    const { runTool } = await import('./cli/commands.js');
    if (await runTool(command, rest)) return;
  }
  const { help, version: isVersion } = await readArguments(command === undefined ? [] : [command, ...rest]);
  if (help) return console.log((await import('./cli/help.js')).helpText(version));
  if (isVersion) return console.log(version);
  const { runService } = await import('./cli/service.js');
  return runService(version);
}

async function readArguments(args: string[]) {
  const options = { help: { type: 'boolean', short: 'h' }, version: { type: 'boolean', short: 'v' } } as const;
  try {
    return parseArgs({ args, options }).values;
  } catch (error) {
    const { withMeantOption } = await import('./host/config/unknown.js');
    const reason = withMeantOption((error as Error).message, Object.keys(options));
    throw new GjallarError('BAD_CONFIG', `${reason}; run gjallar --help for the options`);
  }
}

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { GjallarError } from '../../errors.js';
import { packageFile } from '../../package.js';
import { trafficHeader } from '../../record/steps.js';
import { fileOf, nodeFlags, nodeFlagsIn, splitArguments } from '../application-arguments.js';
import type { Command } from '../command.js';

const DEFAULT_MAX_BYTES = 16 * 1024 * 1024;
const usage = 'FILE --out FILE [--max-bytes N] [--import MODULE] [-- arguments]';

/**
 * `gjallar record FILE`: runs an application on gjallar in one process, and writes what its clients send, without
 * secrets, for `gjallar compare --traffic`. The exit code is that of the application, or 2 if the call is wrong.
 */
export const record: Command = {
  usage,
  description:
    'Runs your application, and writes what its clients send to a file, without secrets, for gjallar compare.',
  help: `  --out FILE            the file to write; it must not exist yet
  --max-bytes N         stop recording when the file has this size, in bytes; default: ${DEFAULT_MAX_BYTES}
  --import MODULE       passed on to Node.js, such as --import tsx; --require, --loader, --env-file and
                        --conditions are passed on too

The recorder leaves out auth payloads, headers, cookies and bodies, and replaces texts that look like secrets. What users
write stays in the file. Exit code: that of the application, or 2 if the call is wrong.`,
  isForApplications: true,
  async run(args, _config, environment) {
    try {
      const options = readOptions(args);
      create(options.out);
      console.error(
        `gjallar: runs ${relative('', options.file)}, and records what its clients send to ${options.out} (mode 0600, at most ` +
          `${options.maxBytes} bytes): connects, events, answers, and paths of HTTP requests. It removes auth payloads, ` +
          'headers and cookies, bodies, bytes, and texts that look like secrets. What users write stays in the file.',
      );
      return await runApplication(options, environment);
    } catch (error) {
      if (!(error instanceof GjallarError)) throw error;
      console.error(`gjallar: ${error.message}`);
      return 2;
    }
  },
};

type Options = ReturnType<typeof readOptions>;

function readOptions(args: readonly string[]) {
  const { own, rest } = splitArguments(args);
  try {
    const { values, positionals } = parseArgs({
      args: own,
      allowPositionals: true,
      options: { out: { type: 'string' }, 'max-bytes': { type: 'string' }, ...nodeFlags },
    });
    const [file, ...more] = positionals;
    const maxBytes = Number(values['max-bytes'] ?? DEFAULT_MAX_BYTES);
    if (!file) throw new Error('it needs the file of an application');
    if (!values.out) throw new Error('it needs --out with the file to write');
    if (!Number.isSafeInteger(maxBytes) || maxBytes < 1024) throw new Error('--max-bytes must be an integer from 1024');
    const flags = nodeFlagsIn(values);
    return { file: fileOf(file), out: values.out, maxBytes, flags, rest: [...more, ...rest] };
  } catch (error) {
    if (error instanceof GjallarError) throw error;
    throw new GjallarError(
      'BAD_CONFIG',
      `record: ${(error as Error).message.split('.')[0]}; usage: gjallar record ${usage}`,
    );
  }
}

/** Traffic can hold what is private, so only its owner may read it, and no other file is replaced. */
function create(out: string): void {
  try {
    writeFileSync(out, `${JSON.stringify(trafficHeader)}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const what =
      code === 'EEXIST' ? `${out} exists; remove it, or give another --out` : `cannot write ${out} (${code})`;
    throw new GjallarError('BAD_CONFIG', `record: ${what}`);
  }
}

async function runApplication({ file, out, maxBytes, flags, rest }: Options, environment: NodeJS.ProcessEnv) {
  const preload = packageFile('dist/record/preload.js');
  preload.search = String(
    new URLSearchParams({ file: resolve(out), maxBytes: String(maxBytes), began: String(Date.now()) }),
  );
  const child = spawn(process.execPath, [...flags, '--import', preload.href, file, ...rest], {
    env: environment,
    stdio: 'inherit',
  });
  // A terminal sends its signals to the application too. It decides when it ends.
  const listeners = (['SIGINT', 'SIGTERM', 'SIGHUP'] as const).map((signal) => {
    const pass = () => void (process.stdin.isTTY && signal === 'SIGINT' ? undefined : child.kill(signal));
    process.on(signal, pass);
    return () => process.off(signal, pass);
  });
  process.once('exit', () => child.kill('SIGKILL'));
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  for (const forget of listeners) forget();
  return signal ? 128 + constants.signals[signal] : (code ?? 1);
}

import { parseArgs } from 'node:util';
import { own } from '../../base/owner.js';
import type { Config } from '../../config/options.js';
import { GjallarError } from '../../errors.js';
import { adminOf } from '../../http/guard.js';
import type { Overview } from '../../operations/overview/overview.js';
import type { Command } from '../command.js';
import { pictureOf } from './picture.js';
import { readOverview } from './read-overview.js';
import { Screen } from './screen.js';

const INTERVAL_MS = 2000;
/** The width of a picture that goes to a file or a pipe. */
const DEFAULT_COLUMNS = 100;

const usage = 'gjallar top [--admin URL] [--user NAME] [--once] [--json]';

/** `gjallar top`: the operator's page in a terminal. The exit code is 1 if the server cannot be read. */
export const top: Command = {
  usage: '[--admin URL] [--user NAME] [--once] [--json]',
  description:
    'Shows a running server like the page /admin: live, or once for scripts. Reads ADMIN_PORT and ADMIN_PASSWORD.',
  help: `  --admin URL           the admin port of the server; default: ADMIN_HOST and ADMIN_PORT
  --user NAME           user of the admin port, like ADMIN_USER
  --once                print the figures once, and exit
  --json                print the figures once as JSON, and exit

Exit code: 1 if the server cannot be read.`,
  environment(args, environment) {
    const { user } = readArguments(args);
    return user === undefined ? environment : { ...environment, ADMIN_USER: user };
  },
  async run(args, config) {
    const { once, json, admin } = readArguments(args);
    const url = urlOf(admin, config);
    const read = () => readOverview(url, adminOf(config));
    if (json) console.log(JSON.stringify(await read()));
    else if (once || !process.stdout.isTTY || !process.stdin.isTTY) {
      const columns = process.stdout.isTTY ? process.stdout.columns : DEFAULT_COLUMNS;
      console.log(pictureOf(await read(), { columns }).join('\n'));
    } else await watch(read);
    return 0;
  },
};

function readArguments(args: readonly string[]) {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  try {
    return parseArgs({ args: [...args], options: { admin: text, user: text, once: flag, json: flag } }).values;
  } catch (error) {
    throw new GjallarError('BAD_CONFIG', `${(error as Error).message.split('.')[0]}; usage: ${usage}`);
  }
}

function urlOf(given: string | undefined, { adminHost, adminPort }: Config): URL {
  if (given === undefined && !adminPort) {
    throw new GjallarError(
      'BAD_CONFIG',
      'no admin port is named; use --admin http://127.0.0.1:PORT, or set ADMIN_PORT',
    );
  }
  const host = adminHost.includes(':') ? `[${adminHost}]` : adminHost;
  const text = given ?? `http://${host}:${adminPort}`;
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol)) {
    throw new GjallarError('BAD_CONFIG', `--admin must be a URL such as http://127.0.0.1:9000, not "${text}"`);
  }
  return new URL(text);
}

/** Shows the overview until the operator quits. A server that cannot be reached is tried again. */
async function watch(read: () => Promise<Overview>): Promise<void> {
  // The first failure ends the command with one line, on a clean terminal.
  let latest = await read();
  let failure: string | undefined;
  let timer: NodeJS.Timeout | undefined;
  const draw = (size: { columns: number; rows: number }) => {
    const status = failure === undefined ? 'q quits' : `OLD FIGURES: ${failure}`;
    return [status.slice(0, size.columns), ...pictureOf(latest, { ...size, rows: size.rows - 1 })];
  };
  await new Promise<void>((resolve) => {
    const screen = new Screen({ input: process.stdin, output: process.stdout }, draw, () => {
      clearTimeout(timer);
      screen.close();
      resolve();
    });
    const next = () => {
      timer = setTimeout(() => own('reading the figures', refresh()), INTERVAL_MS);
    };
    const refresh = async () => {
      try {
        latest = await read();
        failure = undefined;
      } catch (error) {
        failure = (error as Error).message;
      }
      screen.redraw();
      next();
    };
    screen.open();
    screen.redraw();
    next();
    for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT'] as const) process.once(signal, () => process.exit(0));
  });
}

import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';

export const usage = 'FILE [options] [-- arguments]';

/** What `gjallar compare --help` prints besides. */
export const help = `The application runs three times, one after the other: on stock, on gjallar, and on stock again.
Clients connect to it with the same traffic each time. What differs between the two runs on stock is
not compared.

  --workers N, -w N     run it with gjallar run on N workers; default: one process with
                        gjallar/register
  --get PATH            request this path; may be repeated; default: /
  --emit 'EVENT,JSON'   send this event, such as 'say,"hello"'; may be repeated
  --ask 'EVENT,JSON'    the same, and wait for the acknowledgement; latency is measured with these
  --namespace NAME      connect to this namespace; may be repeated; default: /
  --auth JSON           authentication payload of all clients; without --driver, one client tries
                        without it
  --header 'NAME: VALUE'  header of all clients' Socket.IO requests; may be repeated
  --driver FILE         play the steps that this JavaScript module exports instead
  --path PATH           path of Socket.IO; default: /socket.io/
  --port PORT           port of the application, if it does not listen on that of the variable PORT
  --clients N           clients for the costs; 0 measures none; default: 100
  --rate N              messages a second of all clients together, for the costs; default: 500
  --seconds N           for how long they send; default: 5
  --messages N, --connects N   show the cores for these rates a second; default: 1000 and 10
  --settle MS           how long nothing may move before the next step; default: 100
  --start-timeout S     how long the application may take to start; default: 30
  --json                print the result as JSON
  --import MODULE       passed on to Node.js, such as --import tsx; --require, --loader, --env-file
                        and --conditions are passed on too

Clients connect to this machine only, where the application was started. Exit code: 0 without
differences; 1 with some; 2 if the call is wrong, the application does not start on stock, or no
client can connect to it there.`;

const text = { type: 'string' } as const;
const list = { type: 'string', multiple: true } as const;
const flag = { type: 'boolean' } as const;

export type CompareOptions = ReturnType<typeof readOptions>;

/** An event that clients send. */
export interface SentEvent {
  event: string;
  args: unknown[];
  /** Whether the client asks for an acknowledgement. */
  ack: boolean;
}

/** The call is wrong. */
export class UsageError extends Error {}

export const wrong = (what: string) => new UsageError(`compare: ${what}; usage: gjallar compare ${usage}`);

/** The names of events that Socket.IO emits itself. */
const reserved = ['connect', 'connect_error', 'disconnect', 'disconnecting', 'newListener', 'removeListener'];

export const isReserved = (event: string) => reserved.includes(event);

/** The flags of Node.js that are passed on to the application. `gjallar run` has the same. */
const nodeFlags = {
  import: list,
  require: { ...list, short: 'r' },
  loader: list,
  'env-file': list,
  conditions: { ...list, short: 'C' },
} as const;

/** @throws UsageError with what is wrong */
export function readOptions(args: readonly string[]) {
  // Everything behind `--` belongs to the application.
  const end = args.includes('--') ? args.indexOf('--') : args.length;
  const { values, positionals, tokens } = parse(args.slice(0, end));
  const [file, ...more] = positionals;
  if (!file) throw wrong('it needs the file of an application');
  if (values.traffic) throw wrong('--traffic was removed; write the steps into a file for --driver');
  if (values.driver && (values.emit || values.ask || values.get)) {
    throw wrong('--driver replaces --get, --emit and --ask');
  }
  const path = values.path ?? '/socket.io/';
  if (!path.startsWith('/')) throw wrong('--path must begin with a slash');
  return {
    file: fileOf(file),
    rest: [...more, ...args.slice(end + 1)],
    nodeFlags: (Object.keys(nodeFlags) as (keyof typeof nodeFlags)[]).flatMap((name) =>
      (values[name] ?? []).flatMap((value) => [`--${name}`, value]),
    ),
    workers: values.workers === undefined ? undefined : number('workers', values.workers, 1, 1024),
    driver: values.driver,
    paths: values.get ?? ['/'],
    // In the order of the command line.
    events: tokens.flatMap((token) =>
      token.kind === 'option' && (token.name === 'emit' || token.name === 'ask')
        ? [eventOf(token.name, token.value ?? '')]
        : [],
    ),
    namespaces: values.namespace ?? ['/'],
    auth: values.auth === undefined ? undefined : objectOf('auth', values.auth),
    headers: Object.fromEntries((values.header ?? []).map(headerOf)),
    path: path.endsWith('/') ? path : `${path}/`,
    port: values.port === undefined ? undefined : number('port', values.port, 1, 65_535),
    clients: number('clients', values.clients ?? '100', 0, 2000),
    rate: number('rate', values.rate ?? '500', 1, 20_000),
    seconds: number('seconds', values.seconds ?? '5', 1, 120),
    settleMs: number('settle', values.settle ?? '100', 10, 5000),
    startTimeoutMs: 1000 * number('start-timeout', values['start-timeout'] ?? '30', 1, 600),
    messagesPerSecond: number('messages', values.messages ?? '1000', 0, 1e9),
    connectsPerSecond: number('connects', values.connects ?? '10', 0, 1e9),
    json: values.json === true,
  };
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      tokens: true,
      options: {
        workers: { ...text, short: 'w' },
        driver: text,
        // Removed; a call that has it is told what replaces it.
        traffic: text,
        get: list,
        emit: list,
        ask: list,
        namespace: list,
        auth: text,
        header: list,
        path: text,
        port: text,
        clients: text,
        rate: text,
        seconds: text,
        settle: text,
        messages: text,
        connects: text,
        json: flag,
        'start-timeout': text,
        ...nodeFlags,
      },
    });
  } catch (error) {
    throw wrong((error as Error).message.split('.')[0]!);
  }
}

/** Finds the file as `node FILE` does, which accepts folders, and names without an extension. */
function fileOf(given: string): string {
  const path = resolve(given);
  try {
    return createRequire(import.meta.url).resolve(path);
  } catch {
    if (existsSync(path)) return path;
    throw new UsageError(`cannot find ${given}; give the file that starts the application`);
  }
}

function number(name: string, given: string, least: number, most: number): number {
  const value = Number(given);
  if (given.trim() !== '' && value >= least && value <= most) return value;
  throw wrong(`--${name} must be a number from ${least} to ${most}, not "${given}"`);
}

/** `event,json,json`: what follows the name is the arguments, as the elements of a JSON array. */
function eventOf(option: 'emit' | 'ask', given: string): SentEvent {
  const comma = given.indexOf(',');
  const event = comma === -1 ? given : given.slice(0, comma);
  if (isReserved(event)) throw wrong(`--${option} cannot send "${event}", which Socket.IO reserves`);
  try {
    const args = comma === -1 ? [] : (JSON.parse(`[${given.slice(comma + 1)}]`) as unknown[]);
    return { event, args, ack: option === 'ask' };
  } catch {
    throw wrong(`--${option} must be an event and its arguments in JSON, such as 'say,"hello"', not "${given}"`);
  }
}

function objectOf(name: string, given: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(given);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {}
  throw wrong(`--${name} must be an object in JSON`);
}

function headerOf(given: string): [string, string] {
  const [, name, value] = /^([^:\s]+):\s*(.*)$/.exec(given) ?? [];
  if (name === undefined) throw wrong(`--header must be "name: value", not "${given}"`);
  return [name, value!];
}

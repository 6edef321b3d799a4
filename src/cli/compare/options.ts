import { parseArgs } from 'node:util';
import { GjallarError } from '../../errors.js';
import { fileOf, nodeFlags, nodeFlagsIn, splitArguments } from '../application-arguments.js';
import { isReserved, type SentEvent } from './generate.js';

export const usage =
  "FILE [--workers N] [--driver FILE | --get PATH --emit 'EVENT,JSON' --ask 'EVENT,JSON'] [options] [-- arguments]";

const text = { type: 'string' } as const;
const list = { type: 'string', multiple: true } as const;
const flag = { type: 'boolean' } as const;

export type CompareOptions = ReturnType<typeof readOptions>;

/** @throws GjallarError BAD_CONFIG with what is wrong */
export function readOptions(args: readonly string[]) {
  const { own, rest } = splitArguments(args);
  const { values, positionals, tokens } = parse(own);
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
    rest: [...more, ...rest],
    nodeFlags: nodeFlagsIn(values),
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

export function wrong(what: string): GjallarError {
  return new GjallarError('BAD_CONFIG', `compare: ${what}; usage: gjallar compare ${usage}`);
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

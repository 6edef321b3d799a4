import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type CompareOptions, isReserved, wrong } from './options.js';

/** One thing that a client does, in the order in which `gjallar compare` plays them. `client` names the client. */
export type Step =
  | { do: 'open'; client: string; transport: string; query?: Record<string, string> }
  | { do: 'upgrade'; client: string }
  | { do: 'connect'; client: string; namespace: string; auth?: Record<string, unknown> }
  | { do: 'emit'; client: string; namespace: string; event: string; args: unknown[]; ack?: boolean }
  /** What the client answers to the server's next event that asks for an acknowledgement. */
  | { do: 'answer'; client: string; namespace: string; args: unknown[] }
  | { do: 'leave'; client: string; namespace: string }
  | { do: 'close'; client: string }
  | { do: 'request'; method: string; path: string };

/** The ways in which clients connect: each transport alone, and the default, which upgrades. */
const transports = [['websocket'], ['polling'], ['polling', 'upgrade']] as const;
/** Requests that Engine.IO answers with an error. */
const wrongRequests = ['?EIO=4&transport=none', '?EIO=4&transport=polling&sid=unknown', '?EIO=2&transport=polling'];

/**
 * The steps of a driver file, or those that the options ask for. The player waits after each step until nothing moves.
 * @throws UsageError with the first step of the file that is wrong
 */
export async function stepsOf(options: CompareOptions): Promise<readonly Step[]> {
  return options.driver === undefined ? generate(options) : readDriver(options.driver);
}

function generate({ namespaces, events, paths, path, auth }: CompareOptions): Step[] {
  const steps: Step[] = [];
  const open = (client: string, [transport, upgrade]: readonly string[], auth?: Record<string, unknown>) => {
    steps.push({ client, do: 'open', transport: transport! });
    if (upgrade) steps.push({ client, do: 'upgrade' });
    for (const namespace of client === 'stranger' ? ['/no-such-namespace'] : namespaces) {
      steps.push({ client, do: 'connect', namespace, auth });
    }
    return client;
  };
  for (const to of [...paths, ...wrongRequests.map((query) => path + query)]) {
    steps.push({ do: 'request', method: 'GET', path: to });
  }
  const clients = transports.map((transport) => open(transport.join('-and-'), transport));
  open('stranger', ['websocket']);
  if (auth) open('without-auth', ['websocket'], {});
  for (const namespace of namespaces) {
    for (const event of events) {
      for (const client of clients) steps.push({ client, namespace, do: 'emit', ...event });
    }
  }
  for (const namespace of namespaces) steps.push({ client: clients[0]!, do: 'leave', namespace });
  for (const client of clients.slice(1)) steps.push({ client, do: 'close' });
  return steps;
}

/** The fields of each step that are texts. */
const FIELDS: Readonly<Record<Step['do'], readonly string[]>> = {
  open: ['client', 'transport'],
  upgrade: ['client'],
  connect: ['client', 'namespace'],
  emit: ['client', 'namespace', 'event'],
  answer: ['client', 'namespace'],
  leave: ['client', 'namespace'],
  close: ['client'],
  request: ['method', 'path'],
};
/** The player requests nothing that changes data. */
const METHODS = ['GET', 'HEAD', 'OPTIONS'];

/** Reads the steps that a driver file exports as its default. */
async function readDriver(file: string): Promise<Step[]> {
  const { default: steps } = await import(pathToFileURL(resolve(file)).href).catch((error: Error) => {
    throw wrong(`--driver: cannot load ${file}: ${error.message.split('\n')[0]}`);
  });
  if (!Array.isArray(steps) || steps.length === 0)
    throw wrong(`--driver: ${file} must export a list of steps by default`);
  const opened = new Set<unknown>();
  for (const [index, step] of steps.entries()) {
    const text = jsonOf(step);
    const where = `step ${index + 1} of ${file}`;
    if (text === undefined) throw wrong(`--driver: ${where} has a value that JSON cannot express`);
    if (!isStep(step)) throw wrong(`--driver: ${where} is wrong: ${text}`);
    if (step.do === 'open') opened.add(step.client);
    else if (step.do !== 'request' && !opened.has(step.client))
      throw wrong(`--driver: ${where} names a client that no step before it opens: ${text}`);
  }
  return steps;
}

function jsonOf(step: unknown): string | undefined {
  try {
    return JSON.stringify(step);
  } catch {
    return undefined;
  }
}

function isStep(step: Record<string, unknown> | null): boolean {
  const fields = step && Object.hasOwn(FIELDS, String(step.do)) ? FIELDS[step.do as Step['do']] : undefined;
  if (!step || !fields?.every((field) => typeof step[field] === 'string')) return false;
  if (step.do === 'request') return METHODS.includes(step.method as string) && (step.path as string).startsWith('/');
  if (step.do === 'emit') return Array.isArray(step.args) && !isReserved(step.event as string);
  return step.do !== 'answer' || Array.isArray(step.args);
}

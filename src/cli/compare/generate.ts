import { reservedEvents } from '../../compat/socket-io-parser.js';
import type { Step } from './steps.js';

/** An event that generated clients send. */
export interface SentEvent {
  event: string;
  args: unknown[];
  /** Whether the client asks for an acknowledgement. */
  ack: boolean;
}

/** Whether clients may not send an event of this name, because Socket.IO emits it itself. */
export const isReserved = (event: string) => reservedEvents.has(event);

export interface Generated {
  namespaces: readonly string[];
  events: readonly SentEvent[];
  paths: readonly string[];
  /** The path of Socket.IO, with a slash at its end. */
  path: string;
  hasAuth: boolean;
}

/** The ways in which clients connect: each transport alone, and the default, which upgrades. */
const transports = [['websocket'], ['polling'], ['polling', 'upgrade']] as const;

/** Requests that Engine.IO answers with an error. */
const wrongRequests = ['?EIO=4&transport=none', '?EIO=4&transport=polling&sid=unknown', '?EIO=2&transport=polling'];

/** The traffic of `gjallar compare` without a driver file. The player waits after each step until nothing moves. */
export function generate({ namespaces, events, paths, path, hasAuth }: Generated): Step[] {
  const steps: Step[] = [];
  const request = (to: string) => steps.push({ do: 'request', method: 'GET', path: to });
  for (const one of paths) request(one);
  for (const query of wrongRequests) request(path + query);
  const clients = transports.map((transport) => {
    const client = transport.join('-and-');
    open(steps, client, transport);
    for (const namespace of namespaces) steps.push({ client, do: 'connect', namespace });
    return client;
  });
  open(steps, 'stranger', ['websocket']);
  steps.push({ client: 'stranger', do: 'connect', namespace: '/no-such-namespace' });
  if (hasAuth) {
    open(steps, 'without-auth', ['websocket']);
    for (const namespace of namespaces) steps.push({ client: 'without-auth', do: 'connect', namespace, auth: {} });
  }
  for (const namespace of namespaces) {
    for (const event of events) {
      for (const client of clients) steps.push({ client, namespace, do: 'emit', ...event });
    }
  }
  for (const namespace of namespaces) steps.push({ client: clients[0]!, do: 'leave', namespace });
  for (const client of clients.slice(1)) steps.push({ client, do: 'close' });
  return steps;
}

function open(steps: Step[], client: string, [transport, upgrade]: readonly string[]): void {
  steps.push({ client, do: 'open', transport: transport! });
  if (upgrade) steps.push({ client, do: 'upgrade' });
}

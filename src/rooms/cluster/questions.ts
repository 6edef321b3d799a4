import type { Namespace, Server } from 'socket.io';
import { hasOthers } from '../local-adapter.js';

/** Adapters themselves wait for 5 s. */
const MAX_WAIT_MS = 6000;

// biome-ignore lint/suspicious/noExplicitAny: socket.io's own types for servers with any events
export type AnyServer = Server<any, any, any, any>;
// biome-ignore lint/suspicious/noExplicitAny: socket.io's own types for servers with any events
export type AnyNamespace = Namespace<any, any, any, any>;

export function namespaceOf(of: AnyServer | AnyNamespace): Namespace {
  return 'of' in of ? of.of('/') : of;
}

/**
 * Asks all other servers of a namespace.
 * @param isExpected whether an answer is one of those that servers of this version give
 * @returns the answers, and whether all servers have given one
 */
export async function askServers<Expected>(
  nsp: AnyNamespace,
  event: string,
  question: unknown,
  isExpected: (answer: unknown) => answer is Expected,
): Promise<{ answers: Expected[]; isComplete: boolean }> {
  if (!hasOthers(nsp.adapter)) return { answers: [], isComplete: true };
  const { error, responses } = await new Promise<{ error: unknown; responses: readonly unknown[] }>((resolve) => {
    const onEnd = (error: unknown, responses: readonly unknown[] = []) => {
      clearTimeout(timer);
      resolve({ error, responses });
    };
    // An adapter whose Redis is down may never call back.
    const timer = setTimeout(() => onEnd('no answer'), MAX_WAIT_MS);
    nsp.serverSideEmit(event, question, onEnd);
  });
  const answers = responses.filter(isExpected);
  return { answers, isComplete: !error && answers.length === responses.length };
}

/** Listens to an event of other servers. A server makes a further adapter for the same namespace when the application sets one. */
export function listenOnce(
  nsp: Namespace,
  event: string,
  listener: (this: Namespace, ...values: unknown[]) => void,
): void {
  const listeners = nsp.listeners(event as never) as unknown[];
  if (!listeners.includes(listener)) nsp.on(event as never, listener as never);
}

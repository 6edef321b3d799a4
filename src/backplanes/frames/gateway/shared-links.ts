import type { WorkerLinks } from '../../../base/worker-links.js';

/**
 * Two purposes on the same links: one gets the payloads that begin with a version, the other one all others.
 */
export function linksByVersion(links: WorkerLinks, version: number): { others: WorkerLinks; ofVersion: WorkerLinks } {
  type Listener = Parameters<WorkerLinks['onMessage']>[0];
  const listeners: { others: Listener; ofVersion: Listener } = { others: () => {}, ofVersion: () => {} };
  links.onMessage((from, payload) => listeners[payload[0] === version ? 'ofVersion' : 'others'](from, payload));
  const shared = (name: keyof typeof listeners): WorkerLinks => ({
    id: links.id,
    get members() {
      return links.members;
    },
    send: (to, payload) => links.send(to, payload),
    broadcast: (payload) => links.broadcast(payload),
    flush: () => links.flush?.(),
    onMessage: (listener) => {
      listeners[name] = listener;
    },
    onLeave: (listener) => links.onLeave(listener),
  });
  return { others: shared('others'), ofVersion: shared('ofVersion') };
}

// The wire format of Engine.IO v4 and Socket.IO v5 by hand, for WebSocket clients on namespace "/" only: what peers without
// a library for it share.

import { randomBytes } from 'node:crypto';
import { settings } from './control.js';

const { pingInterval, pingTimeout } = settings;
const sessionId = () => randomBytes(15).toString('base64url');

export const MAX_PAYLOAD = 1e6;

export const openPacket = () =>
  `0${JSON.stringify({ sid: sessionId(), upgrades: [], pingInterval, pingTimeout, maxPayload: MAX_PAYLOAD })}`;

export const eventPacket = (name, value) => `42${JSON.stringify([name, value])}`;

/**
 * Handles a packet from a client. Returns whether the client may go on.
 * @param {{ send(text: string): void }} client
 * @param {string} packet
 * @param {Record<string, (client: any, value: any, ack: string) => void>} handlers of events, by name
 */
export function receive(client, packet, handlers) {
  if (packet === '3') return true;
  if (packet === '40') {
    client.send(`40{"sid":"${sessionId()}"}`);
    return true;
  }
  // 42["event",…] or, with the number under which an acknowledgement is expected, 420["event",…]
  const start = packet.indexOf('[');
  if (!packet.startsWith('42') || start === -1) return false;
  const [name, value] = JSON.parse(packet.slice(start));
  handlers[name](client, value, packet.slice(2, start));
  return true;
}

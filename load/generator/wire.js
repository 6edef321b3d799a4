// What a client of Socket.IO puts on the wire.

import { frame, opcodes, upgradeRequest } from '../harness/connection.js';

/** The request of a client that starts with WebSocket at once, with the headers that RFC 6455 (section 4.1) demands. */
export const socketRequest = (sid) =>
  upgradeRequest(`/socket.io/?EIO=4&transport=websocket${sid ? `&sid=${sid}` : ''}`);

/** @param {string} text an Engine.IO packet */
export const textFrame = (text) => frame(text);

/** @param {unknown[]} event a Socket.IO event: its name and arguments */
export const eventFrame = (...event) => textFrame(`42${JSON.stringify(event)}`);

/** The answer to a WebSocket ping (not to be confused with Engine.IO's own). */
export const pongFrame = (payload) => frame(payload, { opcode: opcodes.pong });

export const CONNECT = textFrame('40');
export const ENGINE_PONG = textFrame('3');
export const PROBE = textFrame('2probe');
export const UPGRADE = textFrame('5');

// What a client of Socket.IO puts on the wire.

import { frame as textFrame, upgradeRequest } from '../harness/connection.js';

export { textFrame };

/** The request of a client that starts with WebSocket at once, with the headers that RFC 6455 (section 4.1) demands. */
export const socketRequest = (sid) =>
  upgradeRequest(`/socket.io/?EIO=4&transport=websocket${sid ? `&sid=${sid}` : ''}`);

/** @param {unknown[]} event a Socket.IO event: its name and arguments */
export const eventFrame = (...event) => textFrame(`42${JSON.stringify(event)}`);

export const CONNECT = textFrame('40');
export const ENGINE_PONG = textFrame('3');
export const PROBE = textFrame('2probe');
export const UPGRADE = textFrame('5');

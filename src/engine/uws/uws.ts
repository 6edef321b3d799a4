/**
 * uWebSockets.js, if it has a binary for this system. The package is loaded in a way that works from CommonJS too, because
 * tools such as tsx and jest may compile this code to CommonJS.
 */
import { checkHeadBytes, chosenSockets, portOwnerOfEnvironment } from './environment.js';
import { loadSockets } from './load.js';

checkHeadBytes();
// An unknown value ends the start here, before the primary of `gjallar run` starts a worker.
portOwnerOfEnvironment();
const loaded = loadSockets(chosenSockets);

/** Which sockets these are, and if they are portable, why, and what would bring native ones. */
export const socketsInUse = loaded.facts;

/** Whether they close a connection that has been idle for 10 s, and no option changes that. */
export const closesIdleConnections = socketsInUse.kind === 'native';

/** uWebSockets.js; undefined if the sockets are portable. */
export const uws = loaded.sockets;

/**
 * Whether uWebSockets.js has ended a WebSocket because of what the client sent, such as a message that is too large. It
 * reports this only in the reason that its `close` handler gets; no client can send the code 1006.
 */
export function isForbiddenFrame(code: number, reason: string): boolean {
  return code === 1006 && reason.startsWith('Received ') && !reason.includes('TCP FIN');
}

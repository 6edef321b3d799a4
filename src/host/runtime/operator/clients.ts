import type { Server, Socket } from 'socket.io';
import { canonicalAddress } from '../../../engine/limits/address-limits.js';
import { privateParts } from '../../../io/socket-io-server.private.js';
import { byId, type ClientFacts, type ClientList, type ClientQuery, PAGE } from '../../operations/overview/clients.js';
import type { ApplicationView } from '../application.js';
import type { OperatorSeam } from './actions.js';

/** How many rooms of a client are named. */
const MAX_ROOMS = 20;
/** How many sockets are looked at before the worker does other work. */
const SLICE = 2000;

/** Finds the sockets of this worker that a page of the operator's table may show. */
export async function findClients(
  { search, namespace, room, after }: ClientQuery,
  servers: readonly Server[],
  seam: OperatorSeam,
  view: ApplicationView,
): Promise<ClientList> {
  let found: ClientFacts[] = [];
  let matching = 0;
  let looked = 0;
  const wanted = search.toLowerCase();
  for (const io of servers) {
    for (const [name, nsp] of privateParts(io)._nsps) {
      if (room !== undefined && name !== namespace) continue;
      const ids = room === undefined ? nsp.sockets.keys() : (nsp.adapter.rooms.get(room) ?? []);
      for (const id of ids) {
        if (++looked % SLICE === 0) await new Promise((resolve) => setImmediate(resolve));
        const socket = nsp.sockets.get(id);
        if (!socket) continue;
        const user = seam.userOf(socket);
        const address = canonicalAddress(socket.conn.remoteAddress ?? '');
        if (wanted && ![user ?? '', address, id].some((text) => text.toLowerCase().includes(wanted))) continue;
        matching++;
        if (id <= after) continue;
        found.push({ id, user, address, transport: socket.conn.transport.name, ...placesOf(socket, name, view) });
        if (found.length >= 4 * PAGE) found = found.sort(byId).slice(0, PAGE);
      }
    }
  }
  return { matching, clients: found.sort(byId).slice(0, PAGE) };
}

function placesOf({ id, rooms }: Socket, namespace: string, view: ApplicationView) {
  const named: ClientFacts['rooms'] = [];
  let roomCount = 0;
  for (const room of rooms) {
    const name = room === id ? undefined : view.nameOf(namespace, room);
    if (name === undefined) continue;
    roomCount++;
    if (named.length < MAX_ROOMS) named.push({ room, name });
  }
  return { namespace, rooms: named, roomCount };
}

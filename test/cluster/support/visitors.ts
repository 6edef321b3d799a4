import { once } from 'node:events';
import { type Agent, request } from 'node:http';
import WebSocket from 'ws';
import { type ChatClient, connect, connected, upgraded } from '../../support/clients.js';
import type { RunningServer } from '../../support/server.js';

/** Clients of each transport, in turn, that come back soon. */
export async function crowd({ url }: RunningServer, count: number): Promise<ChatClient[]> {
  const transports = [['polling'], ['websocket'], ['polling', 'websocket']] as 'polling'[][];
  const clients = Array.from({ length: count }, (_, index) =>
    connect(url, { transports: transports[index % 3], reconnectionDelay: 50, reconnectionDelayMax: 200 }),
  );
  await Promise.all(clients.map((client, index) => (index % 3 === 2 ? upgraded(client) : connected(client))));
  return clients;
}

export async function plainMember(
  { port }: RunningServer,
  room: string,
): Promise<{ socket: WebSocket; closed: Promise<[number, string]> }> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/${room}`);
  const closed = once(socket, 'close').then(([code, reason]) => [code, String(reason)] as [number, string]);
  await once(socket, 'open');
  return { socket, closed };
}

/** What /readyz says, on a connection of its own or on that of an agent. */
export function readyz(
  { url }: RunningServer,
  agent?: Agent,
): Promise<{ status: number; state: string; connection: string | undefined }> {
  return new Promise((resolve, reject) => {
    request(`${url}/readyz`, { agent: agent ?? false }, async (response) => {
      let body = '';
      for await (const chunk of response) body += chunk;
      const { statusCode: status = 0, headers } = response;
      resolve({ status, state: JSON.parse(body).state, connection: headers.connection });
    })
      .on('error', reject)
      .end();
  });
}

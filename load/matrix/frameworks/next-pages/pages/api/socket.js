// Socket.IO on the server that Next.js has started: the first request attaches it.

import { Server } from 'socket.io';
import chat from '../../chat.cjs';

export default function handler(_request, response) {
  const { server } = response.socket;
  if (!server.io) {
    server.io = new Server(server, { path: '/api/socket.io/' });
    chat(server.io);
  }
  response.status(200).json({ attached: true });
}

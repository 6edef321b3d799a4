// Vite in middleware mode, with its WebSocket for HMR on the port of the application.

import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import express from 'express';
import { Server } from 'socket.io';
import { createServer as createVite } from 'vite';
import chat from './chat.cjs';

const app = express();
const server = createServer(app);
const vite = await createVite({
  root: fileURLToPath(new URL('.', import.meta.url)),
  configFile: false,
  logLevel: 'warn',
  server: { middlewareMode: true, hmr: { server } },
});
app.get('/api', (_request, response) => response.json({ api: true }));
app.use(vite.middlewares);
chat(new Server(server));
server.listen(process.env.PORT, process.env.HOST);

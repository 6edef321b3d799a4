import { createServer } from 'node:http';
import express from 'express';
import { Server } from 'socket.io';
import chat from './chat.cjs';

const app = express();
app.get('/about', (_, response) => response.json({ bundled: true }));
const server = createServer(app);
chat(new Server(server));
server.listen(process.env.PORT, process.env.HOST);

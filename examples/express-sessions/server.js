// A session of Express that HTTP requests and sockets share.
import { createServer } from 'node:http';
import express from 'express';
import session from 'express-session';
import { Server } from 'gjallar';

const sessions = session({
  secret: process.env.SESSION_SECRET ?? 'for development only',
  resave: false,
  saveUninitialized: true,
});

const app = express();
app.use(sessions);
app.get('/', (request, response) => {
  request.session.visits = (request.session.visits ?? 0) + 1;
  response.json({ visits: request.session.visits });
});

const server = createServer(app);
const io = new Server(server);
io.engine.use(sessions);

io.on('connection', (socket) => {
  const { request } = socket;
  // All sockets of a session, to reach every tab of one user.
  socket.join(request.session.id);
  socket.on('visits', (reply) => {
    // The session may have changed since the handshake. A reload replaces `request.session`.
    request.session.reload((error) => reply(error ? 0 : (request.session.visits ?? 0)));
  });
});

const port = Number(process.env.PORT ?? 3000);
server.listen(port, () => console.log(`listening on ${port}`));

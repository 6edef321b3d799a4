// Sends news to clients of Socket.IO, and to browsers without a client library as a stream of events (EventSource).
//
// gjallar knows the streams as clients of the engine: what waits for them counts for `maxBuffered`, and a drain tells them to
// connect elsewhere, as it does with sockets.
import { createServer } from 'node:http';
import { Server } from 'gjallar';

const streams = new Set();

const server = createServer((request, response) => {
  if (request.url !== '/news') return response.writeHead(404).end();
  // From this level on, the engine rejects new clients with `shedsLoad`.
  if (io.engine.load.level >= 2) return response.writeHead(503, { 'Retry-After': '5' }).end();
  response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  response.write('data: Welcome!\n\n');
  const stream = {
    response,
    get bufferedAmount() {
      return response.writableLength;
    },
    // The client reads too slowly. EventSource connects again by itself.
    onOverflow: () => response.destroy(),
  };
  streams.add(stream);
  response.on('close', () => streams.delete(stream));
});

const io = new Server(server, { shedsLoad: true });
io.engine.otherClients.add({
  all: streams,
  isQuiet: () => true,
  dismiss: ({ response }) => response.end('event: moved\ndata: Connect again.\n\n'),
});

const tellStreams = (text) => {
  for (const { response } of streams) response.write(`data: ${JSON.stringify(text)}\n\n`);
};
// The other workers have streams too.
io.on('news', tellStreams);
io.on('connection', (socket) => {
  socket.on('publish', (text) => {
    io.emit('news', text);
    tellStreams(text);
    io.serverSideEmit('news', text);
  });
});

const port = Number(process.env.PORT ?? 3000);
server.listen(port, () => console.log(`listening on ${port}`));

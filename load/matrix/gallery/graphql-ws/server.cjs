const { createServer } = require('node:http');
const { buildSchema } = require('graphql');
const { createClient } = require('graphql-ws');
const { useServer } = require('graphql-ws/use/ws');
const { Server } = require('socket.io');
const { WebSocket, WebSocketServer } = require('ws');
const chat = require('./chat.cjs');

const server = createServer((_request, response) => response.end('graphql-ws'));
const io = new Server(server);
chat(io);

async function* count({ to }) {
  for (let n = 1; n <= to; n++) yield { count: n };
}
const schema = buildSchema('type Query { add(a: Int!, b: Int!): Int } type Subscription { count(to: Int!): Int }');
const roots = { query: { add: ({ a, b }) => a + b }, subscription: { count } };
// With the option `server`, `ws` would reject the WebSockets of Socket.IO, on stock too.
const webSockets = new WebSocketServer({ noServer: true });
useServer({ schema, roots }, webSockets);
server.on('upgrade', (request, socket, head) => {
  if (request.url !== '/graphql') return;
  webSockets.handleUpgrade(request, socket, head, (webSocket) => webSockets.emit('connection', webSocket, request));
});

io.on('connection', (socket) => {
  // Over a WebSocket of its own on this port.
  socket.on('graphql', async (query, done) => {
    const client = createClient({ url: `ws://${socket.handshake.headers.host}/graphql`, webSocketImpl: WebSocket });
    const results = [];
    try {
      for await (const result of client.iterate({ query })) results.push(result);
    } catch (errors) {
      // An invalid query ends with a list of errors.
      results.push(...errors.map(({ message }) => message));
    }
    await client.dispose();
    done(results);
  });
});
server.listen(Number(process.env.PORT), process.env.HOST);

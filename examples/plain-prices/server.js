// Prices over plain WebSockets, which any client can read, and an HTTP route that sets them. Both share the port, the limits
// and the outbox of an engine, on uWebSockets.js and on portable sockets. README.md says how to run it.
import { App, Engine, GjallarError } from 'gjallar';
import { answerHttp, readJson, sendJson, WorkQueue } from 'gjallar/http';
import { PlainWebSockets } from 'gjallar/plain';

const app = App();
const engine = new Engine({ maxConnectionsPerIp: 100, shedsLoad: true }).attach(app);
const prices = new Map();

/** The symbol in a path such as `/prices/AAPL`. */
function symbolOf(url) {
  const symbol = /^\/prices\/([A-Z]{1,5})(?:\?|$)/.exec(url)?.[1];
  if (symbol === undefined) throw new GjallarError('NOT_FOUND', 'A symbol has 1 to 5 capital letters.');
  return symbol;
}

const plain = new PlainWebSockets(engine).attach(app, {
  pattern: '/prices/*',
  admit: async ({ url }) => {
    const room = symbolOf(url);
    return {
      room,
      enter: async (client) => client.send([`${prices.get(room) ?? 'unknown'}`]),
      say: async () => {
        throw new GjallarError('BAD_INPUT');
      },
      leave: () => {},
    };
  },
});

answerHttp(app, engine, {
  pattern: '/prices/*',
  maxBody: 1000,
  handle: async (exchange) => {
    const symbol = symbolOf(exchange.request.url);
    if (exchange.request.method !== 'PUT') throw new GjallarError('METHOD_NOT_ALLOWED');
    if (engine.load.rejectsMessages) throw new GjallarError('OVERLOADED');
    const price = await readJson(exchange);
    if (typeof price !== 'number') throw new GjallarError('BAD_INPUT', 'Send a number.');
    prices.set(symbol, price);
    plain.publish(symbol, `${price}`);
    sendJson(exchange, 200, {}, { ok: true });
  },
});

// Lists of all prices: one at a time for each address, which pays for their bytes before its next one, so that many
// requests of one client delay nobody else.
const lists = new WorkQueue('lists of prices', engine.costs);
answerHttp(app, engine, {
  pattern: '/prices',
  handle: async (exchange) => {
    const address = exchange.request.connection.remoteAddress;
    await lists.run(address, async () => {
      engine.costs.charge(address, 20 * prices.size);
      sendJson(exchange, 200, {}, { ok: true, prices: Object.fromEntries(prices) });
    });
  },
});

const port = Number(process.env.PORT ?? 3000);
app.listen('127.0.0.1', port, (socket) =>
  console.log(socket ? `listening on ${port}` : `cannot listen on port ${port}: it is in use; set PORT to a free one`),
);

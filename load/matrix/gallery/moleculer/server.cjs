const { ServiceBroker } = require('moleculer');
const SocketIO = require('moleculer-io');
const chat = require('./chat.cjs');

const broker = new ServiceBroker({ logger: false });
broker.createService({
  name: 'math',
  actions: {
    add: { params: { a: 'number', b: 'number' }, handler: ({ params: { a, b } }) => a + b },
  },
});
broker.createService({
  name: 'room',
  actions: {
    say: (ctx) =>
      ctx.call('io.broadcast', { namespace: '/', event: 'said', args: [ctx.params.text], rooms: [ctx.params.room] }),
  },
});
broker.createService({
  name: 'io',
  mixins: [SocketIO],
  settings: {
    port: Number(process.env.PORT),
    io: {
      namespaces: {
        '/': {
          events: {
            call: { whitelist: ['math.add', 'room.say'], aliases: { plus: 'math.add' } },
            enter: async function (room, done) {
              await this.join(room);
              done('in');
            },
          },
        },
      },
    },
  },
  started() {
    chat(this.io, '/chat');
  },
});
broker.start();

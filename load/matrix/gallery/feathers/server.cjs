const { feathers } = require('@feathersjs/feathers');
const { NotFound } = require('@feathersjs/errors');
const { bodyParser, errorHandler, koa, rest } = require('@feathersjs/koa');
const socketio = require('@feathersjs/socketio');
const chat = require('./chat.cjs');

const app = koa(feathers());
app.use(errorHandler());
app.use(bodyParser());
app.configure(rest());
app.configure(socketio((io) => chat(io)));
app.use('messages', {
  async find({ query }) {
    return [{ text: 'first', query }];
  },
  async get(id) {
    throw new NotFound(`no message ${id}`);
  },
  async create({ text }, { provider }) {
    return { text, provider };
  },
});
app.service('messages').hooks({ before: { create: [async ({ data }) => (data.text = data.text.trim())] } });
app.on('connection', (connection) => app.channel('everybody').join(connection));
app.service('messages').publish(() => app.channel('everybody'));
app.listen(process.env.PORT, process.env.HOST);

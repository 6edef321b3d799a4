import { talk } from '../talk.js';
import { next, Visitor } from '../visitor.js';

const withPage = async (visitor) => ({ page: await visitor.http('/'), sockets: await talk(visitor) });

export default {
  dies: {
    file: 'bad/dies.cjs',
    about: 'the application dies of an error',
    script: async (visitor) => {
      const clients = [];
      for (const transports of [['polling'], ['websocket']]) clients.push(await visitor.connected('/', { transports }));
      const gone = Promise.all(clients.map((one) => next(one, 'disconnect')));
      clients[1].emit('die');
      return { reasons: (await gone).map(([reason]) => reason), exit: await visitor.application.exited };
    },
  },
  'never-listens': {
    file: 'bad/never-listens.cjs',
    about: 'the http server never listens',
    listens: false,
    script: async (visitor) => ({ exit: await visitor.application.exited }),
  },
  'listens-twice': {
    file: 'bad/listens-twice.cjs',
    about: 'the http server listens twice',
    isStateless: true,
    script: withPage,
  },
  'port-taken': {
    file: 'bad/port-taken.cjs',
    about: 'the port is in use',
    listens: false,
    script: async (visitor) => ({ exit: await visitor.application.exited }),
  },
  'unix-socket': {
    file: 'bad/unix-socket.cjs',
    about: 'a Unix socket behind a proxy',
    onNode: ['register', 'run'],
    script: withPage,
  },
  'port-0': {
    file: 'bad/port-0.cjs',
    about: 'port 0',
    listens: false,
    isStateless: true,
    script: async ({ application }) => {
      const [, port] = await application.line(/port: (\d+)/);
      const visitor = new Visitor(application, { port: Number(port) });
      const record = await withPage(visitor);
      await visitor.leave();
      return record;
    },
  },
  'already-listening': {
    file: 'bad/already-listening.cjs',
    about: 'the http server listens before Server is made',
    isStateless: true,
    // With several workers, the primary process of node:cluster has the port already.
    onNode: ['run'],
    script: withPage,
  },
  closes: {
    file: 'bad/closes.cjs',
    about: 'io.close() ends the http server, and the process',
    script: async (visitor) => {
      const clients = [];
      for (const transports of [['polling'], ['websocket']]) clients.push(await visitor.connected('/', { transports }));
      const gone = Promise.all(clients.map((one) => next(one, 'disconnect')));
      clients[0].emit('close');
      return { reasons: (await gone).map(([reason]) => reason), exit: await visitor.application.exited };
    },
  },
};

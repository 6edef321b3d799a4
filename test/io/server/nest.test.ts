import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, expect, test } from '@jest/globals';
import { nextEvent } from '../../support/clients.js';
import { freePort } from '../../support/ports.js';
import { cleanEnvironment } from '../../support/server.js';
import { applicationWith } from './support/package.js';
import { get } from './support/requests.js';
import { client, closeAll } from './support/servers.js';

/** A Nest application as TypeScript compiles it: decorators are functions that are called on a class. */
const nest = (adapter: string) => `
require('reflect-metadata');
const { Controller, Get, Module, UseGuards } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { IoAdapter } = require('@nestjs/platform-socket.io');
const { ConnectedSocket, MessageBody, SubscribeMessage, WebSocketGateway, WebSocketServer } = require('@nestjs/websockets');

class Pages {
  page() {
    return { page: 'yes' };
  }
}
Get('/page')(Pages.prototype, 'page', Object.getOwnPropertyDescriptor(Pages.prototype, 'page'));
Controller()(Pages);

class Members {
  canActivate(context) {
    return context.switchToWs().getData().length < 10;
  }
}

class Hall {
  handleConnection(socket) {
    socket.join('hall');
  }
  say(socket, text) {
    this.io.to('hall').emit('said', text, socket.id);
    return { event: 'taken', data: text.length };
  }
  echo(text) {
    return text;
  }
}
WebSocketServer()(Hall.prototype, 'io');
const method = (name, event, ...parameters) => {
  parameters.forEach((decorate, index) => decorate(Hall.prototype, name, index));
  const descriptor = Object.getOwnPropertyDescriptor(Hall.prototype, name);
  SubscribeMessage(event)(Hall.prototype, name, descriptor);
  return descriptor;
};
method('say', 'say', ConnectedSocket(), MessageBody());
UseGuards(Members)(Hall.prototype, 'echo', method('echo', 'echo', MessageBody()));
WebSocketGateway({ namespace: '/hall', cors: { origin: 'https://example.com' } })(Hall);

class Side {
  handleConnection(socket) {
    socket.emit('hello', 'from the side');
  }
}
WebSocketGateway(Number(process.env.SIDE))(Side);

class Application {}
Module({ controllers: [Pages], providers: [Hall, Side] })(Application);

${adapter}

(async () => {
  const app = await NestFactory.create(Application, { logger: false });
  app.useWebSocketAdapter(new Adapter(app));
  await app.listen(0, '127.0.0.1');
  process.send(app.getHttpServer().address().port);
  process.on('message', () => app.close().then(() => process.disconnect()));
})();
`;

const application = applicationWith({
  'default.cjs': nest('const Adapter = IoAdapter;'),
  'own.cjs': nest(`
const { Server } = require('gjallar');
class Adapter extends IoAdapter {
  createIOServer(port, options) {
    return new Server(port === 0 ? this.httpServer : port, options);
  }
}`),
});
let running: ChildProcess | undefined;

afterEach(async () => {
  await closeAll();
  if (running?.exitCode === null) running.kill('SIGKILL');
});

describe('a NestJS application', () => {
  test.each([
    ['node default.cjs', false],
    ['node --import gjallar/register default.cjs', true],
    ['node own.cjs', true],
  ])('%s', async (command, isGjallar) => {
    const side = await freePort();
    const child = spawn(process.execPath, command.split(' ').slice(1), {
      cwd: application,
      env: { ...cleanEnvironment(), SIDE: String(side) },
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    });
    running = child;
    let errors = '';
    child.stderr!.on('data', (text) => {
      errors += text;
    });
    const [port] = (await once(child, 'message')) as [number];

    const page = await get(port, '/page');
    expect([page.status, page.body]).toEqual([200, '{"page":"yes"}']);
    expect((await get(port, '/missing')).status).toBe(404);
    const { headers } = await get(port, '/socket.io/?EIO=4&transport=polling');
    expect(headers['access-control-allow-origin']).toBe('https://example.com');
    expect(headers['x-content-type-options'] === 'nosniff').toBe(isGjallar);

    const clients = [['polling'], ['websocket'], ['polling', 'websocket'], ['websocket']].map((transports) =>
      client(`http://127.0.0.1:${port}/hall`, { transports }),
    );
    await Promise.all(clients.map((one) => nextEvent(one, 'connect')));
    expect(await clients[1]!.timeout(30_000).emitWithAck('echo', 'short')).toBe('short');
    const refused = nextEvent<[{ status: string }]>(clients[0]!, 'exception');
    clients[0]!.emit('echo', 'longer than a guard allows');
    expect((await refused)[0]).toMatchObject({ status: 'error' });
    const heard = Promise.all(clients.map((one) => nextEvent(one, 'said')));
    const taken = nextEvent(clients[0]!, 'taken');
    clients[0]!.emit('say', 'Hello!');
    expect(await heard).toEqual(clients.map(() => ['Hello!', clients[0]!.id]));
    expect(await taken).toEqual([6]);

    expect(await nextEvent(client(`http://127.0.0.1:${side}`), 'hello')).toEqual(['from the side']);

    const gone = Promise.all(clients.map((one) => nextEvent(one, 'disconnect')));
    const exited = once(child, 'exit');
    child.send('end');
    await gone;
    expect(await exited).toEqual([0, null]);
    expect(errors).toBe('');
  });
});

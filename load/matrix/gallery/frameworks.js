import { talk } from '../talk.js';
import { next } from '../visitor.js';

async function nest(visitor) {
  const socket = visitor.socket('/nest', { auth: { name: 'ada' } });
  const [welcome] = await next(socket, 'welcome');
  const other = visitor.socket('/nest', { transports: ['websocket'] });
  await next(other, 'welcome');
  const heard = [];
  for (const event of ['number', 'wrapped', 'rejected', 'exception']) {
    socket.on(event, (value) => heard.push([event, value]));
  }
  const answer = (...event) => new Promise((resolve) => socket.emit(...event, resolve));
  const letIn = await answer('guarded', { token: 'right' });
  const rejected = next(socket, 'rejected');
  socket.emit('guarded', { token: 'wrong' });
  await rejected;
  const exception = next(socket, 'exception');
  socket.emit('broken');
  await exception;
  const wrapped = next(socket, 'wrapped');
  socket.emit('wrapped', { deep: [1] });
  await wrapped;
  const three = new Promise((resolve) => socket.on('number', (number) => number === 3 && resolve()));
  socket.emit('numbers');
  await three;
  await new Promise((resolve) => other.emit('enter', 'hall', resolve));
  const said = next(other, 'said');
  socket.emit('say', { room: 'hall', text: 'hello' });
  return {
    welcome,
    letIn,
    heard,
    said: await said,
    about: await visitor.http('/about'),
    missing: await visitor.http('/missing'),
    sockets: await talk(visitor, { namespace: '/chat' }),
  };
}

const nestOf = (version, more) => ({
  about: `NestJS ${version.split('.', 1)[0]}: a gateway with a guard, an interceptor, filters and streams`,
  version,
  isStateless: true,
  script: nest,
  app: 'nest',
  from: {
    packages: {
      ...Object.fromEntries(
        ['common', 'core', 'platform-express', 'platform-socket.io', 'websockets'].map((one) => [
          `@nestjs/${one}`,
          version,
        ]),
      ),
      'reflect-metadata': '0.2.2',
      rxjs: '7.8.2',
      ...more,
    },
  },
});

export default { 'nest-10': nestOf('10.4.20'), 'nest-11': nestOf('11.1.9') };

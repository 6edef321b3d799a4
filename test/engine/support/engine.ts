import type { EventEmitter } from 'node:events';
import { type AttachOptions, Engine } from '../../../src/engine/engine.js';
import type { EngineOptions } from '../../../src/engine/options.js';
import type { Session } from '../../../src/engine/session/session.js';
import { App, us_listen_socket_close, us_socket_local_port } from '../../../src/engine/sockets.js';
import type { TemplatedApp } from '../../../src/engine/uws/app.js';
import type { TestClock } from './clock.js';

export interface RunningEngine {
  readonly engine: Engine;
  readonly port: number;
  /** Where the engine answers, with the protocol's version. */
  readonly url: string;
  /** Resolves with the session that is opened next. */
  nextSession(): Promise<Session>;
}

interface Setup extends AttachOptions {
  /** What the heartbeats go by. */
  clock?: TestClock;
  /** The protocol's version in `url`. */
  version?: 3 | 4;
  app?: TemplatedApp;
}

/** Resolves with the arguments of the emitter's next such event. */
export function eventOf<T extends unknown[]>(emitter: EventEmitter, event: string): Promise<T> {
  return new Promise((resolve) => emitter.once(event, (...values: unknown[]) => resolve(values as T)));
}

const closers: (() => void)[] = [];

/** An engine on a free port of the loopback interface; {@link closeEngines} ends it. */
export async function startEngine(options: EngineOptions = {}, setup: Setup = {}): Promise<RunningEngine> {
  const { clock, version = 4, app = App(), ...attachOptions } = setup;
  const engine = new Engine(options, clock);
  engine.attach(app, attachOptions);
  closers.push(() => engine.close());
  const port = await listen(app);
  const scheme = attachOptions.secure ? 'https' : 'http';
  return {
    engine,
    port,
    url: `${scheme}://127.0.0.1:${port}/socket.io/?EIO=${version}`,
    nextSession: () => new Promise((resolve) => engine.once('connection', resolve)),
  };
}

/** Listens on a free port of the loopback interface. Resolves with the port. */
export function listen(app: TemplatedApp): Promise<number> {
  return new Promise((resolve, reject) => {
    app.listen('127.0.0.1', 0, (socket) => {
      if (!socket) return reject(new Error('cannot listen'));
      closers.push(() => {
        us_listen_socket_close(socket);
        app.close();
      });
      resolve(us_socket_local_port(socket));
    });
  });
}

/** Ends all engines of the test. */
export function closeEngines(): void {
  for (const close of closers.splice(0)) close();
}

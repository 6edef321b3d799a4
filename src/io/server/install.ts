import { createServer, type Server as HttpServer } from 'node:http';
import type { Server } from 'socket.io';
import { thisProcess } from '../../base/process.js';
import { Engine } from '../../engine/engine.js';
import type { TemplatedApp } from '../../engine/uws/app.js';
import { type AdapterClass, type AdapterFactory, reportOtherEngine } from '../rooms/index.js';
import { methodsOf, privateParts } from '../socket-io-server.private.js';
import { warnOfUnused } from './engine-options.js';
import { answerNotFound } from './listeners.js';
import { Wiring } from './wiring.js';

const wirings = new WeakMap<Server, Wiring>();
const installed = new WeakSet<object>();

declare module '../../base/process.js' {
  interface ProcessHost {
    /** Called with each server that is created. */
    onServer?: (io: Server) => void;
  }
}

function wiringOf(io: Server): Wiring {
  let wiring = wirings.get(io);
  if (!wiring) {
    wiring = new Wiring(io);
    wirings.set(io, wiring);
    thisProcess.onServer?.(io);
  }
  return wiring;
}

/**
 * Makes the servers of a class run on gjallar. The class is socket.io's Server or a subclass. Its constructor, `attach()`
 * and `listen()` all call the methods that are replaced here.
 */
export function install(prototype: object): void {
  for (let at: object | null = prototype; at; at = Object.getPrototypeOf(at)) if (installed.has(at)) return;
  installed.add(prototype);
  const methods = methodsOf(prototype);
  const { adapter, attach, bind } = methods;
  Object.assign(prototype, {
    adapter(this: Server, ...values: unknown[]) {
      if (values.length === 0) return adapter.call(this);
      const wiring = wiringOf(this);
      wiring.useParser();
      return adapter.call(this, wiring.adapterFor(values[0] as AdapterFactory | AdapterClass));
    },

    attach(this: Server, target: unknown, options?: object) {
      const port = typeof target === 'function' ? Number.NaN : Number(target);
      // As in socket.io, also a text that is a port.
      // biome-ignore lint/suspicious/noDoubleEquals: as in socket.io
      if (port != target) return attach.call(this, target, options);
      const server = createServer(answerNotFound);
      attach.call(this, server, options);
      server.listen(port);
      return this;
    },

    bind(this: Server, engine: unknown) {
      if (!(engine instanceof Engine)) reportOtherEngine();
      else if (!wiringOf(this).owns(engine)) warnOfUnused(privateParts(this).opts, engine);
      return bind.call(this, engine);
    },

    initEngine(this: Server, server: HttpServer | TemplatedApp, options: object) {
      const wiring = wiringOf(this);
      if (isUwsApp(server)) wiring.attachApp(server, options);
      else wiring.attachServer(server, options);
    },

    attachApp(this: Server, app: TemplatedApp, options: { path?: string } = {}) {
      const { opts, _path } = privateParts(this);
      const merged = { ...options, ...opts };
      merged.path ||= _path;
      wiringOf(this).attachApp(app, merged);
    },
  });
}

function isUwsApp(server: HttpServer | TemplatedApp): server is TemplatedApp {
  return 'ws' in server && 'publish' in server;
}

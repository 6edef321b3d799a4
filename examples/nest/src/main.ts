import 'reflect-metadata';
import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { IoAdapter } from '@nestjs/platform-socket.io';
import { Server, type ServerOptions } from 'gjallar';
import { Application } from './application.js';

/** Nest's adapter for Socket.IO, with gjallar's Server. */
class GjallarAdapter extends IoAdapter {
  constructor(app: INestApplicationContext) {
    super(app);
  }

  override createIOServer(port: number, options?: Partial<ServerOptions>): Server {
    // A gateway may have a port of its own.
    return new Server(port === 0 ? this.httpServer : port, options);
  }
}

const app = await NestFactory.create(Application, { logger: ['error', 'warn'] });
app.useWebSocketAdapter(new GjallarAdapter(app));
app.enableShutdownHooks();
const port = Number(process.env.PORT ?? 3000);
await app.listen(port);
console.log(`listening on ${port}`);

import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { GjallarError } from '../../../base/errors.js';
import { owned } from '../../../base/owner.js';
import { isCrossSite } from '../../../engine/limits/origin.js';
import type { AdminGuard } from '../../../io/http/guard.js';
import { dataHeaders } from '../../../io/http/headers.js';
import { type JsonSender, parseJson, sendError } from '../../../io/http/json.js';
import { readiness } from '../health.js';
import { type ClientPage, type ClientQuery, readClientQuery } from '../overview/clients.js';
import { type Overview, withoutNames } from '../overview/overview.js';
import type { Caller } from '../reports.js';
import { AdminPage, type MachineHealth } from './machine-health.js';

/** What the admin port shows and does. */
export interface AdminSource {
  health(): Promise<MachineHealth>;
  /** The metrics of all workers, in the text format of Prometheus. */
  metrics(): Promise<string>;
  stats(): Promise<object>;
  /** What the operator sees at a glance, with the names of rooms and users. */
  overview(): Promise<Overview>;
  /** A page of the clients of the machine. */
  clients(query: ClientQuery): Promise<ClientPage>;
  /** Drains the clients of the machine. */
  drain(caller: Caller): Promise<object>;
  /** Replaces all workers. */
  reload(caller: Caller): Promise<object>;
  /** Acts on clients on all workers and machines. @throws GjallarError BAD_INPUT, OVERLOADED */
  act(caller: Caller, type: 'disconnect' | 'close-room', input: unknown): Promise<object>;
}

export interface AdminOptions {
  host: string;
  /** 0 picks a free port. */
  port: number;
  /** The operator's account. Without it, everything is public but the names, and the actions are off. */
  admin: AdminGuard | undefined;
  /** The names that the header `Host` may have, except for the health endpoints; undefined allows all. */
  allowedHosts: readonly string[] | undefined;
  /** Called with errors that the caller has not caused. */
  onError(error: unknown): void;
}

interface Reply {
  status: number;
  body: object | string;
}

interface Route {
  method: 'GET' | 'POST';
  /** Whether it answers without the operator's password, and on any host name. */
  isOpen?: boolean;
  answer(source: AdminSource, call: Call): Promise<Reply> | Reply;
}

/** A request of the operator. */
interface Call {
  caller: Caller;
  /** Whether the server has an operator's account, so the caller has given its password. */
  isOperator: boolean;
  readonly query: URLSearchParams;
  /** Reads the body. @throws GjallarError BAD_JSON, BODY_TOO_LARGE */
  readJson(): Promise<unknown>;
}

/** A route that acts on clients. */
const acts = (type: Parameters<AdminSource['act']>[1]): Route => ({
  method: 'POST',
  answer: async (source, { caller, readJson }) => ({
    status: 200,
    body: { ok: true, ...(await source.act(caller, type, await readJson())) },
  }),
});

/** The paths of the admin port. */
const routes: Readonly<Record<string, Route>> = {
  '/healthz': { method: 'GET', isOpen: true, answer: () => ({ status: 200, body: { ok: true } }) },
  '/readyz': { method: 'GET', isOpen: true, answer: async (source) => readiness(await source.health()) },
  '/metrics': { method: 'GET', answer: async (source) => ({ status: 200, body: await source.metrics() }) },
  '/api/stats': { method: 'GET', answer: async (source) => ({ status: 200, body: await source.stats() }) },
  '/api/overview': {
    method: 'GET',
    answer: async (source, { isOperator }) => {
      const overview = await source.overview();
      return { status: 200, body: isOperator ? overview : withoutNames(overview) };
    },
  },
  '/api/clients': {
    method: 'GET',
    answer: async (source, { isOperator, query }) => {
      if (!isOperator) throw new GjallarError('ADMIN_OFF');
      return { status: 200, body: await source.clients(readClientQuery(query)) };
    },
  },
  '/api/drain': {
    method: 'POST',
    answer: async (source, { caller }) => ({ status: 202, body: { ok: true, ...(await source.drain(caller)) } }),
  },
  '/api/reload': {
    method: 'POST',
    answer: async (source, { caller }) => ({ status: 202, body: { ok: true, ...(await source.reload(caller)) } }),
  },
  '/api/disconnect': acts('disconnect'),
  '/api/close-room': acts('close-room'),
};

const MAX_CONNECTIONS = 256;
const REQUEST_TIMEOUT_MS = 10_000;
const MAX_BODY_BYTES = 16_384;

/**
 * Serves the admin port: health, metrics, and the operator's actions. It runs in the primary on node:http. It therefore
 * answers while workers are stuck, and clients of HTTP/1.0 too, which uWebSockets.js rejects.
 */
export class AdminServer {
  private readonly server: Server;
  private readonly page = new AdminPage();

  constructor(
    private readonly source: AdminSource,
    private readonly options: AdminOptions,
  ) {
    const onRequest = owned('answering on the admin port', this.onRequest.bind(this));
    this.server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS }, onRequest);
    this.server.maxConnections = MAX_CONNECTIONS;
  }

  /**
   * Resolves with the port.
   * @throws GjallarError BAD_CONFIG
   */
  listen(): Promise<number> {
    const { host, port } = this.options;
    return new Promise((resolve, reject) => {
      this.server.once('error', ({ code, message }: NodeJS.ErrnoException) => {
        const reason = code === 'EADDRINUSE' ? 'another server uses this port; set another ADMIN_PORT' : message;
        reject(new GjallarError('BAD_CONFIG', `cannot listen on ADMIN_PORT=${port} at ADMIN_HOST=${host}: ${reason}`));
      });
      this.server.listen({ host, port, exclusive: true }, () => resolve((this.server.address() as AddressInfo).port));
    });
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  private async onRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const headers = dataHeaders(false);
    const send: JsonSender['send'] = (status, all, body) => {
      response.writeHead(status, all).end(request.method === 'HEAD' ? undefined : body);
    };
    try {
      if (await this.answersPage(request, { send })) return;
      const { status, body } = await this.answer(request);
      const isText = typeof body === 'string';
      const type = isText ? 'text/plain; version=0.0.4; charset=utf-8' : 'application/json';
      send(status, { ...headers, 'Content-Type': type }, isText ? body : `${JSON.stringify(body)}\n`);
    } catch (error) {
      sendError({ send }, headers, error, this.options.onError);
    }
    // A body that no route has read would keep the connection from its next request.
    request.resume();
  }

  private async answersPage(request: IncomingMessage, sender: JsonSender): Promise<boolean> {
    const { url = '', method = '', headers } = request;
    if (!AdminPage.has(pathOf(url))) return false;
    this.requireHost(headers);
    if (!['GET', 'HEAD'].includes(method)) throw new GjallarError('METHOD_NOT_ALLOWED');
    await this.options.admin?.require({ headers, address: request.socket.remoteAddress });
    return this.page.serve(request, sender);
  }

  private requireHost({ host }: IncomingMessage['headers']): void {
    const { allowedHosts } = this.options;
    if (allowedHosts && !allowedHosts.includes(nameOf(host))) throw new GjallarError('NOT_FOUND');
  }

  private async answer(request: IncomingMessage): Promise<Reply> {
    const { admin } = this.options;
    const { url = '', method, headers } = request;
    const call: Call = {
      caller: { operator: admin?.user ?? '', address: request.socket.remoteAddress },
      isOperator: admin !== undefined,
      query: new URLSearchParams(url.split('?')[1]),
      readJson: () => readJson(request),
    };
    const route = Object.hasOwn(routes, pathOf(url)) ? routes[pathOf(url)]! : undefined;
    if (!route) throw new GjallarError('NOT_FOUND');
    if (route.method !== (method === 'HEAD' ? 'GET' : method)) throw new GjallarError('METHOD_NOT_ALLOWED');
    if (route.isOpen) return route.answer(this.source, call);
    this.requireHost(headers);
    if (route.method === 'POST') {
      if (!admin) throw new GjallarError('ADMIN_OFF');
      // A browser adds the operator's password to requests that a foreign page makes.
      if (!isOwnOrigin(headers) || isCrossSite(headers)) {
        throw new GjallarError(
          'ORIGIN_FORBIDDEN',
          'Pages of other origins may not use this path. Send the request from a tool or from a page of this port.',
        );
      }
    }
    await admin?.require({ headers, address: request.socket.remoteAddress });
    return route.answer(this.source, call);
  }
}

function pathOf(url: string): string {
  return url.split('?', 1)[0]!;
}

/** The name in a `Host` header, without its port. */
function nameOf(host = ''): string {
  return host.toLowerCase().replace(/:\d+$/, '');
}

/** Whether the request comes from a tool, or from a page of this port. */
function isOwnOrigin({ origin, host = '' }: IncomingHttpHeaders): boolean {
  return (
    origin === undefined ||
    ['http', 'https'].some((scheme) => origin.toLowerCase() === `${scheme}://${host.toLowerCase()}`)
  );
}

/** @throws GjallarError BAD_JSON, BODY_TOO_LARGE */
async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  // The connection must survive the error, or the caller would not get it.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) {
      throw new GjallarError('BODY_TOO_LARGE', `The body is larger than ${MAX_BODY_BYTES} bytes. Send less.`);
    }
    chunks.push(chunk);
  }
  return parseJson(Buffer.concat(chunks));
}

import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, type ListenOptions, Server as NetServer } from 'node:net';
import type { AppOptions, Listening, us_listen_socket } from '../uws/app.js';

/** LIBUS_LISTEN_EXCLUSIVE_PORT: no other process may listen on the port. */
const EXCLUSIVE = 1;
/** uWebSockets.js's limit for the head of a request, in ms, and how often node:http looks for late ones. */
const HEAD_MS = 10_000;
const CHECK_MS = 2000;
/** How long a connection may be idle. Longer than any load balancer keeps one to reuse it: Google's keep them for 600 s. */
const KEEP_ALIVE_MS = 620_000;
/** As node:http has it, and as gjallar sets it for uWebSockets.js. */
const MAX_HEAD_BYTES = 16_384;

/** An HTTP server, with TLS if there are options. */
export function serverOf(options?: AppOptions): Server {
  const limits = {
    headersTimeout: HEAD_MS,
    connectionsCheckingInterval: CHECK_MS,
    // Slow bodies are found by their rate.
    requestTimeout: 0,
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: MAX_HEAD_BYTES,
  };
  if (!options) return createServer(limits);
  const { key_file_name, cert_file_name, ca_file_name, passphrase, dh_params_file_name, ssl_ciphers } = options;
  return createSecureServer({
    ...limits,
    handshakeTimeout: HEAD_MS,
    key: contentOf(key_file_name),
    cert: contentOf(cert_file_name),
    ca: contentOf(ca_file_name),
    dhparam: contentOf(dh_params_file_name),
    passphrase,
    ciphers: ssl_ciphers,
  });
}

const contentOf = (file?: string) => (file === undefined ? undefined : readFileSync(file));

/** What is listened on. */
export class ListenSocket implements us_listen_socket {
  constructor(private readonly server: Server) {}

  get port(): number {
    const address = this.server.address() as AddressInfo | string | null;
    return typeof address === 'object' && address ? address.port : -1;
  }

  /** Accepts no further connections. Unlike close() of node:http, it leaves idle ones open. */
  close(): void {
    NetServer.prototype.close.call(this.server);
  }
}

/**
 * Calls back with what is listened on, or with false. uWebSockets.js does so before it returns; node:net does so only
 * without a host, and in no worker of node:cluster.
 */
export function listen(server: Server, to: ListenOptions, mode: number | undefined, listening: Listening): void {
  let isDone = false;
  const done = (isListening: boolean) => {
    if (isDone) return;
    isDone = true;
    server.off('error', failed);
    listening(isListening && new ListenSocket(server));
  };
  const failed = () => done(false);
  server.once('error', failed);
  server.listen({ ...to, exclusive: mode === EXCLUSIVE || !to.port }, () => done(true));
  if (server.listening) done(true);
}

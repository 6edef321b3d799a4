import { availableParallelism } from 'node:os';
import { z } from 'zod';
import { backplaneNames } from '../rooms/backplanes/registry.js';
import { memoryLimit } from './memory-limit.js';
import {
  duration,
  flag,
  hosts,
  integer,
  line,
  matching,
  natsUrls,
  oneOf,
  optionalInteger,
  origins,
  rates,
  redisUrls,
  text,
  type Value,
} from './values.js';

/** One option: its environment variable, its purpose, its default, and the values it accepts. */
export interface OptionSpec<T> {
  readonly name: string;
  readonly description: string;
  /** The default as the help shows it. */
  readonly default: string;
  /** The accepted values in words: completes the sentence "PORT must be …". */
  readonly accepts: string;
  /** Whether the value must not be shown because it is, or may contain, a secret. */
  readonly isSecret?: boolean;
  readonly schema: Value<T>;
}

function option<T>(spec: OptionSpec<T>): OptionSpec<T> {
  return spec;
}

export const buses = ['auto', ...backplaneNames] as const;
export const historyStores = ['auto', 'sqlite', 'redis'] as const;
export const slowPolicies = ['close', 'drop', 'drop-volatile'] as const;
export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/** An IP address or a host name. */
const HOST = /^[0-9A-Za-z.:-]+$/;

/** All options. Environment variables are named here and nowhere else. */
export const options = {
  port: option({
    name: 'PORT',
    description: 'Port to listen on; 0 picks a free one.',
    default: '3000',
    accepts: 'an integer from 0 to 65535',
    schema: integer(0, 65_535, 3000),
  }),
  host: option({
    name: 'HOST',
    description: 'Address to listen on.',
    default: '0.0.0.0',
    accepts: 'an IP address or a host name',
    schema: z.string().regex(HOST).default('0.0.0.0'),
  }),
  workers: option({
    name: 'WORKERS',
    description: 'Number of worker processes.',
    default: 'number of cores',
    accepts: 'an integer from 1 to 256',
    schema: integer(1, 256, availableParallelism()),
  }),
  workerPorts: option({
    name: 'WORKER_PORTS',
    description:
      'First of as many ports as there are workers. Each worker listens on one of them alone, besides the port that all ' +
      "share, so that a proxy can choose the worker of a client. gjallar doctor --proxy prints the proxy's configuration.",
    default: 'none',
    accepts: 'an integer from 1 to 65535; the last port, WORKER_PORTS + WORKERS - 1, is 65535 at most',
    schema: optionalInteger(1, 65_535),
  }),
  place: option({
    name: 'PLACE',
    description:
      'Query parameter that a proxy places clients by, such as room. Counts which clients are in their place, and sets ' +
      'WORKER_PORTS to 3001 if it is unset. gjallar doctor --proxy prints the configuration of the proxy for it.',
    default: 'none',
    accepts: '1 to 64 letters, digits and underscores',
    schema: matching(/^\w{1,64}$/),
  }),
  placeMoves: option({
    name: 'PLACE_MOVES',
    description:
      'Whether clients that the proxy would send to another worker now are disconnected, in small batches, so that they ' +
      'reconnect there. For clients that recover their session, or read what they have missed.',
    default: 'false',
    accepts: 'true or false',
    schema: flag(false),
  }),
  redisUrl: option({
    name: 'REDIS_URL',
    isSecret: true,
    description:
      'Redis that connects several machines and stores the history: ' +
      'redis://[user:password@]host[:port][/database] or rediss://…; nodes of a Redis Cluster are separated by commas.',
    default: 'none',
    accepts: 'a URL that begins with redis:// or rediss://, or several such URLs separated by commas',
    schema: redisUrls(),
  }),
  redisPrefix: option({
    name: 'REDIS_PREFIX',
    description:
      'Beginning of the names of all channels and keys on Redis; servers with different prefixes do not hear each ' +
      'other.',
    default: 'by the database number of REDIS_URL',
    accepts: '1 to 64 letters, digits and the characters . _ - :',
    schema: matching(/^[0-9A-Za-z._:-]{1,64}$/),
  }),
  natsUrl: option({
    name: 'NATS_URL',
    isSecret: true,
    description:
      'NATS that connects several machines: nats://[user:password@]host[:port], nats://token@host or tls://…; ' +
      'several servers of a cluster are separated by commas.',
    default: 'none',
    accepts:
      'a URL that begins with nats:// or tls://, or several such URLs with the same user, password or token, ' +
      'separated by commas',
    schema: natsUrls(),
  }),
  natsCreds: option({
    name: 'NATS_CREDS',
    isSecret: true,
    description:
      'Credentials for NATS: the content of a credentials file (JWT and key); NATS_CREDS_FILE names the file instead.',
    default: 'none',
    accepts: 'the content of a credentials file of NATS',
    schema: matching(/-----BEGIN NATS USER JWT-----[\s\S]*-----BEGIN USER NKEY SEED-----/),
  }),
  natsPrefix: option({
    name: 'NATS_PREFIX',
    description: 'Beginning of all subjects on NATS; servers with different prefixes do not hear each other.',
    default: 'gjallar',
    accepts: 'parts of 1 to 64 letters, digits and the characters _ -, separated by dots',
    schema: z
      .string()
      .regex(/^(?=.{1,64}$)[0-9A-Za-z_-]+(\.[0-9A-Za-z_-]+)*$/)
      .default('gjallar'),
  }),
  bus: option({
    name: 'BUS',
    description:
      'How workers exchange messages: embedded (this machine only), redis-frames (between gjallar servers; on a Redis ' +
      'Cluster it becomes redis-frames-sharded), nats, or redis, which stock servers and emitters understand; auto means ' +
      'nats if NATS_URL is set, redis-frames if only REDIS_URL is, and embedded otherwise.',
    default: 'auto',
    accepts: `one of ${buses.join(', ')}`,
    schema: oneOf(buses, 'auto'),
  }),
  historyStore: option({
    name: 'HISTORY_STORE',
    description:
      'Where messages are kept: sqlite (DATA_DIR, this machine only) or redis (REDIS_URL); auto means redis if ' +
      'REDIS_URL is set, and sqlite otherwise.',
    default: 'auto',
    accepts: `one of ${historyStores.join(', ')}`,
    schema: oneOf(historyStores, 'auto'),
  }),
  historyTtl: option({
    name: 'HISTORY_TTL',
    description: 'How long messages are kept for clients that reconnect: a number with ms, s, m, h or d; 0 keeps none.',
    default: '24h',
    accepts: '0, or a number with ms, s, m, h or d, such as 24h',
    schema: duration('24h'),
  }),
  historyMaxBytes: option({
    name: 'HISTORY_MAX_BYTES',
    description: 'How many bytes of messages DATA_DIR holds before the oldest are removed; 0 sets no limit.',
    default: '1073741824',
    accepts: '0, or an integer from 1048576',
    schema: integer(0, 1e15, 2 ** 30).refine((bytes) => bytes === 0 || bytes >= 2 ** 20),
  }),
  dataDir: option({
    name: 'DATA_DIR',
    description: 'Directory on a local disk where messages are stored if REDIS_URL is not set.',
    default: './data',
    accepts: 'a path',
    schema: z.string().default('./data'),
  }),
  archiveUrl: option({
    name: 'ARCHIVE_URL',
    isSecret: true,
    description: 'Database that keeps all messages permanently: sqlite:<path>, postgres://… or mysql://…',
    default: 'none',
    accepts: 'a URL that begins with sqlite:, postgres:// or mysql://',
    schema: matching(/^(sqlite:.|(postgres|postgresql|mysql):\/\/.)/),
  }),
  flushMs: option({
    name: 'FLUSH_MS',
    description:
      'Longest time in ms that a busy worker holds outgoing messages to send them together; 0 sends each one at ' +
      'once.',
    default: '25',
    accepts: 'an integer from 0 to 1000',
    schema: integer(0, 1000, 25),
  }),
  logLevel: option({
    name: 'LOG_LEVEL',
    description: 'Lowest level that is logged.',
    default: 'info',
    accepts: `one of ${logLevels.join(', ')}`,
    schema: oneOf(logLevels, 'info'),
  }),
  corsOrigin: option({
    name: 'CORS_ORIGIN',
    description:
      'Origins whose pages may connect, over WebSockets too, separated by commas; https://*.example.com allows every ' +
      'subdomain of example.com, and * every origin.',
    default: 'same origin only',
    accepts: '*, or origins such as https://example.com or https://*.example.com, separated by commas',
    schema: origins(),
  }),
  apiKey: option({
    name: 'API_KEY',
    isSecret: true,
    description:
      'Key of the HTTP API, which publishes to any room and reads its history; without a key or user tokens, the ' +
      'API is off.',
    default: 'none',
    accepts: 'printable ASCII characters without spaces',
    schema: matching(/^[\x21-\x7e]+$/),
  }),
  jwtSecret: option({
    name: 'JWT_SECRET',
    isSecret: true,
    description:
      'Secret that verifies user tokens (JWT, HS256); if neither this nor JWKS_URL is set, users need no token ' +
      'and choose their own names.',
    default: 'none',
    accepts: 'a string without control characters, preferably 32 bytes or longer',
    schema: line(),
  }),
  jwksUrl: option({
    name: 'JWKS_URL',
    isSecret: true,
    description: 'URL of the public keys that verify user tokens (JWT with RS256, ES256 or EdDSA).',
    default: 'none',
    accepts: 'a URL that begins with https:// or http://',
    schema: z.url({ protocol: /^https?$/ }).optional(),
  }),
  jwtIssuer: option({
    name: 'JWT_ISSUER',
    description: 'Value that the iss claim of a token must have; by default any issuer is accepted.',
    default: 'none',
    accepts: 'a string without control characters, together with JWT_SECRET or JWKS_URL',
    schema: line(),
  }),
  jwtAudience: option({
    name: 'JWT_AUDIENCE',
    description: 'Value that the aud claim of a token must be or contain; by default any audience is accepted.',
    default: 'none',
    accepts: 'a string without control characters, together with JWT_SECRET or JWKS_URL',
    schema: line(),
  }),
  jwtUserClaim: option({
    name: 'JWT_USER_CLAIM',
    description:
      'Claim of a token that identifies the user; it must be unique and stable, which the claim name of OpenID ' +
      'Connect is not.',
    default: 'sub',
    accepts: 'a string without control characters',
    schema: line('sub'),
  }),
  adminUser: option({
    name: 'ADMIN_USER',
    description:
      'User name for /admin, /metrics, /api/stats and the actions (HTTP basic authentication); without it, counts are ' +
      'public, names are hidden and actions are off.',
    default: 'none',
    accepts: 'a string without colons or control characters, together with ADMIN_PASSWORD',
    schema: line().refine((value) => !value?.includes(':')),
  }),
  adminPassword: option({
    name: 'ADMIN_PASSWORD',
    isSecret: true,
    description: 'Password for ADMIN_USER.',
    default: 'none',
    accepts: 'a string without control characters, together with ADMIN_USER',
    schema: line(),
  }),
  adminPort: option({
    name: 'ADMIN_PORT',
    description:
      'Port for operators: the page /admin, /healthz, /readyz, /metrics and the API for operators, also over HTTP/1.0; ' +
      'without it, there is none.',
    default: 'none',
    accepts: 'an integer from 0 to 65535; 0 picks a free port',
    schema: optionalInteger(0, 65_535),
  }),
  adminHost: option({
    name: 'ADMIN_HOST',
    description: 'Address of ADMIN_PORT.',
    default: '127.0.0.1',
    accepts: 'an IP address or a host name',
    schema: z.string().regex(HOST).default('127.0.0.1'),
  }),
  maxPayload: option({
    name: 'MAX_PAYLOAD',
    description: 'Largest message that a client may send, in bytes.',
    default: '1000000',
    accepts: 'an integer from 1024 to 134217728 (bytes)',
    schema: integer(1024, 134_217_728, 1_000_000),
  }),
  maxBackpressure: option({
    name: 'MAX_BACKPRESSURE',
    description: 'Number of bytes that may wait for one slow client before SLOW_POLICY applies to it.',
    default: '4194304',
    accepts: 'an integer from 16384 to 1073741824 (bytes)',
    schema: integer(16_384, 1_073_741_824, 4_194_304),
  }),
  maxBuffered: option({
    name: 'MAX_BUFFERED',
    description:
      'Bytes that may wait for and from all clients of this machine together; beyond, the clients with most waiting ' +
      'bytes are disconnected. 0 sets no limit for what waits for them.',
    default: 'a quarter of the memory',
    accepts: 'an integer from 0 to 1099511627776 (bytes)',
    schema: integer(0, 1_099_511_627_776, Math.floor(memoryLimit() / 4)),
  }),
  slowPolicy: option({
    name: 'SLOW_POLICY',
    description:
      'What happens to a client that reaches MAX_BACKPRESSURE: close ends its connection; drop drops the newest ' +
      'messages; drop-volatile also ends the connection, but drops presence events as soon as anything waits for ' +
      'the client.',
    default: 'close',
    accepts: `one of ${slowPolicies.join(', ')}`,
    schema: oneOf(slowPolicies, 'close'),
  }),
  drainTimeout: option({
    name: 'DRAIN_TIMEOUT',
    description:
      'How long workers that stop or are replaced may take to move their clients elsewhere: a number with ms, s, ' +
      'm or h; 0 disconnects clients at once.',
    default: '10s',
    accepts: '0, or a number with ms, s, m or h up to 24h, such as 10s',
    schema: duration('10s').refine((ms) => ms <= 86_400_000),
  }),
  reloadHold: option({
    name: 'RELOAD_HOLD',
    description:
      'How long a worker that a reload replaces holds the WebSockets of its clients while their sessions continue on ' +
      'new workers. It applies to clients with connection state recovery. A number with ms, s, m or h; 0 disconnects ' +
      'them during the reload.',
    default: '0',
    accepts: '0, or a number with ms, s, m or h up to 24h, such as 1h',
    schema: duration('0').refine((ms) => ms <= 86_400_000),
  }),
  reloadSettle: option({
    name: 'RELOAD_SETTLE',
    description:
      'How long new workers must run during a reload before they replace the old ones. If one of them ends earlier or ' +
      'is not ready, the reload is aborted and the old workers stay. A number with ms, s, m or h; with 0, they must ' +
      'only listen and be ready.',
    default: '5s',
    accepts: '0, or a number with ms, s, m or h up to 1h, such as 5s',
    schema: duration('5s').refine((ms) => ms <= 3_600_000),
  }),
  rateLimit: option({
    name: 'RATE_LIMIT',
    description:
      'Limits for the events and bytes of each client and for new connections from each address, such as ' +
      'events=50/s,bytes=100000/s,connections=60/m; each amount is also the largest burst; off sets no limits.',
    default: 'events=2000/s,bytes=4000000/s',
    accepts:
      'off, or a list of events, bytes and connections, each as =<number>/<time>, such as events=100/10s,connections=60/m',
    schema: rates('events=2000/s,bytes=4000000/s'),
  }),
  maxConnectionsPerIp: option({
    name: 'MAX_CONNECTIONS_PER_IP',
    description:
      'Maximum number of simultaneous clients of one address on this machine: an IPv4 address, or the first 64 ' +
      'bits of an IPv6 address; 0 means no limit.',
    default: '10000',
    accepts: 'an integer from 0 to 10000000',
    schema: integer(0, 10_000_000, 10_000),
  }),
  allowedHosts: option({
    name: 'ALLOWED_HOSTS',
    description:
      'Host names, without ports, that requests may address this server by, separated by commas; others are rejected.',
    default: 'every name',
    accepts: 'host names separated by commas, such as chat.example.com,localhost',
    schema: hosts(),
  }),
  allowEIO3: option({
    name: 'ALLOW_EIO3',
    description: 'Whether clients of Socket.IO v2, which speak revision 3 of Engine.IO, may connect.',
    default: 'false',
    accepts: 'true or false',
    schema: flag(false),
  }),
  trustProxy: option({
    name: 'TRUST_PROXY',
    description:
      'Number of proxies in front of the server; the client address is the entry of X-Forwarded-For that the ' +
      'outermost of them added. 0 ignores the header.',
    default: '0',
    accepts: 'an integer from 0 to 16',
    schema: integer(0, 16, 0),
  }),
  keepAlive: option({
    name: 'KEEP_ALIVE',
    description:
      'Whether HTTP connections stay open for further requests: on, off, or auto, which closes those of proxies, because ' +
      'a proxy could reuse one in the moment in which it is closed for idleness.',
    default: 'auto',
    accepts: 'auto, on or off',
    schema: oneOf(['auto', 'on', 'off'], 'auto'),
  }),
  demoPage: option({
    name: 'DEMO_PAGE',
    description: 'Whether the server serves the demo page at /: on or off.',
    default: 'on',
    accepts: 'on or off',
    schema: oneOf(['on', 'off'], 'on'),
  }),
  tlsKey: option({
    name: 'TLS_KEY',
    description: 'PEM file with the private key for https and wss; requires TLS_CERT.',
    default: 'none',
    accepts: 'the path of a readable PEM file with a private key, together with TLS_CERT',
    schema: text(),
  }),
  tlsCert: option({
    name: 'TLS_CERT',
    description: 'PEM file with the certificate chain; requires TLS_KEY.',
    default: 'none',
    accepts: 'the path of a readable PEM file with a certificate, together with TLS_KEY',
    schema: text(),
  }),
} as const;

/** The same options with one common type, for code that iterates over them. */
export const allOptions = options as Readonly<Record<string, OptionSpec<unknown>>>;

type Options = typeof options;

/** The configuration: parsed once, frozen, passed down. Nothing else reads the environment. */
export type Config = {
  readonly [K in keyof Options]: Options[K] extends OptionSpec<infer T> ? T : never;
};

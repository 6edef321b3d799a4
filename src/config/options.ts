import { availableParallelism } from 'node:os';
import { z } from 'zod';
import { duration, integer, line, matching, oneOf, origins, rates, redisUrls, text, type Value } from './values.js';

/** One option: its name in the environment, what it is for, its default, and what it accepts. */
export interface OptionSpec<T> {
  readonly name: string;
  readonly description: string;
  /** How the default is shown in the help. */
  readonly default: string;
  /** What is accepted, in words: the end of "PORT must be …". */
  readonly accepts: string;
  /** Whether the value must not be shown, since it is a secret, or may contain one. */
  readonly isSecret?: boolean;
  readonly schema: Value<T>;
}

function option<T>(spec: OptionSpec<T>): OptionSpec<T> {
  return spec;
}

export const buses = ['auto', 'embedded', 'redis', 'redis-sharded', 'redis-streams'] as const;
export const slowPolicies = ['close', 'drop', 'drop-volatile'] as const;
export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/** All options: the one place where the environment's names stand. */
export const options = {
  port: option({
    name: 'PORT',
    description: 'Port to listen on; 0 takes a free one.',
    default: '3000',
    accepts: 'an integer from 0 to 65535',
    schema: integer(0, 65_535, 3000),
  }),
  host: option({
    name: 'HOST',
    description: 'Address to listen on.',
    default: '0.0.0.0',
    accepts: 'an IP address or a host name',
    schema: z
      .string()
      .regex(/^[0-9A-Za-z.:-]+$/)
      .default('0.0.0.0'),
  }),
  workers: option({
    name: 'WORKERS',
    description: 'Number of worker processes.',
    default: 'number of cores',
    accepts: 'an integer from 1 to 256',
    schema: integer(1, 256, availableParallelism()),
  }),
  redisUrl: option({
    name: 'REDIS_URL',
    isSecret: true,
    description:
      'Redis that joins several machines, as redis://[user:password@]host[:port][/database] or rediss://…; ' +
      'for BUS=redis-sharded one or several nodes of a cluster, separated by commas.',
    default: 'none',
    accepts: 'a URL that begins with redis:// or rediss://, or several separated by commas',
    schema: redisUrls(),
  }),
  bus: option({
    name: 'BUS',
    description:
      'What joins the workers: auto is redis when REDIS_URL is set, else embedded (this machine only); ' +
      'redis-sharded needs a Redis Cluster.',
    default: 'auto',
    accepts: `one of ${buses.join(', ')}`,
    schema: oneOf(buses, 'auto'),
  }),
  historyTtl: option({
    name: 'HISTORY_TTL',
    description: 'How long messages are kept for those who come back: a number with ms, s, m, h or d; 0 keeps none.',
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
    description: 'Folder for the messages that are kept, where there is no REDIS_URL; on a local disk.',
    default: './data',
    accepts: 'a path',
    schema: z.string().default('./data'),
  }),
  archiveUrl: option({
    name: 'ARCHIVE_URL',
    isSecret: true,
    description: 'Database that keeps all messages for good: sqlite:<path>, postgres://… or mysql://…',
    default: 'none',
    accepts: 'a URL that begins with sqlite:, postgres:// or mysql://',
    schema: matching(/^(sqlite:.|(postgres|postgresql|mysql):\/\/.)/),
  }),
  flushMs: option({
    name: 'FLUSH_MS',
    description: 'Longest time in ms that a busy worker gathers what it broadcasts; 0 sends everything at once.',
    default: '25',
    accepts: 'an integer from 0 to 1000',
    schema: integer(0, 1000, 25),
  }),
  logLevel: option({
    name: 'LOG_LEVEL',
    description: 'Least level that is logged.',
    default: 'info',
    accepts: `one of ${logLevels.join(', ')}`,
    schema: oneOf(logLevels, 'info'),
  }),
  corsOrigin: option({
    name: 'CORS_ORIGIN',
    description: 'Origins whose pages may connect, over WebSockets too, separated by commas; * lets all in.',
    default: 'same origin only',
    accepts: '*, or origins such as https://example.com, separated by commas',
    schema: origins(),
  }),
  apiKey: option({
    name: 'API_KEY',
    isSecret: true,
    description: 'Key of the HTTP API, which publishes to any room and reads its history; without it the API is off.',
    default: 'none',
    accepts: 'printable ASCII characters without spaces',
    schema: matching(/^[\x21-\x7e]+$/),
  }),
  jwtSecret: option({
    name: 'JWT_SECRET',
    isSecret: true,
    description: 'Secret of the tokens (JWT, HS256) that users must have; without it and JWKS_URL names are free.',
    default: 'none',
    accepts: 'a text without control characters, best of 32 bytes or more',
    schema: line(),
  }),
  jwksUrl: option({
    name: 'JWKS_URL',
    isSecret: true,
    description: 'Address of the public keys of the tokens (JWT, RS256, ES256 or EdDSA) that users must have.',
    default: 'none',
    accepts: 'a URL that begins with https:// or http://',
    schema: z.url({ protocol: /^https?$/ }).optional(),
  }),
  jwtIssuer: option({
    name: 'JWT_ISSUER',
    description: 'What the claim iss of a token must be; without it any will do.',
    default: 'none',
    accepts: 'a text without control characters, together with JWT_SECRET or JWKS_URL',
    schema: line(),
  }),
  jwtAudience: option({
    name: 'JWT_AUDIENCE',
    description: 'What the claim aud of a token must be or contain; without it any will do.',
    default: 'none',
    accepts: 'a text without control characters, together with JWT_SECRET or JWKS_URL',
    schema: line(),
  }),
  adminUser: option({
    name: 'ADMIN_USER',
    description:
      'Name that /metrics, /api/stats and /api/drain ask for (HTTP basic authentication); without it the first two are open, and the last is off.',
    default: 'none',
    accepts: 'a text without colons and control characters, together with ADMIN_PASSWORD',
    schema: line().refine((value) => !value?.includes(':')),
  }),
  adminPassword: option({
    name: 'ADMIN_PASSWORD',
    isSecret: true,
    description: 'Password that belongs to ADMIN_USER.',
    default: 'none',
    accepts: 'a text without control characters, together with ADMIN_USER',
    schema: line(),
  }),
  maxPayload: option({
    name: 'MAX_PAYLOAD',
    description: 'Longest message that is accepted from a client, in bytes.',
    default: '1000000',
    accepts: 'an integer from 1024 to 134217728 (bytes)',
    schema: integer(1024, 134_217_728, 1_000_000),
  }),
  maxBackpressure: option({
    name: 'MAX_BACKPRESSURE',
    description: 'How many bytes may wait for one client that reads too slowly, before SLOW_POLICY is applied to it.',
    default: '4194304',
    accepts: 'an integer from 16384 to 1073741824 (bytes)',
    schema: integer(16_384, 1_073_741_824, 4_194_304),
  }),
  slowPolicy: option({
    name: 'SLOW_POLICY',
    description:
      'What happens to a client for which too much waits: close ends its connection, drop drops the newest messages, ' +
      'drop-volatile does without changes of presence for who is behind, and closes who falls further behind.',
    default: 'close',
    accepts: `one of ${slowPolicies.join(', ')}`,
    schema: oneOf(slowPolicies, 'close'),
  }),
  drainTimeout: option({
    name: 'DRAIN_TIMEOUT',
    description:
      'How long clients may take to go elsewhere before workers stop or are replaced: a number with ms, s, m or h; ' +
      '0 cuts them off at once.',
    default: '10s',
    accepts: '0, or a number with ms, s, m or h up to 24h, such as 10s',
    schema: duration('10s').refine((ms) => ms <= 86_400_000),
  }),
  rateLimit: option({
    name: 'RATE_LIMIT',
    description:
      'How much is accepted: events and bytes of each client, and connections from each address, such as ' +
      'events=50/s,bytes=100000/s,connections=60/m. So much may come at once, and so much again in each such time.',
    default: 'no limits',
    accepts:
      'a list of events, bytes and connections, each as =<number>/<time>, such as events=100/10s,connections=60/m',
    schema: rates(),
  }),
  maxConnectionsPerIp: option({
    name: 'MAX_CONNECTIONS_PER_IP',
    description:
      'How many clients one address may have at a time on this machine: an IPv4 address, or the first 64 bits of an ' +
      'IPv6 address; 0 is no limit.',
    default: '0',
    accepts: 'an integer from 0 to 10000000',
    schema: integer(0, 10_000_000, 0),
  }),
  trustProxy: option({
    name: 'TRUST_PROXY',
    description:
      "How many proxies each request passes on its way: the last so many entries of X-Forwarded-For are theirs, and tell its client's address.",
    default: '0',
    accepts: 'an integer from 0 to 16',
    schema: integer(0, 16, 0),
  }),
  tlsKey: option({
    name: 'TLS_KEY',
    description: 'File with the private key (PEM) for https and wss; together with TLS_CERT.',
    default: 'none',
    accepts: 'the path of a readable PEM file with a private key, together with TLS_CERT',
    schema: text(),
  }),
  tlsCert: option({
    name: 'TLS_CERT',
    description: 'File with the certificate chain (PEM); together with TLS_KEY.',
    default: 'none',
    accepts: 'the path of a readable PEM file with a certificate, together with TLS_KEY',
    schema: text(),
  }),
} as const;

/** The same, for who goes through all of them. */
export const allOptions = options as Readonly<Record<string, OptionSpec<unknown>>>;

type Options = typeof options;

/** The configuration: parsed once, frozen, passed down. Nothing else reads the environment. */
export type Config = {
  readonly [K in keyof Options]: Options[K] extends OptionSpec<infer T> ? T : never;
};

import { availableParallelism } from 'node:os';
import { z } from 'zod';

/** One option: its name in the environment, what it is for, its default, and what it accepts. */
export interface OptionSpec<T> {
  readonly name: string;
  readonly description: string;
  /** How the default is shown in the help. */
  readonly default: string;
  /** What is accepted, in words: the end of "PORT must be …". */
  readonly accepts: string;
  /** Reads the text of the environment; undefined where the variable is not set or empty. */
  readonly schema: z.ZodType<T, string | undefined>;
}

function option<T>(spec: OptionSpec<T>): OptionSpec<T> {
  return spec;
}

function integer(min: number, max: number, fallback: number): z.ZodType<number, string | undefined> {
  return z
    .string()
    .regex(/^\d{1,15}$/)
    .default(String(fallback))
    .transform(Number)
    .pipe(z.number().int().min(min).max(max));
}

const redisUrl = z.url({ protocol: /^rediss?$/ });

const text = (): z.ZodType<string | undefined, string | undefined> => z.string().optional();

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is kept out
const line = () => text().refine((value) => !/[\u0000-\u001f\u007f]/.test(value ?? ''));

/** A length of time such as `24h`, in milliseconds. */
const duration = (fallback: string): z.ZodType<number, string | undefined> =>
  z
    .string()
    .regex(/^(0|\d{1,9}(ms|s|m|h|d))$/)
    .default(fallback)
    .transform((value) => Number.parseInt(value, 10) * (units[value.replace(/^\d+/, '')] ?? 1)) as never;

const units: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

export const buses = ['auto', 'embedded', 'redis', 'redis-sharded', 'redis-streams'] as const;
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
    description:
      'Redis that joins several machines, as redis://[user:password@]host[:port][/database] or rediss://…; ' +
      'for BUS=redis-sharded one or several nodes of a cluster, separated by commas.',
    default: 'none',
    accepts: 'a URL that begins with redis:// or rediss://, or several separated by commas',
    schema: z
      .string()
      .refine((value) => value.split(',').every((url) => redisUrl.safeParse(url.trim()).success))
      .optional() as z.ZodType<string | undefined, string | undefined>,
  }),
  bus: option({
    name: 'BUS',
    description:
      'What joins the workers: auto is redis when REDIS_URL is set, else embedded (this machine only); ' +
      'redis-sharded needs a Redis Cluster.',
    default: 'auto',
    accepts: `one of ${buses.join(', ')}`,
    schema: z.enum(buses).default('auto') as z.ZodType<(typeof buses)[number], string | undefined>,
  }),
  historyTtl: option({
    name: 'HISTORY_TTL',
    description: 'How long messages are kept for those who come back: a number with ms, s, m, h or d; 0 keeps none.',
    default: '24h',
    accepts: '0, or a number with ms, s, m, h or d, such as 24h',
    schema: duration('24h'),
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
    description: 'Database that keeps all messages for good: sqlite:<path>, postgres://… or mysql://…',
    default: 'none',
    accepts: 'a URL that begins with sqlite:, postgres:// or mysql://',
    schema: z
      .string()
      .regex(/^(sqlite:.|(postgres|postgresql|mysql):\/\/.)/)
      .optional() as z.ZodType<string | undefined, string | undefined>,
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
    schema: z.enum(logLevels).default('info') as z.ZodType<(typeof logLevels)[number], string | undefined>,
  }),
  corsOrigin: option({
    name: 'CORS_ORIGIN',
    description: 'Origins whose pages may connect, separated by commas; * lets all in.',
    default: 'same origin only',
    accepts: '*, or origins such as https://example.com, separated by commas',
    schema: z
      .string()
      .transform((value) => value.split(',').map((origin) => origin.trim()))
      .refine((origins) => origins.every((origin) => origin === '*' || /^https?:\/\/[^/\s]+$/.test(origin)))
      .optional() as z.ZodType<string[] | undefined, string | undefined>,
  }),
  apiKey: option({
    name: 'API_KEY',
    description: 'Key of the HTTP API, which publishes to any room and reads its history; without it the API is off.',
    default: 'none',
    accepts: 'printable ASCII characters without spaces',
    schema: z
      .string()
      .regex(/^[\x21-\x7e]+$/)
      .optional() as z.ZodType<string | undefined, string | undefined>,
  }),
  jwtSecret: option({
    name: 'JWT_SECRET',
    description: 'Secret of the tokens (JWT, HS256) that users must have; without it and JWKS_URL names are free.',
    default: 'none',
    accepts: 'a text without control characters, best of 32 bytes or more',
    schema: line(),
  }),
  jwksUrl: option({
    name: 'JWKS_URL',
    description: 'Address of the public keys of the tokens (JWT, RS256, ES256 or EdDSA) that users must have.',
    default: 'none',
    accepts: 'a URL that begins with https:// or http://',
    schema: z.url({ protocol: /^https?$/ }).optional() as z.ZodType<string | undefined, string | undefined>,
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
  maxPayload: option({
    name: 'MAX_PAYLOAD',
    description: 'Longest message that is accepted from a client, in bytes.',
    default: '1000000',
    accepts: 'an integer from 1024 to 134217728 (bytes)',
    schema: integer(1024, 134_217_728, 1_000_000),
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

type Options = typeof options;

/** The configuration: parsed once, frozen, passed down. Nothing else reads the environment. */
export type Config = {
  readonly [K in keyof Options]: Options[K] extends OptionSpec<infer T> ? T : never;
};

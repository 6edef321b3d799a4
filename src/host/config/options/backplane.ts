import { oneOf, text } from '../../../base/options.js';
import { backplaneNames } from '../../../cluster/backplanes/index.js';
import { redisUrls } from '../../../cluster/backplanes/redis/address.js';
import { natsUrls } from '../values.js';
import { option } from './option.js';

export const buses = ['auto', ...backplaneNames] as const;

/** What connects the workers of several machines. */
export const backplane = {
  redisUrl: option({
    name: 'REDIS_URL',
    isSecret: true,
    description:
      'Redis that connects several machines and stores the history: ' +
      'redis://[user:password@]host[:port][/database] or rediss://…; nodes of a Redis Cluster are separated by commas; ' +
      'or redis-sentinel://[user:password@]host[:port],…/name[?db=1] for the master that Sentinel names.',
    kind: redisUrls,
    isOfRun: true,
  }),
  redisPrefix: option({
    name: 'REDIS_PREFIX',
    description:
      'Prefix of the names of all channels and keys on Redis. Servers with different prefixes do not receive each ' +
      "other's messages.",
    default: 'by the database number of REDIS_URL',
    kind: text('1 to 64 letters, digits and the characters . _ - :', /^[0-9A-Za-z._:-]{1,64}$/),
    isOfRun: true,
  }),
  natsUrl: option({
    name: 'NATS_URL',
    isSecret: true,
    description:
      'NATS that connects several machines: nats://[user:password@]host[:port], nats://token@host or tls://…; ' +
      'several servers of a cluster are separated by commas.',
    kind: natsUrls,
    isOfRun: true,
  }),
  natsCreds: option({
    name: 'NATS_CREDS',
    isSecret: true,
    description:
      'Credentials for NATS: the content of a credentials file (JWT and key); NATS_CREDS_FILE names the file instead.',
    kind: text(
      'the content of a credentials file of NATS',
      /-----BEGIN NATS USER JWT-----[\s\S]*-----BEGIN USER NKEY SEED-----/,
    ),
    isOfRun: true,
  }),
  natsPrefix: option({
    name: 'NATS_PREFIX',
    description:
      "Prefix of all subjects on NATS. Servers with different prefixes do not receive each other's messages.",
    kind: text(
      'parts of 1 to 64 letters, digits and the characters _ -, separated by dots',
      /^(?=.{1,64}$)[0-9A-Za-z_-]+(\.[0-9A-Za-z_-]+)*$/,
    ),
    fallback: 'gjallar',
    isOfRun: true,
  }),
  bus: option({
    name: 'BUS',
    description:
      'How workers exchange messages: embedded (this machine only), redis-frames (between gjallar servers), nats, or ' +
      'redis, which stock servers and emitters understand; auto means nats if NATS_URL is set, redis-frames if only REDIS_URL is, and embedded otherwise.',
    kind: oneOf(buses),
    fallback: 'auto',
    isOfRun: true,
  }),
} as const;

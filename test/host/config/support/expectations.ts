import { availableParallelism } from 'node:os';
import { memoryLimit } from '../../../../src/base/system-limits.js';
import type { Config } from '../../../../src/host/config/options.js';
import { cert, key, text } from './files.js';

/** Looks like the content of a credentials file. */
export const natsCreds = [
  '-----BEGIN NATS USER JWT-----\neyJ0\n------END NATS USER JWT------',
  '-----BEGIN USER NKEY SEED-----\nSUA\n------END USER NKEY SEED------',
].join('\n\n');

export interface Expectation {
  /** What an unset variable means, where the help describes it instead of showing the value. */
  default?: unknown;
  /** Values that are accepted, with what they mean and, where they need it, what must be set with them. */
  good: [value: string, meaning: unknown, together?: Record<string, string>][];
  bad: string[];
}

export const expectations: Record<keyof Config, Expectation> = {
  port: {
    good: [
      ['0', 0],
      ['1', 1],
      ['65535', 65_535],
      [' 8080 ', 8080],
    ],
    bad: ['65536', '-1', '80.5', 'http', '1e3', '0x50', '99999999999999999999'],
  },
  host: {
    good: [
      ['127.0.0.1', '127.0.0.1'],
      ['::1', '::1'],
      ['chat.example.com', 'chat.example.com'],
    ],
    bad: ['two words', 'http://localhost', 'localhost/'],
  },
  adminPort: {
    default: undefined,
    good: [
      ['0', 0],
      ['65535', 65_535],
    ],
    bad: ['65536', '-1', 'admin'],
  },
  adminHost: {
    good: [
      ['0.0.0.0', '0.0.0.0'],
      ['::1', '::1'],
    ],
    bad: ['two words', 'http://localhost'],
  },
  workers: {
    default: availableParallelism(),
    good: [
      ['1', 1],
      ['256', 256],
    ],
    bad: ['0', '257', 'all'],
  },
  redisUrl: {
    default: undefined,
    good: [
      ['redis://localhost:6379/1', 'redis://localhost:6379/1'],
      ['rediss://user:secret@redis.example.com', 'rediss://user:secret@redis.example.com'],
    ],
    bad: ['localhost:6379', 'http://localhost:6379', 'redis', 'redis://a,b'],
  },
  redisPrefix: {
    default: undefined,
    good: [
      ['staging', 'staging'],
      ['chat:v2', 'chat:v2'],
    ],
    bad: ['a b', 'a#', '{a}', 'a*', 'a'.repeat(65)],
  },
  natsUrl: {
    default: undefined,
    good: [
      ['nats://localhost', 'nats://localhost', { HISTORY_TTL: '0' }],
      ['tls://a:1, tls://b:2', 'tls://a:1, tls://b:2', { HISTORY_TTL: '0' }],
    ],
    bad: ['localhost:4222', 'nats://a,http://b'],
  },
  natsCreds: {
    default: undefined,
    good: [[natsCreds, natsCreds, { NATS_URL: 'nats://localhost', HISTORY_TTL: '0' }]],
    bad: ['user.creds'],
  },
  natsPrefix: {
    good: [
      ['staging', 'staging'],
      ['a.b-c_d.1', 'a.b-c_d.1'],
    ],
    bad: ['a..b', 'a:b'],
  },
  bus: {
    good: [
      ['auto', 'auto'],
      ['embedded', 'embedded'],
      ...['redis', 'redis-frames'].map((bus): Expectation['good'][number] => [
        bus,
        bus,
        { REDIS_URL: 'redis://localhost' },
      ]),
      ['nats', 'nats', { NATS_URL: 'nats://localhost', REDIS_URL: 'redis://localhost' }],
    ],
    bad: ['kafka', 'Redis'],
  },
  historyTtl: {
    default: 86_400_000,
    good: [
      ['0', 0],
      ['1500ms', 1500],
      ['90s', 90_000],
      ['5m', 300_000],
      ['2h', 7_200_000],
      ['30d', 2_592_000_000],
    ],
    bad: ['24', '-1h', '1.5h', '1w', 'day'],
  },
  // Any text is a path.
  historyMaxBytes: {
    default: 1_073_741_824,
    good: [
      ['0', 0],
      ['1048576', 1_048_576],
      ['100000000000', 100_000_000_000],
    ],
    bad: ['1', '1048575', '-1', '1GB', '1e9'],
  },
  dataDir: { good: [['/srv/gjallar', '/srv/gjallar']], bad: [] },
  archiveUrl: {
    default: undefined,
    good: ['postgres://localhost/chat', 'postgresql://u:p@db/chat', 'mysql://db/chat'].map((url) => [url, url]),
    bad: ['./archive.db', 'sqlite:./archive.db', 'http://localhost', 'mongodb://localhost/chat'],
  },
  stateRooms: {
    default: undefined,
    good: [
      ['quotes', ['quotes']],
      ['quotes, scores of today', ['quotes', 'scores of today']],
    ],
    bad: ['a,,b', 'a\nb', 'x'.repeat(129)],
  },
  stateMaxPatchBytes: {
    good: [
      ['1024', 1024],
      ['134217728', 134_217_728],
    ],
    bad: ['1023', '134217729', '64k'],
  },
  stateMaxKeys: {
    good: [
      ['1', 1],
      ['10000000', 10_000_000],
    ],
    bad: ['0', '10000001'],
  },
  stateMaxBytes: {
    good: [
      ['1024', 1024],
      ['1099511627776', 1_099_511_627_776],
    ],
    bad: ['1023', '64MB'],
  },
  flushMs: {
    good: [
      ['0', 0],
      ['1000', 1000],
    ],
    bad: ['1001', '-1', '10ms'],
  },
  logLevel: {
    good: ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'].map((level) => [level, level]),
    bad: ['verbose', 'INFO'],
  },
  corsOrigin: {
    default: undefined,
    good: [
      ['*', ['*']],
      ['https://a.example', ['https://a.example']],
      ['capacitor://localhost', ['capacitor://localhost']],
      ['https://*.example.com', ['https://*.example.com']],
      ['https://a.example, http://b.example:8080', ['https://a.example', 'http://b.example:8080']],
    ],
    bad: ['a.example', 'https://a.example/path', 'https://a.example,', 'null', 'https://*', 'https://a*.example'],
  },
  apiKey: { default: undefined, good: [['a-key!', 'a-key!']], bad: ['two words', 'clé'] },
  jwtSecret: { default: undefined, good: [['a secret', 'a secret']], bad: ['a\tb'] },
  jwksUrl: {
    default: undefined,
    good: [['https://a.example/keys', 'https://a.example/keys']],
    bad: ['a.example', 'ftp://a.example'],
  },
  jwtIssuer: { default: undefined, good: [['a', 'a', { JWT_SECRET: 's' }]], bad: ['a\tb'] },
  jwtAudience: { default: undefined, good: [['a', 'a', { JWT_SECRET: 's' }]], bad: ['a\tb'] },
  jwtUserClaim: { good: [['https://a.example/user', 'https://a.example/user']], bad: ['a\tb'] },
  adminUser: { default: undefined, good: [['ops', 'ops', { ADMIN_PASSWORD: 'p' }]], bad: ['a:b', 'a\tb'] },
  adminPassword: { default: undefined, good: [['a: b', 'a: b', { ADMIN_USER: 'ops' }]], bad: ['a\tb'] },
  maxPayload: {
    good: [
      ['1024', 1024],
      ['134217728', 134_217_728],
    ],
    bad: ['1023', '134217729', '1MB'],
  },
  maxBackpressure: {
    good: [
      ['16384', 16_384],
      ['1073741824', 1_073_741_824],
    ],
    bad: ['0', '16383', '1073741825', '4MB'],
  },
  slowPolicy: { good: ['close', 'drop-volatile'].map((policy) => [policy, policy]), bad: ['wait', 'Close'] },
  startTimeout: {
    default: 300_000,
    good: [
      ['0', 0],
      ['24h', 86_400_000],
    ],
    bad: ['25h', '60'],
  },
  drainTimeout: {
    default: 10_000,
    good: [
      ['0', 0],
      ['500ms', 500],
      ['1m', 60_000],
      ['24h', 86_400_000],
    ],
    bad: ['10', '-1s', '25h', 'soon'],
  },
  reloadSettle: {
    default: 5000,
    good: [
      ['0', 0],
      ['250ms', 250],
      ['1h', 3_600_000],
    ],
    bad: ['10', '-1s', '61m', 'long'],
  },
  rateLimit: {
    default: { events: { amount: 2000, per: 1000 }, bytes: { amount: 4_000_000, per: 1000 } },
    good: [
      ['off', {}],
      ['events=50/s', { events: { amount: 50, per: 1000 } }],
      [
        'connections=60/5m, bytes=100000/500ms',
        { connections: { amount: 60, per: 300_000 }, bytes: { amount: 100_000, per: 500 } },
      ],
    ],
    bad: ['50/s', 'events=50', 'events=0/s', 'events=5/0s', 'events=5/s,events=6/s', 'events=5/s,', 'users=5/s'],
  },
  maxBuffered: {
    default: Math.floor(memoryLimit() / 4),
    good: [
      ['0', 0],
      ['1000000000', 1_000_000_000],
    ],
    bad: ['-1', '1GB', 'none'],
  },
  allowedHosts: {
    default: undefined,
    good: [
      ['Chat.example.com, localhost', ['chat.example.com', 'localhost']],
      ['[::1]', ['[::1]']],
    ],
    bad: ['https://example.com', 'example.com:3000', 'a,,b', '*'],
  },
  maxConnectionsPerIp: {
    good: [
      ['0', 0],
      ['100', 100],
    ],
    bad: ['-1', 'none'],
  },
  allowEIO3: {
    default: false,
    good: [
      ['true', true],
      ['false', false],
    ],
    bad: ['yes', '1', 'TRUE'],
  },
  trustProxy: {
    good: [
      ['0', 0],
      ['2', 2],
    ],
    bad: ['-1', '17', 'true', '10.0.0.1'],
  },
  keepAlive: {
    default: 'auto',
    good: [
      ['on', 'on'],
      ['off', 'off'],
    ],
    bad: ['true', 'Auto', '60'],
  },
  demoPage: {
    default: 'on',
    good: [
      ['on', 'on'],
      ['off', 'off'],
    ],
    bad: ['true', 'no', 'Off'],
  },
  tlsKey: { default: undefined, good: [[key, key, { TLS_CERT: cert }]], bad: ['/nowhere/key.pem', text] },
  tlsCert: { default: undefined, good: [[cert, cert, { TLS_KEY: key }]], bad: ['/nowhere/cert.pem', text] },
};

import { integer, text } from '../../../base/options.js';
import { host, httpUrl, isLine, line } from '../values.js';
import { option } from './option.js';

/** Tokens and rights of the users of the chat service, and access for its operator. */
export const access = {
  apiKey: option({
    name: 'API_KEY',
    isSecret: true,
    description:
      'Key of the HTTP API, which publishes to any room and reads its history; without a key or user tokens, the ' +
      'API is off.',
    kind: text('printable ASCII characters without spaces', /^[\x21-\x7e]+$/),
  }),
  jwtSecret: option({
    name: 'JWT_SECRET',
    isSecret: true,
    description:
      'Secret that verifies user tokens (JWT, HS256); if neither this nor JWKS_URL is set, users need no token ' +
      'and choose their own names.',
    accepts: 'a string without control characters, preferably 32 bytes or longer',
    kind: line,
  }),
  jwksUrl: option({
    name: 'JWKS_URL',
    isSecret: true,
    description: 'URL of the public keys that verify user tokens (JWT with RS256, ES256 or EdDSA).',
    kind: httpUrl,
  }),
  jwtIssuer: option({
    name: 'JWT_ISSUER',
    description: 'Value that the iss claim of a token must have; by default any issuer is accepted.',
    accepts: 'a string without control characters, together with JWT_SECRET or JWKS_URL',
    kind: line,
  }),
  jwtAudience: option({
    name: 'JWT_AUDIENCE',
    description: 'Value that the aud claim of a token must be or contain; by default any audience is accepted.',
    accepts: 'a string without control characters, together with JWT_SECRET or JWKS_URL',
    kind: line,
  }),
  jwtUserClaim: option({
    name: 'JWT_USER_CLAIM',
    description:
      'Claim of a token that identifies the user; it must be unique and stable, which the claim name of OpenID ' +
      'Connect is not.',
    kind: line,
    fallback: 'sub',
  }),
  adminUser: option({
    name: 'ADMIN_USER',
    description:
      'User name for /admin, /metrics, /api/stats and the actions (HTTP basic authentication). Without it, counts are ' +
      'public and actions are off; /admin hides names, and /api/stats hides them only if users need tokens.',
    kind: text(
      'a string without colons or control characters, together with ADMIN_PASSWORD',
      (name) => isLine(name) && !name.includes(':'),
    ),
    isOfRun: true,
  }),
  adminPassword: option({
    name: 'ADMIN_PASSWORD',
    isSecret: true,
    description: 'Password for ADMIN_USER.',
    accepts: 'a string without control characters, together with ADMIN_USER',
    kind: line,
    isOfRun: true,
  }),
  adminPort: option({
    name: 'ADMIN_PORT',
    description:
      'Port for operators: the page /admin, /healthz, /readyz, /metrics and the API for operators, also over HTTP/1.0; ' +
      'without it, there is none.',
    accepts: 'an integer from 0 to 65535; 0 picks a free port',
    kind: integer(0, 65_535),
    isOfRun: true,
  }),
  adminHost: option({
    name: 'ADMIN_HOST',
    description: 'Address of ADMIN_PORT.',
    kind: host,
    fallback: '127.0.0.1',
    isOfRun: true,
  }),
} as const;

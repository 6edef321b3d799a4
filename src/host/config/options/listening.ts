import { availableParallelism } from 'node:os';
import { flag, integer, oneOf, text } from '../../../base/options.js';
import { engineOptions } from '../../../engine/options.js';
import { host } from '../values.js';
import { option } from './option.js';

/** What the server listens on, and how it speaks HTTP. */
export const listening = {
  port: option({
    name: 'PORT',
    description: 'Port to listen on; 0 picks a free one.',
    accepts: 'an integer from 0 to 65535',
    kind: integer(0, 65_535),
    fallback: 3000,
  }),
  host: option({
    name: 'HOST',
    description: 'Address to listen on.',
    kind: host,
    fallback: '0.0.0.0',
  }),
  workers: option({
    name: 'WORKERS',
    description: 'Number of worker processes.',
    default: 'number of cores',
    kind: integer(1, 256),
    fallback: availableParallelism(),
    isOfRun: true,
  }),
  tlsKey: option({
    name: 'TLS_KEY',
    description: 'PEM file with the private key for https and wss; requires TLS_CERT.',
    accepts: 'the path of a readable PEM file with a private key, together with TLS_CERT',
    kind: text(),
  }),
  tlsCert: option({
    name: 'TLS_CERT',
    description: 'PEM file with the certificate chain; requires TLS_KEY.',
    accepts: 'the path of a readable PEM file with a certificate, together with TLS_KEY',
    kind: text(),
  }),
  trustProxy: option({
    name: 'TRUST_PROXY',
    description:
      'Number of proxies in front of the server. The client address is the entry of X-Forwarded-For that the ' +
      'outermost proxy added. 0 ignores the header.',
    kind: engineOptions.trustProxy.kind,
    fallback: 0,
    isOfRun: true,
  }),
  keepAlive: option({
    name: 'KEEP_ALIVE',
    description:
      'Whether HTTP connections stay open for further requests: on, off, or auto. With auto, the server closes ' +
      'connections of proxies, because a proxy could reuse an idle connection just as the server closes it.',
    accepts: 'auto, on or off',
    kind: engineOptions.keepAlive.kind,
    fallback: 'auto',
    isOfRun: true,
  }),
  allowedHosts: option({
    name: 'ALLOWED_HOSTS',
    description:
      'Host names, without ports, by which requests may address this server, separated by commas. Requests with ' +
      'other names get the status 421.',
    default: 'every name',
    kind: engineOptions.allowedHosts.kind,
    isOfRun: true,
  }),
  corsOrigin: option({
    name: 'CORS_ORIGIN',
    description:
      'Origins whose pages may connect, over WebSockets too, separated by commas; https://*.example.com allows every ' +
      'subdomain of example.com, and * every origin. Pages of other origins get the status 403.',
    default: 'same origin only; with gjallar run, what the application sets',
    kind: engineOptions.origins.kind,
    isOfRun: true,
  }),
  allowEIO3: option({
    name: 'ALLOW_EIO3',
    description: 'Whether clients of Socket.IO v2, which speak revision 3 of Engine.IO, may connect.',
    kind: flag,
    fallback: false,
    isOfRun: true,
  }),
  demoPage: option({
    name: 'DEMO_PAGE',
    description: 'Whether the server serves the demo page at /: on or off.',
    accepts: 'on or off',
    kind: oneOf(['on', 'off']),
    fallback: 'on',
  }),
} as const;

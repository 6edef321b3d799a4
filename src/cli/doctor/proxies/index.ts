import type { Config } from '../../../config/options.js';
import { envoy } from './envoy.js';
import { haproxy } from './haproxy.js';
import { nginx } from './nginx.js';
import { type ProxyRequest, readProxyRequest } from './request.js';

const proxies: Readonly<Record<string, (request: ProxyRequest) => string>> = { haproxy, nginx, envoy };

/**
 * The configuration of a proxy that places the clients of a room on one worker.
 * @throws GjallarError BAD_CONFIG
 */
export function proxyConfiguration(args: readonly string[], config: Config): string {
  const request = readProxyRequest(args, config, Object.keys(proxies));
  return proxies[request.proxy]!(request);
}

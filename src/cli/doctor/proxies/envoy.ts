import { GjallarError } from '../../../errors.js';
import type { ProxyRequest } from './request.js';

const HTTP_MANAGER =
  'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager';
const ROUTER = 'type.googleapis.com/envoy.extensions.filters.http.router.v3.Router';

/** A static configuration of Envoy, as JSON, which is YAML too. */
export function envoy({ place, addresses, check, balanceFactor, placeMax }: ProxyRequest): string {
  if (placeMax) {
    throw new GjallarError(
      'BAD_CONFIG',
      'Envoy cannot count the clients of a key; leave out --place-max, or use haproxy',
    );
  }
  const route = {
    match: { prefix: '/' },
    route: {
      cluster: 'gjallar',
      // Polls and WebSockets last longer than the default of 15 s.
      timeout: '0s',
      idle_timeout: '75s',
      // The first that a request has decides, so that clients without the parameter go by their address.
      hash_policy: [
        { query_parameter: { name: place }, terminal: true },
        { connection_properties: { source_ip: true } },
      ],
    },
  };
  const manager = {
    '@type': HTTP_MANAGER,
    stat_prefix: 'gjallar',
    use_remote_address: true,
    upgrade_configs: [{ upgrade_type: 'websocket' }],
    route_config: { virtual_hosts: [{ name: 'gjallar', domains: ['*'], routes: [route] }] },
    http_filters: [{ name: 'envoy.filters.http.router', typed_config: { '@type': ROUTER } }],
  };
  const healthCheck = {
    timeout: '3s',
    interval: '1s',
    // By default a minute, as long as no client has connected.
    no_traffic_interval: '1s',
    unhealthy_threshold: 3,
    healthy_threshold: 2,
    ...(check ? { http_health_check: { path: check } } : { tcp_health_check: {} }),
  };
  const cluster = {
    name: 'gjallar',
    type: 'STRICT_DNS',
    connect_timeout: '5s',
    // RING_HASH gives each worker more points when others are gone, and so moves keys of workers that stay.
    lb_policy: 'MAGLEV',
    ...(balanceFactor && {
      common_lb_config: { consistent_hashing_lb_config: { hash_balance_factor: balanceFactor } },
    }),
    health_checks: [healthCheck],
    load_assignment: { cluster_name: 'gjallar', endpoints: [{ lb_endpoints: addresses.map(endpointOf) }] },
  };
  const listener = {
    name: 'web',
    address: socketAddress('0.0.0.0', 80),
    filter_chains: [{ filters: [{ name: 'envoy.filters.network.http_connection_manager', typed_config: manager }] }],
  };
  return `${JSON.stringify({ static_resources: { listeners: [listener], clusters: [cluster] } }, undefined, 2)}\n`;
}

function endpointOf(address: string): object {
  const colon = address.lastIndexOf(':');
  const host = address.slice(0, colon).replace(/^\[|\]$/g, '');
  return { endpoint: { address: socketAddress(host, Number(address.slice(colon + 1))) } };
}

const socketAddress = (address: string, port: number) => ({ socket_address: { address, port_value: port } });

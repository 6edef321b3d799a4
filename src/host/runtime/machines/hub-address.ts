import { backplaneKindOf, backplaneNameOf } from '../../../cluster/backplanes/index.js';
import type { HubAddress } from '../../../cluster/hub/open.js';
import type { RunConfig } from '../../config/options.js';
import { channelPrefixOf } from '../backplane.js';

/** Where the hub of this machine meets others; undefined if the machine is alone. */
export function hubAddressOf(config: RunConfig): HubAddress | undefined {
  const { hub: server, isClassic = false } = backplaneKindOf(backplaneNameOf(config));
  if (!server) return undefined;
  const { redisUrl = '', natsUrl = '', natsCreds: credentials } = config;
  const url = server === 'nats' ? natsUrl : redisUrl;
  return { server, url, credentials, prefix: channelPrefixOf(config), withoutFrames: isClassic };
}

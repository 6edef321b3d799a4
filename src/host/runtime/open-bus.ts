import type { Backplane, BackplaneSurroundings } from '../../cluster/backplanes/backplane.js';
import { type BackplaneChoice, backplaneKindOf, backplaneNameOf } from '../../cluster/backplanes/registry.js';
import { openRecovery } from '../../features/recovery/index.js';

/** How late messages of other machines may arrive, and how far clocks differ, in ms. */
const MACHINES_SLACK_MS = 2000;

/** Opens a backplane, for one Socket.IO server each time. */
export type OpenBackplane = (surroundings: Omit<BackplaneSurroundings, 'url'>) => Backplane;

/**
 * Loads the backplane that the configuration selects. Loading the configuration has checked its options. For servers
 * with the option `connectionStateRecovery`, the workers keep sessions and packets.
 */
export async function loadBackplane(choice: BackplaneChoice): Promise<OpenBackplane> {
  const name = backplaneNameOf(choice);
  const { load, hub, isClassic = false } = backplaneKindOf(name);
  const spansMachines = hub !== undefined;
  const { redisUrl = '', natsUrl = '', natsCreds } = choice;
  const address = name === 'nats' ? { url: natsUrl, credentials: natsCreds } : { url: redisUrl };
  const open = await load();
  return (surroundings) => {
    const { part, window, recovery: options } = surroundings;
    const recovery = openRecovery({
      slackMs: spansMachines ? MACHINES_SLACK_MS : 0,
      ...options,
      server: part ?? 0,
      // Other workers get what the window holds after the keeper. The wire of `redis` has no window.
      window: isClassic ? undefined : window,
    });
    const backplane = open({ ...surroundings, ...address });
    const { health } = backplane;
    health.listen(() => recovery.onBus(health.isUp));
    return {
      ...backplane,
      get recovery() {
        return recovery.state;
      },
      removeSessions: (target) => recovery.remove(target),
      factory: recovery.wrap(backplane.factory),
      close: () => {
        recovery.close();
        backplane.close();
      },
    };
  };
}

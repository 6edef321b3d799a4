import type { BackplaneTraffic } from '../../backplanes/index.js';
import type { MachineChannels } from '../../cluster/machines/machine-links.js';

/** The channels of the workers of all machines, on a server. */
export interface WorkerChannels extends MachineChannels {
  readonly traffic: BackplaneTraffic;
  /** Resolves when this worker's channel is subscribed to. Never rejects. */
  ready(): Promise<void>;
  close(): void;
}

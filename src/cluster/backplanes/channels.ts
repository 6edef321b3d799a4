import type { PubSubPackage } from './pub-sub.js';

/** The channel on which emitters publish. */
export const framesChannel = (prefix: string): string => `${prefix}:frames`;

/**
 * The channel on which hubs meet; those of the hubs begin with the same name.
 * @param withoutFrames hubs that carry only the relay and the services meet on a channel of their own
 */
export const hubsChannel = (prefix: string, withoutFrames = false): string =>
  withoutFrames ? `${prefix}-relay#hubs` : `${framesChannel(prefix)}:hubs`;

/** It is not part of this package, whose types it uses. */
const NATS: string = 'gjallar-nats';

export const natsPackage = (): Promise<PubSubPackage> => import(NATS);

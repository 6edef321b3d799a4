import type { Backplane, BackplaneSurroundings } from '../backplane.js';
import { framesBackplane } from '../frames/machines/open.js';
import { RedisPubSub } from './pub-sub.js';
import { ShardedPubSub } from './sharded-pub-sub.js';

/** Frames between gjallar servers on any machines, over pub/sub of one Redis. */
export function redisFramesBackplane(surroundings: BackplaneSurroundings): Backplane {
  const { url, events, prefix } = surroundings;
  return framesBackplane('redis-frames', surroundings, new RedisPubSub(url, events, prefix));
}

/** The same over sharded pub/sub of a Redis Cluster. */
export function shardedFramesBackplane(surroundings: BackplaneSurroundings): Backplane {
  const { url, events, prefix } = surroundings;
  return framesBackplane('redis-frames-sharded', surroundings, new ShardedPubSub(url, events, prefix));
}

/**
 * Many processes: the workers of a machine, and the machines.
 *
 * It promises: a link delivers in order and once, or says that the other end is gone. Whoever uses a link neither numbers,
 * acknowledges nor repeats.
 *
 *   primary/        the process that starts workers, replaces them, and reloads them one after the other
 *   node.ts         a worker among all others: all that workers say to each other passes here
 *   wire/           what all of them send to each other: envelopes, the list of their types, and what is in them
 *   mesh/           the links between the workers of a machine, and their hub
 *   hub/            the hub: one thread for each machine, which alone speaks to the other machines
 *   backplanes/     rooms over workers and machines; frames/bus.ts is where a broadcast leaves this worker
 *   relay/          requests and WebSockets that arrive at a worker which does not have their session
 *   emitter/        `gjallar/emitter`: messages to rooms from other processes
 *
 * Begin with node.ts and backplanes/frames/bus.ts for a broadcast, and with hub/hub.ts for its way to another machine.
 */
export type { Backplane } from './backplanes/index.js';
export { Emitter } from './emitter/index.js';
export { Hub } from './hub/hub.js';
export { Mesh } from './mesh/mesh.js';
export { Node } from './node.js';
export { Primary } from './primary/primary.js';
export { Relay } from './relay/relay.js';

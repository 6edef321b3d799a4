import { type ProcessHost, thisProcess } from '../../../../src/base/process.js';
import { createStateRoom, type StateRoom, type StateRoomOptions } from '../../../../src/features/state/index.js';
import type { TestNode } from '../../../io/rooms/support/node.js';

/** A state room of one of several workers in this process, which have a hub. */
export function roomOn(node: TestNode, name: string, options: StateRoomOptions = {}): StateRoom {
  return onHubOf(node, () => createStateRoom(node.io, name, options));
}

/** Does something as the worker of a node. */
export function onHubOf<T>(node: TestNode, act: () => T): T {
  const { bus } = node as { bus?: Pick<ProcessHost, 'hubLink'> };
  const before = thisProcess.hubLink;
  Object.assign(thisProcess, { hubLink: bus?.hubLink });
  try {
    return act();
  } finally {
    Object.assign(thisProcess, { hubLink: before });
  }
}

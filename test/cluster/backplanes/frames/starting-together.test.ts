import { expect, test } from '@jest/globals';
import { FrameBus } from '../../../../src/cluster/backplanes/frames/bus.js';
import { Mesh } from '../../../../src/cluster/mesh/mesh.js';
import { Node } from '../../../../src/cluster/node.js';
import { types } from '../../../../src/cluster/wire/types.js';
import { ownWindow } from '../../../../src/engine/delivery/shared-window.js';
import { atEnd } from '../../../support/ends.js';
import { temporaryFolder } from '../../../support/folder.js';
import { until } from '../../../support/until.js';

const WORKERS = [1, 2, 3, 4];

/** Workers of one machine that are linked before any of them has a Socket.IO server, and who has told whom its rooms, in order. */
async function linked() {
  const directory = temporaryFolder();
  const told: string[] = [];
  const nodes: Node[] = [];
  for (const id of WORKERS) {
    const mesh = new Mesh(id, directory);
    atEnd(() => mesh.close());
    await mesh.listen();
    await mesh.join(WORKERS.filter((other) => other < id));
    mesh.on({ onMessage: (from, { type }) => type === types.rooms && told.push(`${from} to ${id}`) });
    nodes.push(new Node(mesh, 'machine0', true));
  }
  const open = (node: Node) => {
    const bus = new FrameBus(node, 0, ownWindow());
    atEnd(() => bus.close());
    return bus;
  };
  return { nodes, told, open };
}

test('workers that start together know the rooms of each other, whoever has its Socket.IO server first', async () => {
  const { nodes, told, open } = await linked();
  const buses: FrameBus[] = [];
  const announced: Promise<boolean>[] = [];
  for (const [index, node] of nodes.entries()) {
    const bus = open(node);
    bus.rooms.add('/', `room of ${index}`);
    buses.push(bus);
    announced.push(bus.announced());
    // Those that have none yet have dropped what it has told them.
    await until(() => WORKERS.every((id) => id === index + 1 || told.includes(`${index + 1} to ${id}`)));
  }
  expect(await Promise.all(announced)).toEqual(buses.map(() => true));
  await Promise.all(buses.map((bus) => bus.announced()));
  for (const bus of buses) {
    bus.sendToRooms('/', ['nowhere'], types.socketsLeave, '');
    // To an id of a worker that is gone.
    expect(bus.holdersOf('/', [`9.${'x'.repeat(20)}`], [])).toEqual([]);
  }
  expect(buses.map(({ sent }) => sent)).toEqual(buses.map(() => ({ messages: 0, frames: 0, lateRooms: 0 })));
  // It ends: each has told each other worker at most twice.
  for (const pair of new Set(told)) expect(told.filter((one) => one === pair).length).toBeLessThanOrEqual(2);
});

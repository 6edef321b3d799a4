// The attacker, in a process of its own: what it costs is told apart from what it does to others.

import { setPriority } from 'node:os';
import { answerOrders } from '../../../harness/process/orders.js';
import { attacks } from '../attacks.js';
import { Attacker } from './kit.js';

// On its own machine it would take no time from the server.
setPriority(10);

const { name, ...settings } = JSON.parse(process.argv[2]);
const attack = attacks.find((one) => one.name === name);
const attacker = new Attacker({ ...settings, rate: attack.rate ?? settings.rate });
const prepared = await attack.prepare?.(attacker);
const prelude = attacker.opened;

const orders = {
  async attack() {
    const before = process.cpuUsage();
    attacker.begin();
    await attack.run(attacker, prepared);
    // An attack that has sent all it sends stays until its time is over: others wait meanwhile.
    while (!attacker.isOver) await new Promise((resolve) => setTimeout(resolve, Math.max(1, attacker.left)));
    const { user, system } = process.cpuUsage(before);
    return { bytes: attacker.bytes, connections: attacker.opened - prelude, cpu: (user + system) / 1e6 };
  },
};

answerOrders(orders);
process.send({ ready: true });

// How a peer talks to the harness over IPC: it says when it is ready, and answers one order.

import { answerOrders } from '../../harness/process/orders.js';
import { collect } from './collect.cjs';

export const orders = {
  memory() {
    collect();
    return process.memoryUsage();
  },
};
answerOrders(orders);

/** Where to listen and how often to ping, the same for every peer of a row. */
export const settings = JSON.parse(process.argv[2]);

/** @param {number} port that clients can connect to from now on */
export const ready = (port) => process.send({ ready: true, port });

/** Says why this peer cannot run here, which is not a failure. */
export const unavailable = (reason) => process.send({ ready: true, unavailable: reason });

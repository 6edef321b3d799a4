import { deploy, jitter } from './arena.js';
import backpressure from './backpressure.js';
import connect from './connect.js';
import connections from './connections.js';
import { echo, idle, marketdata } from './exchange.js';
import history from './history.js';
import recovery from './recovery.js';
import { broadcast, fanout, nodes, windows } from './room.js';
import { cluster, whispers } from './rooms.js';
import { correspondence, express, http } from './service.js';
import state from './state.js';

/** Every benchmark by its name, in the order in which they run and are reported. */
export const benchmarks = {
  ...{ jitter, deploy, idle, broadcast, whispers, connect, echo, fanout, windows, nodes, cluster },
  ...{ correspondence, history, marketdata, connections, backpressure, recovery, state, http, express },
};

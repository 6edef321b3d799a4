import { deploy, jitter } from './arena.js';
import backpressure from './backpressure.js';
import connect from './connect.js';
import connections from './connections.js';
import direct from './direct.js';
import { echo, idle, marketdata } from './exchange.js';
import { history, sizing } from './history.js';
import recovery from './recovery.js';
import { broadcast, fanout, nodes, windows } from './room.js';
import { cluster, placement, whispers, workers } from './rooms.js';
import { correspondence, express, http } from './service.js';
import start from './start.js';
import { stateHere, stateNodes } from './state.js';

/** Every benchmark by its name, in the order in which they run and are reported. */
export const benchmarks = {
  ...{
    jitter,
    deploy,
    idle,
    broadcast,
    whispers,
    connect,
    echo,
    fanout,
    windows,
    nodes,
    cluster,
    placement,
    workers,
  },
  ...{ direct, correspondence, history, sizing, marketdata, connections, backpressure, recovery },
  ...{ state: stateHere, 'state-nodes': stateNodes, http, express, start },
};

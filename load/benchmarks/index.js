import backpressure from './backpressure.js';
import broadcast, { windows } from './broadcast.js';
import { cluster, frames, placement } from './cluster.js';
import connect from './connect.js';
import connections from './connections.js';
import correspondence from './correspondence.js';
import echo from './echo.js';
import express from './express.js';
import fanout from './fanout.js';
import history from './history.js';
import http from './http.js';
import idle from './idle.js';
import marketdata from './marketdata.js';
import { nodes, workers } from './nodes.js';
import portable from './portable.js';
import sizing from './sizing.js';
import rooms from './small-rooms.js';
import start from './start.js';
import state, { stateNodes } from './state.js';

/** Every benchmark by its name, in the order in which they run and are reported. */
export const benchmarks = {
  connect,
  echo,
  idle,
  broadcast,
  fanout,
  rooms,
  windows,
  nodes,
  cluster,
  placement,
  frames,
  workers,
  portable,
  correspondence,
  history,
  sizing,
  marketdata,
  connections,
  backpressure,
  state,
  'state-nodes': stateNodes,
  http,
  express,
  start,
};

import backpressure from './backpressure.js';
import connect from './connect.js';
import connections from './connections.js';
import echo from './echo.js';
import idle from './idle.js';
import marketdata from './marketdata.js';
import recovery from './recovery.js';
import broadcast, { windows } from './rooms/broadcast.js';
import { cluster } from './rooms/cluster.js';
import fanout from './rooms/fanout.js';
import { nodes, workers } from './rooms/nodes.js';
import portable from './rooms/portable.js';
import rooms from './rooms/small-rooms.js';
import correspondence from './service/correspondence.js';
import express from './service/express.js';
import history from './service/history.js';
import http from './service/http.js';
import sizing from './service/sizing.js';
import start from './service/start.js';
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
  workers,
  portable,
  correspondence,
  history,
  sizing,
  marketdata,
  connections,
  backpressure,
  recovery,
  state,
  'state-nodes': stateNodes,
  http,
  express,
  start,
};

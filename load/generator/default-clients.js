// Clients with the default options of socket.io-client: they begin on polling, and upgrade to a WebSocket.

import { io } from 'socket.io-client';

/** Clients that connect at the same time. */
const IN_PROGRESS = 20;
/** An upgrade that takes longer counts as failed, in ms. */
const MAX_UPGRADE_MS = 20_000;

const url = process.argv[2];
const sockets = [];
const errors = new Map();

/** Connects clients until so many more are on a WebSocket. */
async function open(count) {
  const end = sockets.length + count;
  const connectOne = async () => {
    while (sockets.length < end) {
      const socket = io(url, { forceNew: true, reconnection: false });
      sockets.push(socket);
      try {
        await upgraded(socket);
      } catch ({ message }) {
        errors.set(message, (errors.get(message) ?? 0) + 1);
      }
    }
  };
  await Promise.all(Array.from({ length: IN_PROGRESS }, connectOne));
}

function upgraded(socket) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('no upgrade')), MAX_UPGRADE_MS);
    const done = () => {
      clearTimeout(timer);
      resolve();
    };
    socket.once('connect_error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    let isConnected = false;
    let isUpgraded = false;
    socket.once('connect', () => {
      isConnected = true;
      if (isUpgraded) done();
    });
    socket.io.once('open', () => {
      socket.io.engine.once('upgrade', () => {
        isUpgraded = true;
        if (isConnected) done();
      });
    });
  });
}

process.on('message', async (count) => {
  await open(count);
  const { user, system } = process.cpuUsage();
  process.send({ cpu: user + system, at: performance.now(), errors: [...errors] });
});

import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import type { HistoryStore } from '../../../src/features/history/store.js';
import { appendContract, keyContract } from './contract/append.js';
import { changesContract, endContract } from './contract/changes.js';
import { eraseContract } from './contract/erase.js';
import { readContract } from './contract/read.js';
import type { Harness, Subject } from './contract/subject.js';
import { trimContract } from './contract/trim.js';

let rooms = 0;

/** The suite that every implementation of {@link HistoryStore} passes. */
export function storeContract(start: () => Promise<Harness>): void {
  let harness: Harness;
  let store: HistoryStore;
  let room: string;
  const opened: HistoryStore[] = [];
  const at: Subject = {
    get harness() {
      return harness;
    },
    get store() {
      return store;
    },
    get room() {
      return room;
    },
    open: async (limits) => {
      const another = await harness.open(limits);
      opened.push(another);
      return another;
    },
    lose: async () => {
      await harness.lose();
      store = await at.open();
    },
  };

  beforeAll(async () => {
    harness = await start();
    store = await at.open();
  });
  beforeEach(() => {
    room = `room ${++rooms}`;
  });
  afterAll(async () => {
    await Promise.all(opened.map((one) => one.close()));
    await harness.remove();
  });

  appendContract(at);
  keyContract(at);
  readContract(at);
  trimContract(at);
  eraseContract(at);
  changesContract(at);
  endContract(at);
}

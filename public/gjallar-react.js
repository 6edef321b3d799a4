// Hooks of React for the helpers of gjallar-client.js. gjallar-react.d.ts documents what is exported here.

import { useSyncExternalStore } from 'react';
import { DurableRooms, PresenceMap, StateMap } from './gjallar-client.js';

/** The stores of each socket, by what they hold. */
const stores = new WeakMap();
/** Of each socket. A second one would leave rooms in which the first one still is. */
const durable = new WeakMap();

/** What all components of a socket share: it is open as long as one of them is there. */
class Store {
  #open;
  #onClosed;
  #close;
  #listeners = new Set();

  constructor(initial, open, onClosed) {
    this.value = initial;
    this.#open = open;
    this.#onClosed = onClosed;
  }

  get = () => this.value;

  subscribe = (listener) => {
    this.#listeners.add(listener);
    this.#close ??= this.#open((change) => {
      this.value = { ...this.value, ...change(this.value) };
      for (const each of this.#listeners) each();
    });
    return () => {
      this.#listeners.delete(listener);
      // React may mount a component again at once.
      setTimeout(() => this.#listeners.size === 0 && this.#end());
    };
  };

  #end() {
    this.#close?.();
    this.#close = undefined;
    this.#onClosed();
  }
}

const never = () => () => {};

function useStore(socket, key, initial, open) {
  let store;
  if (socket) {
    if (!stores.has(socket)) stores.set(socket, new Map());
    const ofSocket = stores.get(socket);
    store = ofSocket.get(key);
    if (!store) {
      store = new Store(initial, open, () => ofSocket.get(key) === store && ofSocket.delete(key));
      ofSocket.set(key, store);
    }
  }
  const get = store?.get ?? (() => initial);
  return useSyncExternalStore(store?.subscribe ?? never, get, () => initial);
}

/** Renders with each change of a map, which is always the same one. */
function follow(map, update, look) {
  map.on('change', () => update(() => look(map)));
  map.on('error', (error) => update(() => ({ error })));
  return () => map.close();
}

const noValues = { values: new Map(), isComplete: false, error: undefined };

export function useStateMap(socket, name, options) {
  return useStore(socket, `state ${JSON.stringify([name, options])}`, noValues, (update) =>
    follow(new StateMap(socket, name, options), update, (values) => ({ values, isComplete: values.isComplete })),
  );
}

const noUsers = { users: new Map(), members: 0, isComplete: false, error: undefined };

export function usePresence(socket, room) {
  return useStore(socket, `presence ${room}`, noUsers, (update) =>
    follow(new PresenceMap(socket, room), update, (users) => {
      const { members, isComplete } = users;
      return { users, members, isComplete };
    }),
  );
}

const noMessages = { messages: [], isJoined: false, isComplete: true, error: undefined };

export function useDurableRoom(socket, room, { last = 50, maxMessages = 1000 } = {}) {
  return useStore(socket, `durable ${room}`, noMessages, (update) => {
    if (!durable.has(socket)) durable.set(socket, new DurableRooms(socket));
    const rooms = durable.get(socket);
    const fail = (error) => update(() => ({ error }));
    const joining = rooms.join(room, {
      last,
      onMessage: (message) => update(({ messages }) => ({ messages: [...messages, message].slice(-maxMessages) })),
      onJoined: () => update(() => ({ isJoined: true, error: undefined })),
      onRecovered: ({ complete }) => complete || update(() => ({ isComplete: false })),
      onRefused: fail,
    });
    joining.catch(fail);
    return () => rooms.leave(room).catch(() => {});
  });
}

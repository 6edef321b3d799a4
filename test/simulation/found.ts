import type { Script } from './script.js';

/** The shortest scripts that have shown a fault, by what should be. */
export const found: Readonly<Record<string, Script>> = {
  'a client that tries twice keeps its session': {
    ...{ seed: 646784098, clients: 1, workers: 2 },
    actions: [
      [440.2, 'cut', 4, 136],
      [625.6500000000001, 'cut', 6, 838],
      [988.5799999999999, 'cut', 2, 951],
      [1035.6699999999998, 'pause worker', 7, 151],
      [1133.31, 'cut', 4, 1098],
    ],
  },
  'a worker that is killed while it asks for a session does not get it': {
    ...{ seed: 985870809, clients: 1, workers: 3 },
    actions: [
      [907.3399999999997, 'cut', 0, 0],
      [1083.5999999999997, 'cut', 4, 0],
      [1770.03, 'kill worker', 6],
      [2224.3300000000004, 'cut', 2, 708],
      [2311.56, 'kill worker', 4],
    ],
  },
  'the second of two attempts that wait for a session gets it': {
    ...{ seed: 563701121, clients: 1, workers: 3 },
    actions: [
      [777.9099999999997, 'pause worker', 2, 283],
      [777.9099999999997, 'cut', 0, 1258],
      [1042.2399999999998, 'cut', 0, 1414],
    ],
  },
  'what a new worker has not received, its client has not again after two more returns': {
    ...{ seed: 579972070, clients: 1, workers: 2 },
    actions: [
      [600.0800000000002, 'join', 0, 2],
      [628.6500000000002, 'cut', 6, 0],
      [711.3300000000002, 'kill worker', 0],
      [711.3300000000002, 'all', 1],
      [948.3900000000003, 'room', 1, 2],
      [972.0800000000004, 'cut', 6, 1052],
      [1164.4500000000003, 'cut', 6, 585],
    ],
  },
  'what was replayed on a new worker is not replayed again after its death': {
    ...{ seed: 209504364, clients: 1, workers: 3 },
    actions: [
      [265.21000000000004, 'pause worker', 5, 284],
      [265.21000000000004, 'direct', 3, 4],
      [289.75000000000006, 'all', 6],
      [337.0900000000001, 'kill worker', 4],
      [337.0900000000001, 'cut', 4, 0],
      [440.75000000000006, 'cut', 2, 899],
      [509.70000000000005, 'cut', 4, 0],
      [744.4600000000002, 'all', 5],
      [787.3000000000002, 'kill worker', 1],
    ],
  },
};

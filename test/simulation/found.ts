import type { Script } from './script.js';

/** The shortest scripts that have shown a fault, by what should be. */
export const found: Readonly<Record<string, Script>> = {
  'a new hub compares a value once it has what the workers have': {
    ...{ seed: 187000392, clients: 1, workers: 3, machines: 1 },
    actions: [
      [802.9700000000001, 'swap', 3, 1],
      [948.6200000000003, 'kill hub', 0],
      [994.0000000000003, 'swap', 3, 1],
    ],
  },
  'a new hub waits for a worker that was paused before it compares a value': {
    ...{ seed: 164784548, clients: 1, workers: 2, machines: 1 },
    actions: [
      [213.79999999999998, 'swap', 6, 1],
      [246.13999999999996, 'kill hub', 0],
      [393.66999999999973, 'kill worker', 6],
      [518.8199999999996, 'kill hub', 1],
      [548.5399999999996, 'pause worker', 6, 245],
      [573.1899999999996, 'swap', 0, 1],
    ],
  },
  'a session that another machine took for a worker that was killed is found again': {
    ...{ seed: 570404758, clients: 3, workers: 2, machines: 2 },
    actions: [
      [846.95, 'cut', 4, 882],
      [960.1300000000001, 'kill worker', 4],
    ],
  },
  'a client that returns gets what one sender has sent meanwhile in its order, to its id and to all': {
    ...{ seed: 986725280, clients: 2, workers: 2, machines: 2 },
    actions: [
      [200, 'room', 0, 1],
      [206.14, 'room', 1, 1],
      [206.14, 'swap', 2, 0],
      [216.10999999999996, 'cut', 6, 0],
      [271.49999999999994, 'room', 6, 2],
      [271.49999999999994, 'set', 5, 1],
      [315.70999999999987, 'kill worker', 2],
      [321.29999999999984, 'room', 1, 1],
      [327.45999999999987, 'all', 5],
      [335.4999999999999, 'room', 0, 1],
      [346.6299999999999, 'room', 6, 0],
      [350.0499999999999, 'room', 2, 2],
      [350.0499999999999, 'room', 6, 0],
      [359.5999999999999, 'room', 1, 0],
      [359.5999999999999, 'all', 0],
      [361.4799999999999, 'pause worker', 6, 293],
      [361.4799999999999, 'room', 2, 2],
      [361.4799999999999, 'direct', 3, 6],
      [364.9399999999999, 'direct', 5, 2],
      [364.9399999999999, 'all', 3],
    ],
  },
  'what a new worker sends after the clock was set back is not taken for older than what a client has': {
    ...{ seed: 102459963, clients: 2, workers: 2, machines: 1 },
    actions: [
      [687.26, 'kill worker', 3],
      [756.48, 'step clock', 1, -1903275],
      [766.04, 'all', 3],
      [791.26, 'kill worker', 6],
      [791.26, 'step clock', 0, -431],
      [845.45, 'direct', 6, 1],
    ],
  },
  'what one machine sends whose clock was set back is not taken for older than what a client of another one has': {
    ...{ seed: 291677473, clients: 4, workers: 2, machines: 2 },
    actions: [
      [883.9299999999998, 'cut', 4, 1191],
      [926.3499999999998, 'step clock', 0, -2101],
      [926.3499999999998, 'cut', 0, 0],
      [961.0899999999998, 'direct', 5, 4],
    ],
  },
  'what is kept goes when it is old, although the clock was set back': {
    ...{ seed: 574717927, clients: 1, workers: 2, machines: 1 },
    actions: [
      [491.0300000000001, 'step clock', 0, 3051724],
      [923.5200000000001, 'room', 7, 1],
      [934.6000000000001, 'step clock', 0, -485],
    ],
  },
  'a machine that is here again after an outage gets what another one changes': {
    ...{ seed: 235171998, clients: 3, workers: 3, machines: 2 },
    actions: [
      [310.78999999999996, 'room', 2, 0],
      [331.01, 'fail carrier', 0, 41],
      [383.51000000000005, 'all', 5],
      [405.94000000000005, 'set', 3, 0],
    ],
  },
  'a session that came for a worker that was killed is found by the next one': {
    ...{ seed: 603230746, clients: 2, workers: 3, machines: 2 },
    actions: [
      [367.57000000000005, 'pause hub', 0, 174],
      [367.57000000000005, 'cut', 1, 0],
      [387.72, 'kill worker', 3],
    ],
  },
  'a value that was set later stays when a worker ends before all are read': {
    ...{ seed: 722302351, clients: 5, workers: 3, machines: 1 },
    actions: [
      [214.28, 'all', 5],
      [214.59, 'room', 3, 1],
      [235.06, 'pause hub', 0, 185],
      [235.06, 'direct', 5, 4],
      [250.24999999999997, 'set', 0, 2],
      [259.71, 'set', 2, 2],
      [345.4800000000001, 'kill worker', 1],
    ],
  },
  'the same when one worker is left': {
    ...{ seed: 837663576, clients: 1, workers: 2, machines: 1 },
    actions: [
      [332.18, 'room', 4, 1],
      [351.78, 'pause hub', 0, 148],
      [367.57, 'set', 6, 0],
      [387.84, 'set', 4, 2],
      [409.76, 'set', 1, 2],
      [439.30999999999995, 'kill worker', 3],
    ],
  },
  'the same, of another worker': {
    ...{ seed: 825006753, clients: 2, workers: 3, machines: 1 },
    actions: [
      [267.8299999999999, 'room', 4, 1],
      [271.5799999999999, 'room', 0, 2],
      [271.5799999999999, 'pause hub', 0, 159],
      [278.83, 'kill worker', 2],
      [305.09, 'set', 1, 2],
      [318.54999999999995, 'set', 4, 2],
    ],
  },
  'a client of two machines keeps its session when workers die': {
    ...{ seed: 327640253, clients: 4, workers: 3, machines: 2 },
    actions: [
      [239.79000000000002, 'cut', 1, 0],
      [246.79, 'pause worker', 5, 246],
      [276.81, 'kill worker', 6],
      [297.87, 'direct', 3, 3],
      [297.87, 'kill worker', 2],
      [298.34000000000003, 'set', 4, 0],
      [373.20000000000016, 'kill worker', 0],
      [380.23000000000013, 'all', 0],
      [384.9900000000001, 'all', 4],
    ],
  },
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

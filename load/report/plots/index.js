import fanOut from './fan-out.js';
import latency from './latency.js';
import memory from './memory.js';
import slowClients from './slow-clients.js';
import windows from './windows.js';

/**
 * Every plot: the benchmark in whose chapter it stands, its file, what it shows in words, and how it comes from the results,
 * a specification of Vega-Lite, or nothing where there are none.
 */
export const plots = [latency, fanOut, windows, memory, slowClients];

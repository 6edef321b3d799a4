import { heldInput } from './attacks/held.js';
import { packetAttacks } from './attacks/packets.js';
import { recoveryAttacks } from './attacks/recovery.js';
import { requestAttacks } from './attacks/requests.js';
import { stateAttacks } from './attacks/state.js';

/**
 * One way to take more from the server than it costs.
 * @typedef {object} Attack
 * @property {string} name in words, unique
 * @property {string} about what it sends
 * @property {(attacker: import('./attacker/kit.js').Attacker, prepared: any) => Promise<unknown>} run the attack itself
 * @property {(attacker: import('./attacker/kit.js').Attacker) => Promise<any>} [prepare] what has to be there before the clock starts
 * @property {number} [rate] bytes per second, where that is less than what an attacker may send at most
 * @property {Record<string, string>} [environment] of the server
 * @property {string} [application] what `gjallar run` runs in place of the chat service
 * @property {Partial<import('./verdict.js').Bounds>} [bounds] where they differ
 */

/** @type {Attack[]} */
export const attacks = [
  { name: 'control', about: 'nothing: what the probes see on a quiet server', run: async () => {} },
  ...packetAttacks,
  ...requestAttacks,
  ...heldInput,
  ...recoveryAttacks,
  ...stateAttacks,
];

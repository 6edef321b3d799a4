import { argumentAttacks } from './attacks/arguments.js';
import { chatFloods } from './attacks/chat-floods.js';
import { chatPosts } from './attacks/chat-posts.js';
import { engineFloods } from './attacks/engine-floods.js';
import { framing } from './attacks/framing.js';
import { handshakes } from './attacks/handshakes.js';
import { historyAttacks } from './attacks/history.js';
import { pipelines } from './attacks/pipelines.js';
import { plainFloods } from './attacks/plain-floods.js';
import { readers } from './attacks/readers.js';
import { recoveryAttacks } from './attacks/recovery.js';
import { relayed } from './attacks/relayed.js';
import { stateAttacks } from './attacks/state.js';
import { heldInput } from './memory/held-input.js';

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
  ...argumentAttacks,
  ...pipelines,
  ...engineFloods,
  ...chatFloods,
  ...chatPosts,
  ...plainFloods,
  ...historyAttacks,
  ...handshakes,
  ...framing,
  ...readers,
  ...relayed,
  ...heldInput,
  ...recoveryAttacks,
  ...stateAttacks,
];

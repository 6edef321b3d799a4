import { execFileSync, spawn } from 'node:child_process';
import { atExit } from '../../../test/support/children.js';

const SELF = '10.0.0.254';

/** Why hosts cannot be made here, or undefined where they can. */
export function whyNoHosts() {
  try {
    new Hosts([]).remove();
    return undefined;
  } catch (error) {
    return `network namespaces cannot be made here (${String(error.stderr || error.message).trim()})`;
  }
}

/**
 * Several hosts on this machine: a network namespace each, joined by a bridge in one more. Clients have to be started
 * in the bridge's, with `launch('bridge', …)`, since nothing outside has a way to these addresses.
 */
export class Hosts {
  #names;
  #made = [];
  #isUndone;

  /** Those that another process has made. */
  static existing(prefix, names) {
    return new Hosts(names, prefix);
  }

  /** Makes hosts with the addresses 10.0.0.1, 10.0.0.2, … @param {string[]} names */
  constructor(names, prefix) {
    this.#names = names;
    this.prefix = prefix ?? `torture-${process.pid}`;
    if (prefix) return;
    this.#isUndone = atExit(() => this.remove());
    try {
      this.#add('bridge');
      this.#inside('bridge', 'link', 'set', 'lo', 'up');
      this.#inside('bridge', 'link', 'add', 'bridge', 'type', 'bridge');
      this.#inside('bridge', 'address', 'add', `${SELF}/24`, 'dev', 'bridge');
      this.#inside('bridge', 'link', 'set', 'bridge', 'up');
      for (const name of names) {
        this.#add(name);
        const peer = ['peer', 'name', 'eth0', 'netns', this.#full(name)];
        this.#inside('bridge', 'link', 'add', name, 'type', 'veth', ...peer);
        this.#inside('bridge', 'link', 'set', name, 'master', 'bridge', 'up');
        this.#inside(name, 'address', 'add', `${this.addressOf(name)}/24`, 'dev', 'eth0');
        this.#inside(name, 'link', 'set', 'eth0', 'up');
        this.#inside(name, 'link', 'set', 'lo', 'up');
      }
    } catch (error) {
      this.remove();
      throw error;
    }
  }

  addressOf(name) {
    return `10.0.0.${this.#names.indexOf(name) + 1}`;
  }

  /** Starts programs on a host, as `spawn` does here. @returns {typeof spawn} */
  launcher(name) {
    return (command, args, options) => spawn('ip', ['netns', 'exec', this.#full(name), command, ...args], options);
  }

  /** Cuts a host off: what it sends is lost without an error. */
  cut(name) {
    this.#inside('bridge', 'link', 'set', name, 'down');
  }

  heal(name) {
    this.#inside('bridge', 'link', 'set', name, 'up');
  }

  remove() {
    this.#isUndone?.();
    for (const name of this.#made.splice(0)) ip('netns', 'delete', name);
  }

  #add(name) {
    ip('netns', 'add', this.#full(name));
    this.#made.push(this.#full(name));
  }

  #full(name) {
    return `${this.prefix}-${name}`;
  }

  #inside(name, ...args) {
    ip('-netns', this.#full(name), ...args);
  }
}

function ip(...args) {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] });
}

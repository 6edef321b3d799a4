import { execFileSync, spawn } from 'node:child_process';
import { atExit, end, own } from './children.js';
import { late } from './until.js';

const BRIDGE = '10.0.0.254';

/** Why hosts cannot be made here, or undefined where they can. */
export function whyNoHosts() {
  try {
    new Hosts([]).takeDown();
    return undefined;
  } catch (error) {
    return `network namespaces cannot be made here (${String(error.stderr || error.message).trim()})`;
  }
}

/**
 * Several hosts on this machine: a network namespace each, joined by a bridge in one more. Nothing of it is seen outside, and no
 * address is used but in these namespaces. A client may be on one of the hosts, or in the bridge's namespace (`bridge`).
 */
export class Hosts {
  #names;
  #made = [];
  #children = new Set();
  #forget = () => {};

  /** Those that another process has made. */
  static existing(prefix, names) {
    return new Hosts(names, prefix);
  }

  /**
   * Makes hosts with the addresses 10.0.0.1, 10.0.0.2, …
   * @param {readonly string[]} names @param {string} [prefix] of those that are there already
   */
  constructor(names, prefix) {
    this.#names = names;
    this.prefix = prefix ?? `gjallar-${process.pid}`;
    if (prefix) return;
    this.#forget = atExit(() => this.takeDown());
    try {
      this.#add('bridge');
      this.#inside('bridge', 'link', 'set', 'lo', 'up');
      this.#inside('bridge', 'link', 'add', 'bridge', 'type', 'bridge');
      this.#inside('bridge', 'address', 'add', `${BRIDGE}/24`, 'dev', 'bridge');
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
      this.takeDown();
      throw error;
    }
  }

  /** @param {string} name */
  addressOf(name) {
    return `10.0.0.${this.#names.indexOf(name) + 1}`;
  }

  /** Starts programs on a host, as `spawn` does here. @param {string} name @returns {typeof spawn} */
  launcher(name) {
    return (command, args, options) => spawn('ip', ['netns', 'exec', this.#full(name), command, ...args], options);
  }

  /**
   * Starts a program on a host, which `remove` ends.
   * @param {string} name @param {string} command @param {readonly string[]} args
   * @param {import('node:child_process').SpawnOptions} options
   */
  run(name, command, args, options) {
    const child = own(this.launcher(name)(command, args, options));
    this.#children.add(child);
    return child;
  }

  /** Cuts a host off: what it sends is lost, and nobody tells it. @param {string} name */
  cut(name) {
    this.#inside('bridge', 'link', 'set', name, 'down');
  }

  /** @param {string} name */
  heal(name) {
    this.#inside('bridge', 'link', 'set', name, 'up');
  }

  /** Ends what was started with `run`, and takes the hosts away. */
  async remove() {
    for (const child of this.#children) {
      // A process that was stopped has to go on to end.
      child.kill('SIGCONT');
      await Promise.race([end(child, 'SIGTERM'), late('the end of a process').catch(() => end(child))]);
    }
    this.takeDown();
  }

  takeDown() {
    this.#forget();
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

// The operator's actions. Each asks before it acts, and says what it has done.

import { byId, element } from './dom.js';
import { count } from './format.js';

const people = (number) => `${count(number)} ${number === 1 ? 'client' : 'clients'}`;

/** Each action, by its path: its question, and what it has done. `fields` asks for a target that is not known yet. */
const actions = {
  disconnect: {
    title: ({ user, address }) => `Disconnect ${user ?? address ?? 'a user or an address'}?`,
    text: () => 'All connections are closed. The clients may connect again.',
    confirm: 'Disconnect',
    fields: [
      { name: 'kind', label: 'What', options: ['user', 'address'] },
      { name: 'target', label: 'Name or address' },
    ],
    body: ({ kind, target, ...known }) => (kind ? { [kind]: target } : known),
    done: ({ disconnected }, body) => `Disconnected ${people(disconnected)} of ${body.user ?? body.address}.`,
  },
  'close-room': {
    title: ({ name }) => (name === undefined ? 'Close a room?' : `Close the room ${name}?`),
    text: () => 'All members leave the room and stay connected. They may join it again.',
    confirm: 'Close room',
    fields: [{ name: 'name', label: 'Room' }],
    body: ({ namespace, name }) => ({ room: name, ...(namespace && namespace !== '/' && { namespace }) }),
    done: ({ removed }, { room }) => `Closed ${room}: ${people(removed)} left it.`,
  },
  reload: {
    title: () => 'Reload all workers?',
    text: () => 'New workers start with the installed code. Clients move to them over DRAIN_TIMEOUT.',
    confirm: 'Reload',
    done: () => 'The workers are being replaced.',
  },
  drain: {
    title: () => 'Drain this machine?',
    text: () =>
      'Readiness fails, and all clients are disconnected so that they reach other machines. A reload ends the drain.',
    confirm: 'Drain',
    done: () => 'The machine is draining.',
  },
};

export class Actions {
  #dialog = byId('dialog');
  #name;
  #target = {};

  /** @param onDone called with what an action has done */
  constructor(onDone) {
    for (const name of Object.keys(actions)) byId(name).addEventListener('click', () => this.ask(name));
    byId('dialog-cancel').addEventListener('click', () => this.#dialog.close());
    byId('dialog-form').addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#act(onDone);
    });
  }

  /** Asks whether to act. Without a target, it asks for that as well. */
  ask(name, target = {}) {
    const action = actions[name];
    this.#name = name;
    this.#target = target;
    byId('dialog-title').textContent = action.title(target);
    byId('dialog-text').textContent = action.text();
    byId('dialog-confirm').textContent = action.confirm;
    byId('dialog-confirm').disabled = false;
    byId('dialog-failure').textContent = '';
    const isAsked = action.fields && Object.keys(target).length === 0;
    byId('dialog-fields').replaceChildren(...(isAsked ? action.fields.map(fieldOf) : []));
    this.#dialog.showModal();
    (byId('dialog-fields').querySelector('select, input') ?? byId('dialog-cancel')).focus();
  }

  async #act(onDone) {
    const action = actions[this.#name];
    const fields = [...byId('dialog-fields').querySelectorAll('select, input')];
    const given = Object.fromEntries(fields.map(({ name, value }) => [name, value]));
    const body = action.body?.({ ...this.#target, ...given });
    byId('dialog-confirm').disabled = true;
    byId('dialog-failure').textContent = '';
    try {
      const answer = await post(`../api/${this.#name}`, body);
      this.#dialog.close();
      onDone(action.done(answer, body ?? {}));
    } catch (error) {
      byId('dialog-failure').textContent = error.message;
      byId('dialog-confirm').disabled = false;
    }
  }
}

function fieldOf({ name, label, options }) {
  const id = `field-${name}`;
  const control = options
    ? element('select', { id, name }, ...options.map((value) => element('option', { value }, value)))
    : element('input', { id, name, required: '', autocomplete: 'off', spellcheck: 'false' });
  return element('div', { class: 'field' }, element('label', { for: id }, label), control);
}

/** @throws an error whose message is for the operator */
async function post(path, body) {
  let response;
  try {
    const content = body && { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) };
    response = await fetch(path, { method: 'POST', signal: AbortSignal.timeout(15_000), ...content });
  } catch {
    throw new Error('The server did not answer. Whether it has acted is not known.');
  }
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(answer.message ?? `The server answered with status ${response.status}.`);
  return answer;
}

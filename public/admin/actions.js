// The operator's actions. Each asks before it acts, and says what it has done.

import { byId, element } from './dom.js';
import { count } from './format.js';

const people = (number) => `${count(number)} ${number === 1 ? 'client' : 'clients'}`;

/** Each action, by its path: its question, and what it has done. `fields` asks for a target that is not known yet. */
const actions = {
  disconnect: {
    title: ({ user, address, id }) =>
      `Disconnect ${user ?? address ?? (id ? `the socket ${id}` : 'a user or an address')}?`,
    text: 'All connections are closed. The clients may connect again.',
    confirm: 'Disconnect',
    fields: [
      { name: 'kind', label: 'What', options: ['user', 'address'] },
      { name: 'target', label: 'Name or address' },
    ],
    body: ({ kind, target, ...known }) => (kind ? { [kind]: target } : known),
    done: ({ disconnected }, body) =>
      `Disconnected ${people(disconnected)} of ${body.user ?? body.address ?? body.id}.`,
  },
  'close-room': {
    title: ({ name }) => (name === undefined ? 'Close a room?' : `Close the room ${name}?`),
    text: 'All members leave the room and stay connected. They may join it again.',
    confirm: 'Close room',
    fields: [{ name: 'name', label: 'Room' }],
    body: ({ namespace, name }) => ({ room: name, ...(namespace && namespace !== '/' && { namespace }) }),
    done: ({ removed }, { room }) => `Closed ${room}: ${people(removed)} left it.`,
  },
  reload: {
    title: () => 'Reload all workers?',
    text: 'New workers start with the installed code. Clients move to them over DRAIN_TIMEOUT.',
    confirm: 'Reload',
    done: () => 'The workers are being replaced.',
  },
  drain: {
    title: () => 'Drain this machine?',
    text: 'Readiness fails, and all clients are disconnected so that they reach other machines. A reload ends the drain.',
    confirm: 'Drain',
    done: () => 'The machine is draining.',
  },
};

const dialog = byId('dialog');
/** The action that the dialog asks about, and its target. */
let asked = {};

/** @param onDone called with what an action has done */
export function watchActions(onDone) {
  for (const name of Object.keys(actions)) byId(name).addEventListener('click', () => ask(name));
  byId('dialog-cancel').addEventListener('click', () => dialog.close());
  byId('dialog-form').addEventListener('submit', (event) => {
    event.preventDefault();
    void act(onDone);
  });
}

/** Asks whether to act. Without a target, it asks for that as well. */
export function ask(name, target = {}) {
  byId('done').hidden = true;
  asked = { name, target };
  const { title, text, confirm, fields } = actions[name];
  byId('dialog-title').textContent = title(target);
  byId('dialog-text').textContent = text;
  byId('dialog-confirm').textContent = confirm;
  byId('dialog-confirm').disabled = false;
  byId('dialog-failure').textContent = '';
  const isAsked = fields && Object.keys(target).length === 0;
  byId('dialog-fields').replaceChildren(...(isAsked ? fields.map(fieldOf) : []));
  dialog.showModal();
  (dialog.querySelector('select, input') ?? byId('dialog-cancel')).focus();
}

async function act(onDone) {
  const { name, target } = asked;
  const fields = [...dialog.querySelectorAll('select, input')];
  const given = Object.fromEntries(fields.map((field) => [field.name, field.value]));
  const body = actions[name].body?.({ ...target, ...given });
  byId('dialog-confirm').disabled = true;
  byId('dialog-failure').textContent = '';
  try {
    const answer = await post(`../api/${name}`, body);
    dialog.close();
    onDone(actions[name].done(answer, body ?? {}));
  } catch (error) {
    byId('dialog-failure').textContent = error.message;
    byId('dialog-confirm').disabled = false;
  }
}

function fieldOf({ name, label, options }) {
  const id = `field-${name}`;
  const control = options
    ? element('select', { id, name }, ...options.map((value) => element('option', { value }, value)))
    : element('input', { id, name, required: '', autocomplete: 'off', spellcheck: 'false' });
  return element('div', {}, element('label', { for: id }, label), control);
}

/** @throws an error whose message is for the operator */
async function post(path, body) {
  const content = body && { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) };
  const response = await fetch(path, { method: 'POST', signal: AbortSignal.timeout(15_000), ...content }).catch(() => {
    throw new Error('The server did not answer. Whether it has acted is not known.');
  });
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(answer.message ?? `The server answered with status ${response.status}.`);
  return answer;
}

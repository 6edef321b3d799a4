// Workers, rooms, users, addresses, recent events, details and problems.

import { showClientsOf } from './clients.js';
import { byId, element, syncRows, write } from './dom.js';
import { ago, bytes, count, ms, percent, span } from './format.js';
import { action, actions, button, named, number, panel, wide } from './panel.js';

/** Names the states of workers and machines as the log does. */
const LOADS = ['', 'busy', 'full', 'overloaded'];

const workers = panel(
  'workers',
  'Workers',
  ({ id }) => id,
  [
    { label: 'Worker', text: ({ id }) => String(id) },
    { label: 'State', name: 'state', text: (worker) => stateOf(worker) },
    number('Clients', ({ clients }) => count(clients)),
    number('CPU', ({ rates }) => percent(rates?.cpu), '', 'Of one core.'),
    number('Memory', ({ memory }) => bytes(memory), '', 'Resident memory of the process.'),
    number('Delay', ({ delay }) => ms(delay?.p99), '', 'By how much the event loop is late, 99th percentile.'),
    wide('In /s', ({ rates }) => count(rates?.received), 'Messages received from clients.'),
    wide(
      'Out /s',
      ({ rates }) => count(rates && rates.sent + rates.deliveries),
      'Messages sent to clients, each delivery.',
    ),
    wide('Waiting', ({ buffered }) => bytes(buffered), 'Bytes that slow clients have not read yet.'),
    wide('Process', ({ pid }) => (pid === undefined ? '–' : String(pid))),
    wide('Running for', ({ uptime }) => span(uptime)),
  ],
  (row, { doesRespond, load, state }) => {
    row.dataset.state = doesRespond && !(load > 1) ? state : 'not ready';
  },
);

function stateOf({ doesRespond, load, state }) {
  return doesRespond ? LOADS[load] || state : 'does not respond';
}

export function showWorkers({ workers: known, configuredWorkers, workersElsewhere }) {
  workers(known);
  const missing = configuredWorkers - known.length;
  const elsewhere =
    workersElsewhere === undefined
      ? 'The workers of other machines cannot be counted.'
      : workersElsewhere > 0 &&
        `${count(workersElsewhere)} more workers on other machines. Each machine has a page of its own.`;
  write(byId('elsewhere'), [missing > 0 && `${missing} not running.`, elsewhere].filter(Boolean).join(' '));
}

const details = panel('details', 'In detail', ([name]) => name, [
  { label: 'Figure', name: 'about', text: ([name]) => name },
  number('Value', ([, text]) => text),
]);

/** Shows figures in rows. What this server cannot have is left out. */
export function showDetails({ namespaces, rates, latency, workers, node, roomCount, measures }) {
  const { history } = measures;
  const names = Object.entries(namespaces).sort(([, one], [, other]) => other - one);
  const shown = [
    ...names.slice(0, 6).map(([name, sockets]) => [`Sockets in ${name}`, count(sockets)]),
    ['Rooms', count(roomCount)],
    ['New connections', `${count(rates.opened)} /s`],
    ['Rejected', `${count(rates.refused)} /s`],
    history && ['Stored messages', `${count(rates.appends)} /s`],
    history && ['Storing takes', ms(latency.history)],
    ['Busy event loops', `${rates.busy.toFixed(2)} of ${workers.length}`],
    ['Node.js', node],
  ];
  details(shown.filter(Boolean));
}

const rooms = panel(
  'rooms',
  'Top rooms',
  ({ namespace, room }) => `${namespace}\n${room}`,
  [
    named('Room', ({ namespace, name }) => [
      namespace !== '/' && element('bdi', { class: 'namespace' }, `${namespace} `),
      element('bdi', { title: name }, name),
    ]),
    number('Members', ({ members }) => count(members), '', 'Of all machines, with plain WebSockets.'),
    number('Sent /s', ({ perSecond }) => count(perSecond), '', 'Messages to the room, over the last seconds.'),
    actions(({ namespace, room, name }) => [
      button('Clients', `Clients in ${name}`, () => showClientsOf({ namespace, room, name })),
      action('Close', name, 'close-room', { namespace, room, name }),
    ]),
  ],
  (row, { members }) => {
    // The server lists a room for a moment after its last member has left.
    row.lastElementChild.hidden = members === 0;
  },
);

const talkers = (id, title, label, kind) =>
  panel(id, title, ({ key }) => key, [
    named(label, ({ key }) => [element('bdi', { title: key }, key || 'unknown')]),
    number('Sends /s', ({ perSecond }) => count(perSecond), '', 'Messages received, over the last seconds.'),
    actions(({ key }) => [key && action('Disconnect', key, 'disconnect', { [kind]: key })]),
  ]);
const users = talkers('users', 'Top users', 'User', 'user');
const addresses = talkers('addresses', 'Top addresses', 'Address', 'address');

export function showLists(overview) {
  rooms(overview.rooms);
  const isCut = overview.roomCount > overview.rooms.length;
  write(byId('room-count'), isCut ? `${count(overview.roomCount)} rooms in all.` : '');
  users(overview.users);
  addresses(overview.addresses);
  byId('users').hidden = overview.users.length === 0;
}

const recent = panel(
  'recent',
  'Recent rejections, warnings and errors',
  ({ code, message }) => `${code} ${message}`,
  [
    { label: 'Last', name: 'at', text: ({ ago: time }) => time },
    number('Count', ({ count: times }) => count(times)),
    {
      label: 'What',
      make: ({ code, message }) => [code && element('code', {}, code), ' ', element('bdi', {}, message)],
    },
    { label: 'About', name: 'wide about', text: ({ about }) => about },
  ],
  (row, { level }) => {
    row.dataset.level = level;
  },
);

export function showRecent({ recent: events, at }) {
  const aboutOf = ({ details }) => Object.entries(details).map((detail) => detail.join(' '));
  recent(events.map((event) => ({ ...event, ago: ago(at - event.at), about: aboutOf(event).join(' · ') })));
}

export function showProblems({ problems }) {
  byId('problems').hidden = problems.length === 0;
  syncRows(
    byId('problem-list'),
    problems,
    ({ text }) => text,
    ({ code, text, remedy }) =>
      element('li', {}, element('strong', {}, text), element('span', {}, remedy), element('code', {}, code)),
  );
}

// Workers, rooms, users, addresses, recent events and problems.

import { ago, bytes, count, ms, percent, span } from './format.js';
import { cell, element, rowOf, syncRows, write } from './rows.js';

const byId = (id) => document.getElementById(id);
const number = (name, className = '') => ({ name, className: `number ${className}`.trim() });

/** Names the states of workers and machines as the log does. */
const LOADS = ['', 'busy', 'full', 'overloaded'];

export function showWorkers({ workers, configuredWorkers, workersElsewhere }) {
  const cells = [
    { name: 'id' },
    { name: 'state', className: 'state' },
    ...['clients', 'cpu', 'memory', 'delay'].map((name) => number(name)),
    ...['received', 'sent', 'buffered', 'pid', 'uptime'].map((name) => number(name, 'wide')),
  ];
  syncRows(
    byId('workers'),
    workers,
    ({ id }) => id,
    () => rowOf(cells),
    (row, worker) => {
      const { id, doesRespond, state, rates, delay, load } = worker;
      const stateCell = cell(row, 'state');
      write(cell(row, 'id'), String(id));
      write(stateCell, doesRespond ? LOADS[load] || state : 'does not respond');
      stateCell.dataset.state = doesRespond ? (load > 1 ? 'not ready' : state) : 'not ready';
      write(cell(row, 'clients'), count(worker.clients));
      write(cell(row, 'cpu'), percent(rates?.cpu));
      write(cell(row, 'memory'), bytes(worker.memory));
      write(cell(row, 'delay'), ms(delay?.p99));
      write(cell(row, 'received'), count(rates?.received));
      write(cell(row, 'sent'), count(rates && rates.sent + rates.deliveries));
      write(cell(row, 'buffered'), bytes(worker.buffered));
      write(cell(row, 'pid'), worker.pid === undefined ? '–' : String(worker.pid));
      write(cell(row, 'uptime'), span(worker.uptime));
    },
  );
  const missing = configuredWorkers - workers.length;
  const elsewhere =
    workersElsewhere === undefined
      ? 'The workers of other machines cannot be counted.'
      : workersElsewhere > 0
        ? `${count(workersElsewhere)} more workers on other machines. Each machine has a page of its own.`
        : '';
  write(byId('elsewhere'), [missing > 0 && `${missing} not running.`, elsewhere].filter(Boolean).join(' '));
}

/** The share of the messages to rooms that went so far; undefined if there were none. */
function reached(rates, reach) {
  const all = rates.stayed + rates.crossedWorkers + rates.crossedMachines;
  return all > 0 ? rates[reach] / all : undefined;
}

export function showDetails({ namespaces, rates, latency, workers, node, roomCount }) {
  const names = Object.entries(namespaces).sort(([, one], [, other]) => other - one);
  const shown = [
    ...names.slice(0, 6).map(([name, sockets]) => [`Sockets in ${name}`, count(sockets)]),
    ['Rooms', count(roomCount)],
    ['Room messages that stay', percent(reached(rates, 'stayed'))],
    ['Crossing workers', percent(reached(rates, 'crossedWorkers'))],
    ['Crossing machines', percent(reached(rates, 'crossedMachines'))],
    ['New connections', `${count(rates.opened)} /s`],
    ['Rejected', `${count(rates.refused)} /s`],
    ['Stored messages', `${count(rates.appends)} /s`],
    ['Storing takes', ms(latency.history)],
    ['Busy event loops', `${rates.busy.toFixed(2)} of ${workers.length}`],
    ['Node.js', node],
  ];
  syncRows(
    byId('details'),
    shown,
    ([name]) => name,
    ([name]) => element('div', {}, element('dt', { text: name }), element('dd')),
    (row, [, text]) => write(row.lastElementChild, text),
  );
}

/**
 * @param act called with the name of an action and its target
 */
export function showLists({ rooms, users, addresses, roomCount }, act) {
  const cells = [{ name: 'name' }, number('members'), number('rate'), { name: 'action', className: 'action-cell' }];
  syncRows(
    byId('rooms'),
    rooms,
    ({ namespace, room }) => `${namespace}\n${room}`,
    ({ namespace, room, name }) => {
      const row = rowOf(cells);
      if (namespace !== '/') cell(row, 'name').append(element('bdi', { className: 'namespace', text: namespace }), ' ');
      cell(row, 'name').append(element('bdi', { text: name, title: name }));
      cell(row, 'action').append(actionButton('Close', name, () => act('close-room', { namespace, room, name })));
      return row;
    },
    (row, { members, perSecond }) => {
      // The server lists a room for a moment after its last member has left.
      cell(row, 'action').firstChild.hidden = members === 0;
      write(cell(row, 'members'), count(members));
      write(cell(row, 'rate'), count(perSecond));
    },
  );
  write(byId('room-count'), roomCount > rooms.length ? `${count(roomCount)} rooms in all.` : '');
  showTalkers('users', users, (user) => act('disconnect', { user }));
  showTalkers('addresses', addresses, (address) => act('disconnect', { address }));
  byId('users-panel').hidden = users.length === 0;
}

function showTalkers(id, talkers, disconnect) {
  syncRows(
    byId(id),
    talkers,
    ({ key }) => key,
    ({ key }) => {
      const row = rowOf([{ name: 'name' }, number('rate'), { name: 'action', className: 'action-cell' }]);
      cell(row, 'name').append(element('bdi', { text: key || 'unknown', title: key }));
      if (key) cell(row, 'action').append(actionButton('Disconnect', key, () => disconnect(key)));
      return row;
    },
    (row, { perSecond }) => write(cell(row, 'rate'), count(perSecond)),
  );
}

function actionButton(text, target, onclick) {
  return element('button', { type: 'button', className: 'small', text, onclick, ariaLabel: `${text} ${target}` });
}

export function showRecent({ recent, at }) {
  const cells = [{ name: 'at' }, number('count'), { name: 'what' }, { name: 'about', className: 'wide about' }];
  syncRows(
    byId('recent'),
    recent,
    ({ code, message }) => `${code} ${message}`,
    ({ code, message, level }) => {
      const row = rowOf(cells);
      row.dataset.level = level;
      if (code) cell(row, 'what').append(element('code', { text: code }), ' ');
      cell(row, 'what').append(element('bdi', { text: message }));
      return row;
    },
    (row, { at: latest, count: times, details }) => {
      write(cell(row, 'at'), ago(at - latest));
      write(cell(row, 'count'), count(times));
      const about = Object.entries(details).map(([name, value]) => `${name} ${value}`);
      write(cell(row, 'about'), about.join(' · '));
    },
  );
}

export function showProblems({ problems }) {
  byId('problems').hidden = problems.length === 0;
  syncRows(
    byId('problem-list'),
    problems,
    ({ text }) => text,
    ({ code, text, remedy }) =>
      element(
        'li',
        {},
        element('strong', { text }),
        element('span', { text: remedy }),
        element('code', { text: code }),
      ),
    () => {},
  );
}

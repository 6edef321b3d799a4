// The landing page: what gjallar is, three figures of the README, two commands, and the one-line diff.

/** The columns of the README that are compared. */
const STOCK = 'stock socket.io';
const OURS = 'gjallar, on a port of its own';

/** @param {string} readme the README, whose table of figures `npm run bench:report` writes */
export function homePage(readme) {
  const rows = readme.split('\n').map((line) => line.split('|').map((cell) => cell.trim()));
  const head = rows.find((cells) => cells.includes(STOCK) && cells.includes(OURS));
  if (!head) throw new Error(`README.md has no table with "${STOCK}" and "${OURS}"; change docs/site/home.js`);
  const figures = wanted.map(({ row, text }) => {
    const cells = rows.find(([, name]) => name === row);
    if (!cells) throw new Error(`README.md has no figures "${row}"; change docs/site/home.js`);
    const [stock, ours] = [STOCK, OURS].map((title) => plain(cells[head.indexOf(title)]));
    const share = Math.round((100 * Number.parseFloat(ours)) / Number.parseFloat(stock));
    return { title: `${share}%`, details: `${text}: ${ours} instead of ${stock}.` };
  });
  return `---
layout: home
hero:
  name: gjallar
  text: Socket.IO on every core
  tagline: A drop-in, clustered Socket.IO server on uWebSockets.js. One worker per core without sticky sessions, and rooms that span workers and machines.
  image: { src: /logo.svg, alt: 'A horn, the logo of gjallar' }
  actions:
    - { theme: brand, text: Quick start, link: /docs/guide/quick-start }
    - { theme: alt, text: Move your application, link: /docs/move }
    - { theme: alt, text: 'Which server, when', link: /docs/guide/which-server }
features:
${figures.map(({ title, details }) => `  - { title: '${title}', details: '${details}' }`).join('\n')}
---

![Two people chat on the demo page, which shows transport, worker and round-trip time](docs/page.png)

## Try it

\`\`\`sh
npm install && npm start
\`\`\`

## Change one line

\`\`\`diff
- import { Server } from 'socket.io';
+ import { Server } from 'gjallar';
\`\`\`

Everything else stays: rooms, namespaces, middleware, acknowledgements and the browser's client. [Benchmarks](docs/benchmarks.md)
also list the results in which Socket.IO is better, above all in latency. [Which server, when](docs/guide/which-server.md) says when
to use another server.

## Slow clients

![Charts of two slow clients: in a state room, the client stays two seconds behind; with plain emits it is 19 seconds behind, while the server keeps 70 kB for it](docs/live.png)

The demo page *Live data* compares a [state room](docs/guide/live-data.md) with plain emits, for a client with a slow link.
`;
}

const wanted = [
  { row: 'CPU to connect a client', text: 'of the CPU of stock Socket.IO to connect a client' },
  { row: 'memory of the process per client', text: 'of its memory for each client, without the kernel’s' },
  { row: 'CPU to echo a message', text: 'of its CPU to echo a message' },
];

const plain = (figure) => figure.replace(/ \(.*\)/, '');

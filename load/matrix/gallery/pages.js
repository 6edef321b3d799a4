import { talk } from '../talk.js';

/** Pages of a framework: one that the server renders, one that is missing, and an upload; and Socket.IO on their port. */
const pages = (upload) => async (visitor) => {
  const page = await visitor.http('/?name=ada');
  const uploaded = await visitor.http(upload, {
    method: 'POST',
    headers: { 'content-type': 'application/octet-stream' },
    body: Buffer.alloc(100_000, 7),
  });
  // A page that fails in the same way everywhere says nothing.
  if (!page.body.includes('ada</h1>') || !uploaded.body.includes('100000')) {
    throw new Error(`the application does not work: ${page.status} ${page.body}, ${uploaded.status} ${uploaded.body}`);
  }
  return {
    page,
    head: await visitor.http('/', { method: 'HEAD' }),
    missing: await visitor.http('/missing'),
    uploaded,
    sockets: await talk(visitor),
  };
};

const framework = (about, version, upload, { packages, build }) => ({
  about,
  version,
  isStateless: true,
  script: pages(upload),
  from: { file: 'server.mjs', isModule: true, packages: { ...packages, 'socket.io': '4.8.4' }, build },
});

/** Frameworks for pages, each built for production and mounted on an HTTP server of the application. */
export default {
  sveltekit: framework('SvelteKit with its adapter for Node.js', '2.70.4', '/upload', {
    packages: {
      '@sveltejs/kit': '2.70.4',
      '@sveltejs/adapter-node': '5.5.7',
      '@sveltejs/vite-plugin-svelte': '6.2.3',
      svelte: '5.57.3',
      vite: '7.3.8',
    },
    build: [
      ['svelte-kit', 'sync'],
      ['vite', 'build'],
    ],
  }),
  astro: framework('Astro with its adapter for Node.js', '5.9.4', '/upload', {
    packages: { astro: '5.9.4', '@astrojs/node': '9.5.5' },
    build: [['astro', 'build']],
  }),
  nuxt: framework('Nuxt with the listener of Nitro', '4.2.2', '/api/upload', {
    packages: { nuxt: '4.2.2' },
    build: [['nuxt', 'build']],
  }),
};

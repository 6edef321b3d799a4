import http from './http.js';

/** An unmodified Express application beside Socket.IO: what one of its routes costs on node:http, and through gjallar. */
export default {
  about: 'routes of one Express application beside Socket.IO on the same port, on node:http and on gjallar; wrk',
  peers: { 'express-node': {}, 'express-gjallar': {} },
  cells: (quick) =>
    [
      { label: 'GET, JSON of 17 bytes, 32 connections', path: '/small', connections: 32 },
      { label: 'GET, 1 MB, 8 connections', path: '/large', connections: 8 },
      { label: 'POST, 10 MB, 4 connections', path: '/upload', connections: 4, script: 'upload.lua' },
      { label: 'GET, JSON of 17 bytes, 1,000 connections', path: '/small', connections: 1000 },
    ].slice(0, quick ? 3 : 4),
  columns: http.columns,
  run: http.run,
};

import { expect, test } from '@jest/globals';
import { Server } from 'socket.io';
import { clientFiles, missingInServer, privateParts } from '../../src/io/socket-io-server.private.js';
import { checkVersion, installedCopy } from '../../src/io/socket-io-version.js';

test('this version of socket.io has the private parts that the drop-in relies on', () => {
  expect(missingInServer(Server.prototype)).toEqual([]);
  const parts = privateParts(new Server({ path: '/x' }));
  expect(parts).toMatchObject({ opts: { path: '/x' }, _path: '/x', _serveClient: true });
  expect(parts.encoder).toBeInstanceOf(parts._parser.Encoder);
  expect([...parts._nsps.keys()]).toEqual(['/']);
  expect(clientFiles.size).toBe(8);
});

test('this version of socket.io is one that works', () => {
  expect(() => checkVersion(installedCopy())).not.toThrow();
});

test.each(['4.6.0', '4.8.4', '4.10.0-beta.1'])('socket.io %s is accepted', (version) => {
  expect(() => checkVersion({ version, folder: '/app' })).not.toThrow();
});

test.each(['2.5.1', '3.1.2', '4.5.4', '5.0.0'])('socket.io %s is rejected, with a remedy', (version) => {
  expect(() => checkVersion({ version, folder: '/app/node_modules/socket.io' })).toThrow(
    expect.objectContaining({
      code: 'BAD_CONFIG',
      message:
        `socket.io ${version} in /app/node_modules/socket.io does not work with gjallar, which needs 4.6.0 or a newer 4.x. ` +
        'Run: npm install socket.io@4',
    }),
  );
});

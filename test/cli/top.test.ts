import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { column, columnsOf, cut, safe } from '../../src/cli/top/columns.js';
import { endWithFile } from '../support/children.js';
import { connect, connected, disconnectAll, expectOk } from '../support/clients.js';
import { cleanEnvironment, type RunningServer, runToEnd, startServer } from '../support/server.js';

const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
/** Would clear the screen, if the terminal got it. */
const HOSTILE = 'fjord \u001b[2J\u202e';
const ESCAPE = '\u001b';

describe('gjallar top', () => {
  let server: RunningServer;
  let admin: string;
  const folder = mkdtempSync(join(tmpdir(), 'gjallar-top-'));
  const password = join(folder, 'password');

  beforeAll(async () => {
    server = await startServer({ ADMIN_PORT: '0', ADMIN_USER: 'ops', ADMIN_PASSWORD: 'secret', DRAIN_TIMEOUT: '0' });
    admin = `http://127.0.0.1:${(await server.logged(({ msg }) => msg === 'the admin port is open')).port}`;
    writeFileSync(password, 'secret\n');
    for (const name of ['Astrid', 'Bjørn']) {
      const client = connect(server.url, { auth: { name } });
      await connected(client);
      expectOk(await client.emitWithAck('join', 'hall'));
    }
  });

  afterAll(async () => {
    disconnectAll();
    await server?.stop();
    rmSync(folder, { recursive: true });
  });

  const top = (args: string[], env: Record<string, string> = {}) => runToEnd(['top', ...args], env);

  test('prints one picture for scripts, with a password from a file', async () => {
    const { code, stdout, stderr } = await top(['--admin', admin, '--user', 'ops', '--once'], {
      ADMIN_PASSWORD_FILE: password,
    });
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^gjallar \S+ on \S+: ready, up \d/);
    expect(stdout).toMatch(/^clients +2 /m);
    expect(stdout).toMatch(/^ +1 +\d+ ready/m);
    expect(stdout).toMatch(/^hall +2 /m);
    expect(stdout).not.toContain(ESCAPE);
  });

  test('prints the overview as JSON', async () => {
    const { stdout } = await top(['--json'], {
      ...{ ADMIN_PORT: new URL(admin).port, ADMIN_USER: 'ops', ADMIN_PASSWORD: 'secret' },
    });
    expect(JSON.parse(stdout)).toMatchObject({ ok: true, clients: 2, rooms: [{ name: 'hall', members: 2 }] });
  });

  test.each([
    [['--admin', 'ADMIN'], /asks for a password; set ADMIN_USER/],
    [['--admin', 'http://127.0.0.1:9'], /cannot reach http:\/\/127\.0\.0\.1:9 .*check that ADMIN_PORT is set/],
    [['--admin', 'nonsense'], /--admin must be a URL/],
    [[], /no admin port is named; use --admin/],
    [['--nonsense'], /Unknown option '--nonsense'; usage: gjallar top/],
  ])('says in one line why it cannot start: %j', async (args, line) => {
    const given = args.map((arg) => (arg === 'ADMIN' ? admin : arg));
    const { code, stdout, stderr } = await top(given);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(new RegExp(`^gjallar: .*${line.source}.*\n$`));
  });

  test.each([
    ['ops', 'wrong'],
    ['other', 'secret'],
  ])('says that the account %s with the password %s is wrong', async (user, given) => {
    const { code, stdout, stderr } = await top(['--admin', admin, '--user', user], { ADMIN_PASSWORD: given });
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toBe(
      `gjallar: ${admin} rejects ADMIN_USER (or --user) and ADMIN_PASSWORD: one of them is wrong; set those of the server\n`,
    );
  });

  test('fills a terminal of 80 columns, follows its size, and leaves it clean', async () => {
    // A shell in a terminal, which `script` makes.
    const command = `stty rows 24 cols 80; tty; ${process.execPath} ${main} top --admin ${admin}; echo "left with $?"; stty -a`;
    const env = { ...cleanEnvironment(), ADMIN_USER: 'ops', ADMIN_PASSWORD: 'secret', TERM: 'xterm' };
    const shell = endWithFile(
      spawn('script', ['-qfc', command, '/dev/null'], { env, stdio: ['pipe', 'pipe', 'inherit'] }),
    );
    let screen = '';
    const { stdout } = shell;
    stdout.setEncoding('utf8').on('data', (text: string) => {
      screen += text;
    });
    const shown = (pattern: RegExp) =>
      new Promise<RegExpExecArray>((resolve) => {
        const check = () => {
          const found = pattern.exec(screen);
          if (!found) return;
          stdout.off('data', check);
          resolve(found);
        };
        stdout.on('data', check);
        check();
      });

    await shown(/top rooms of 1 +members[\s\S]*top addresses/);
    expect(screen).toContain(`${ESCAPE}[?1049h${ESCAPE}[?25l`);
    const text = screen.split(ESCAPE).map((part) => part.replace(/^\[[?\d]*[A-Za-z]/, ''));
    const widths = text.join('').split(/\r*\n/).map(columnsOf);
    expect([Math.max(...widths) <= 80, Math.max(...widths) > 70]).toEqual([true, true]);

    const [, device] = await shown(/(\/dev\/pts\/\d+)/);
    spawnSync('stty', ['-F', device!, 'cols', '120']);
    await shown(/top rooms of 1 {30}members/);

    shell.stdin.write('q');
    await shown(/left with 0[\s\S]*[^-]icanon/);
    expect(screen.slice(0, screen.indexOf('left with 0'))).toMatch(/\[\?25h.\[\?1049l\r*\n?$/s);
  });

  test('shows no character of a name that would act on the terminal', () => {
    expect(safe(HOSTILE)).toBe('fjord ?[2J?');
    expect(cut('日本語', 5)).toBe('日本…');
    expect([column('日', 3), column('ab', 4, 'right'), columnsOf('e\u0301')]).toEqual(['日 ', '  ab', 1]);
  });
});

import { createStateRoom } from '../../features/state/index.js';
import {
  type Application,
  type Config,
  type MachineWorker,
  OwnPort,
  type RunningApplication,
} from '../../host/index.js';
import { Cors } from '../../io/http/index.js';
import { PlainWebSockets } from '../../io/plain/index.js';
import { MAX_REVOCATIONS, RevokedTokens } from '../accounts/revocations.js';
import { serveApi } from '../api/api.js';
import { type Chat, startChat } from './chat.js';
import { openHistory } from './conversations/kept-messages.js';
import { chatReadings } from './metrics.js';
import { tokenRevocation } from './operator/tokens.js';
import { servePages } from './pages.js';
import type { ChatMember } from './plain/member.js';
import type { ChatServer } from './protocol.js';

/** The chat service: rooms over Socket.IO, plain WebSockets and HTTP, with history and accounts. */
export function chatApplication(config: Config): Application {
  return { survivesExceptions: true, start: (worker) => startChatService(config, worker) };
}

async function startChatService(config: Config, worker: MachineWorker): Promise<RunningApplication> {
  const { figures } = worker;
  const port = await OwnPort.open(worker, config);
  const { app, engine, secure, io } = port;
  const kept = await openHistory(config, worker);
  const issued = await accountsOf(config);
  // Twice as many as are kept are lifted ones, and machines that cannot reach each other may have different ones. No room of
  // the chat has a space before its name.
  const room = { answersClients: false, maxKeys: 4 * MAX_REVOCATIONS };
  const revoked =
    issued &&
    kept.revocations &&
    new RevokedTokens(kept.revocations, createStateRoom(io, ' revoked tokens', room), worker.reports, () =>
      chat.endRevoked(),
    );
  const accounts = issued && {
    userClaim: issued.userClaim,
    identify: (token: unknown) => issued.identify(token).then((identity) => revoked?.accept(identity) ?? identity),
  };
  const plain = new PlainWebSockets<ChatMember>(engine);
  const parts = { worker, engine, kept, plain, accounts, revoked };
  const chat: Chat = startChat(io as unknown as ChatServer, config, parts);
  figures.add(() => chatReadings(chat));
  plain.attach(app, { secure, admit: chat.admit });
  const cors = new Cors(config.corsOrigin);
  const tokens = tokenRevocation(revoked);
  serveApi({ chat, config, worker, port, tokens, loss: kept.loss }, cors);
  servePages(app, engine, { cors, reports: worker.reports, secure, demoPage: config.demoPage === 'on' });
  return {
    listen: () => port.listen(),
    stopListening: () => port.stopListening(),
    isIdle: () => true,
    isReady: () => kept.isReady() && revoked?.isKnown !== false,
    isBusy: (session) => chat.isAnswering(session),
    view: chat.view,
    operator: chat.operator,
    stop: () => {
      plain.close();
      chat.close();
    },
    close: async () => {
      await io.close();
      revoked?.close();
      await kept.close();
      app.close();
    },
  };
}

async function accountsOf({ jwtSecret: secret, jwksUrl, jwtIssuer, jwtAudience, jwtUserClaim: userClaim }: Config) {
  if (!secret && !jwksUrl) return undefined;
  const { TokenAccounts } = await import('../accounts/tokens.js');
  return new TokenAccounts({ secret, jwksUrl, issuer: jwtIssuer, audience: jwtAudience, userClaim });
}

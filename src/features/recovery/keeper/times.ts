import type { AwayState, SessionState, StreamState, ToKeeperElsewhere } from '../messages.js';

/** A message of another keeper, with its times by the clock of this machine. Those of packets stay: they tell their order. */
export function withTimesMoved(message: ToKeeperElsewhere, ms: number): ToKeeperElsewhere {
  switch (message.type) {
    case 'sought':
      return { ...message, away: message.away && awayMoved(message.away, ms) };
    case 'collect': {
      const { question } = message;
      const { at, receivesSince, session } = question;
      const moved = { at: at + ms, receivesSince: receivesSince + ms, session: sessionMoved(session, ms) };
      return { ...message, question: { ...question, ...moved } };
    }
    case 'inherit': {
      const streams = message.streams.map((one) => ({ ...streamMoved(one, ms), sender: one.sender }));
      return { ...message, streams, away: message.away.map((one) => awayMoved(one, ms)) };
    }
    default:
      return message;
  }
}

function sessionMoved<Session extends Pick<SessionState, 'aliveAt' | 'floors'>>(session: Session, ms: number): Session {
  const floors = session.floors?.map((floor) => ({ ...floor, at: floor.at + ms }));
  return { ...session, aliveAt: session.aliveAt + ms, floors };
}

function streamMoved(stream: StreamState, ms: number): StreamState {
  return { ...stream, floorAt: stream.floorAt + ms, lagMs: stream.lagMs + ms };
}

function awayMoved({ session, direct, ...state }: AwayState, ms: number): AwayState {
  return { ...state, session: sessionMoved(session, ms), direct: streamMoved(direct, ms) };
}

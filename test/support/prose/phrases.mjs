// The phrases that prose should not contain, each with a better word. Case does not matter; a space matches line breaks.

/** @type {[pattern: string, suggestion: string][]} */
const phrases = [
  // Words that nobody searches for, or that mean something else.
  ['(?:is|was|are|were|be|being|been) away', 'write "is unreachable" or "is down"'],
  ['anew', 'write "again"'],
  ['dear(?:er|est)?', 'write "expensive"'],
  ['under way', 'write "in progress"'],
  ['do(?:es|ne)? without', 'write "drop", or name what is missing'],
  ['for good', 'write "permanently"'],
  ['all the same', 'write "anyway" or "nevertheless"'],
  ['at night', 'write "alert", or give the time'],
  ['(?:send|sends|sent|sending) away|(?:send|sends|sending) (?:\\w+ ){1,4}away', 'write "disconnect" or "drain"'],
  ['turn(?:s|ed)? (?:us|them|it) away', 'write "reject"'],
  ['given up', 'write "dropped", "abandoned" or "replaced"'],
  ['sees? to it', 'write "ensures" or "checks"'],
  ['takes? the place of', 'write "replaces"'],
  ['stands? still', 'write "pauses" or "is blocked"'],
  ['cannot be had', 'write "is unavailable"'],
  ['back again', 'write "reconnected" or "returned"'],
  ['comes? back', 'write "reconnects" or "returns"'],
  ['tells? of', 'write "reports"'],
  ['swaps what', 'write "replaces", and name the parts'],
  // A subject is a thing: a client, the worker, Redis.
  ['whoever', 'name the actor: "a client that …", "anyone who …"'],
  ['somebody', 'name the actor: "a client", "a user"'],
  ['nobody', 'name the actor: "no client", "no user"'],
  ['everybody', 'name the actor: "all clients", "every member"'],
  ['what goes wrong', 'name it: "an error", "a failed event"'],
  // A number has a name.
  ['so many', 'name the number: "this number of", "at most N"'],
  ['so few', 'name the number'],
  ['so much at once', 'name the amount: "burst"'],
  // Two names for one thing.
  ['strays?', 'write "direct recipient"'],
  ['knock(?:s|ed|ing)?', 'write "connection attempt" or "handshake"'],
  ['unclaimed', 'write "pending session"'],
];

const patterns = phrases.map(([pattern, suggestion]) => ({
  pattern: new RegExp(`(?<![\\w-])(?:${pattern.replaceAll(' ', '\\s+')})(?![\\w-])`, 'gi'),
  suggestion,
}));

/** "Who gives no name is a guest." But not a question, and not "a client that is slow; who …?" */
patterns.push({
  pattern: /(?<=^\W*|[.!:;]\s+)who\s+(?:[a-z]+s|[a-z]+ed|came|comes)\b(?![^.!]*\?)/gi,
  suggestion: 'start with the actor: "A client that …"',
});

/**
 * Finds each phrase in a text.
 * @param {string} text
 * @returns {{ index: number, phrase: string, suggestion: string }[]}
 */
export function findPhrases(text) {
  const found = patterns.flatMap(({ pattern, suggestion }) =>
    [...text.matchAll(pattern)].map(({ index, 0: phrase }) => ({
      index,
      phrase: phrase.replace(/\s+/g, ' '),
      suggestion,
    })),
  );
  return found.sort((one, other) => one.index - other.index);
}

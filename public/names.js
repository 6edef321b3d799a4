// Display names by user. Users with tokens may have one; see docs/guide/authentication.md.

/** Display names to remember. Those of users who left stay on their messages. */
const KEEP = 1000;

/** `names` with what `given` says of `users`; users that `given` does not list have no display name. A new map if it differs. */
export function learnNames(names, users, given = {}) {
  const nameOf = (user) => (Object.hasOwn(given, user) ? given[user] : undefined);
  const changed = users.filter((user) => nameOf(user) !== names.get(user));
  if (changed.length === 0) return names;
  const learned = new Map(names);
  for (const user of changed) {
    learned.delete(user);
    if (nameOf(user) !== undefined) learned.set(user, nameOf(user));
  }
  return new Map([...learned].slice(-KEEP));
}

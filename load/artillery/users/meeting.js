const meetings = new Map();

/**
 * Waits until so many users have come here. All users of a scenario are in one thread of artillery's, because their phase
 * has an `arrivalCount`: that is not divided.
 * @param {import('./user.js').User} user
 * @param {string} name each is used once
 */
export async function meet(user, name, users) {
  let meeting = meetings.get(name);
  if (!meeting) {
    meeting = { left: users };
    meeting.all = new Promise((resolve) => {
      meeting.begin = resolve;
    });
    meetings.set(name, meeting);
  }
  meeting.left -= 1;
  if (meeting.left === 0) meeting.begin();
  await user.within(meeting.all, 'USERS_MISSING', 30_000);
}

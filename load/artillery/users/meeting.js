const meetings = new Map();

/**
 * Waits until so many users have come here. All users of a scenario are in one thread of artillery's, because their phase
 * has an `arrivalCount`: that is not divided.
 * @param {string} name each is used once
 * @param {number} users
 * @param {number} [timeout] in ms
 */
export async function meet(name, users, timeout = 30_000) {
  let meeting = meetings.get(name);
  if (!meeting) {
    meeting = { left: users };
    meeting.all = new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('USERS_MISSING')), timeout);
      meeting.begin = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    meetings.set(name, meeting);
  }
  meeting.left -= 1;
  if (meeting.left === 0) meeting.begin();
  return meeting.all;
}

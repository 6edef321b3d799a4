// Loaded before the service: its clock is ahead by as many ms as the file says that the variable CLOCK names.

const { readFileSync } = require('node:fs');

const file = process.env.CLOCK;
let ahead = 0;
setInterval(() => {
  try {
    ahead = Number(readFileSync(file, 'utf8')) || 0;
  } catch {
    // The clock has not been moved yet.
  }
}, 100).unref();

const RealDate = Date;
class MovedDate extends RealDate {
  constructor(...values) {
    if (values.length > 0) super(...values);
    else super(RealDate.now() + ahead);
  }

  static now() {
    return RealDate.now() + ahead;
  }
}
globalThis.Date = Object.defineProperty(MovedDate, 'name', { value: 'Date' });

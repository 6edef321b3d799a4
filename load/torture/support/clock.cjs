// Loaded before the service: its clock is ahead by as many ms as the file says that the variable CLOCK names.

const { existsSync, readFileSync } = require('node:fs');

let ahead = 0;
setInterval(() => {
  if (existsSync(process.env.CLOCK)) ahead = Number(readFileSync(process.env.CLOCK, 'utf8')) || 0;
}, 100).unref();

const RealDate = Date;
class MovedDate extends RealDate {
  constructor(...values) {
    super(...(values.length > 0 ? values : [MovedDate.now()]));
  }

  static now() {
    return RealDate.now() + ahead;
  }
}
globalThis.Date = Object.defineProperty(MovedDate, 'name', { value: 'Date' });

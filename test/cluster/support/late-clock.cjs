// Loaded before a server: its machine has a calendar clock that is 30 s late.
const { now } = Date;
const RealDate = Date;
globalThis.Date = class extends RealDate {
  constructor(...values) {
    if (values.length === 0) super(now() - 30_000);
    else super(...values);
  }

  static now() {
    return now() - 30_000;
  }
};

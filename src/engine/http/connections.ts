/** The HTTP connections of this process. */
export const connections = {
  /** The number of requests without a complete response. */
  waiting: 0,
  /** Whether each response closes its connection, so that clients open new ones to another process. */
  areEnding: false,
};

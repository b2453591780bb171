/** The log that this package writes to. A pino logger has these methods. */
export interface Log {
  debug(facts: object, message: string): void;
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
  error(facts: object, message: string): void;
}

/**
 * A log that writes only errors, to the console. A warning that contains an error counts as an error: for example, when
 * a routine has failed and will run again later.
 */
export const errorLog: Log = {
  debug() {},
  info() {},
  warn(facts, message) {
    if ("error" in facts) errorLog.error(facts, message);
  },
  error(facts, message) {
    // oxlint-disable-next-line no-console -- without the option `log` the console is the only place to report an error
    console.error(message, facts);
  },
};

/** The log that this package writes to. A pino logger has these methods. */
export interface Log {
  debug(facts: object, message: string): void;
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
  error(facts: object, message: string): void;
}

/** A log that writes nothing. */
export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} };

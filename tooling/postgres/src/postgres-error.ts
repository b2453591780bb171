export type PostgresErrorCode =
  | "platform_unsupported"
  | "data_dir_not_ours"
  | "unreachable_for_unprivileged_user"
  | "init_failed"
  | "start_failed"
  | "pooler_missing";

/** The embedded PostgreSQL, or a pooler in front of it, is not available; the message says what to do. */
export class PostgresError extends Error {
  readonly code: PostgresErrorCode;

  constructor(code: PostgresErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "PostgresError";
    this.code = code;
  }
}

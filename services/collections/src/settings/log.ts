import { pino, type Logger } from "pino";
import { destination } from "pino";

/** Names of fields that are never logged, at the top of an object and down to two levels below. */
const SECRET_FIELDS = [
  "authorization",
  "secret",
  "hmacSecret",
  "accessToken",
  "refreshToken",
  "token",
  "password",
  "otp",
  "masterKey",
  "mintAuthHeader",
  "signature",
  "phone",
  "borrowerPhone",
  "alternatePhones",
  "email",
  "borrowerEmail",
  "borrowerName",
  "addresses",
  "to",
];

/** The maximum number of errors of an AggregateError that are logged, because they mostly have one cause. */
const MAX_ERRORS = 5;

/** Writes structured logs to stderr, because stdout is for the answers of commands. */
export function createLog(level: string, base: Record<string, unknown> = {}): Logger {
  const paths = SECRET_FIELDS.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]);
  return pino(
    {
      level,
      base,
      redact: { paths, censor: "[redacted]" },
      serializers: { error: serializeError },
      timestamp: pino.stdTimeFunctions.isoTime,
    },
    destination({ fd: 2, sync: true }),
  );
}

/**
 * Returns the parts of an error that are safe to log. PostgreSQL writes the rejected row into `detail`, and some
 * libraries write the SQL with its values into the message. Therefore `detail` is dropped and the message is cut.
 */
export function serializeError(error: unknown): unknown {
  if (!(error instanceof Error)) return String(error);
  const { name, message, stack, cause } = error;
  const code = (error as { code?: unknown }).code;
  return {
    name,
    message: message.slice(0, 500),
    ...(typeof code === "string" && { code }),
    stack: stack?.split("\n").slice(1, 8).join("\n"),
    ...(cause instanceof Error && { cause: serializeError(cause) }),
    ...(error instanceof AggregateError && { errors: error.errors.slice(0, MAX_ERRORS).map(serializeError) }),
  };
}

import { pino, type Logger } from "pino";
import { destination } from "pino";

/** Names of fields that never reach a log, wherever in an object they stand. */
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

/** Of those that came together: mostly they have one cause. */
const ERRORS_TOLD = 5;

/** Structured logs on stderr: stdout belongs to what a command answers. */
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
 * What helps to find a fault and no more: an error of PostgreSQL carries the row that it refused in its `detail`, and
 * some libraries put the SQL with its values into the message.
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
    ...(error instanceof AggregateError && { errors: error.errors.slice(0, ERRORS_TOLD).map(serializeError) }),
  };
}

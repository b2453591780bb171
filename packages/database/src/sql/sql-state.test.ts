import { describe, expect, test } from "vitest";
import { CommitOutcomeUnknownError, isUnavailable, isUniqueViolation, sqlState } from "./sql-state.ts";

function coded(code: string): Error {
  return Object.assign(new Error("It failed."), { code });
}

describe("isUnavailable is true for", () => {
  test.each([
    ["08000", "a connection exception"],
    ["08003", "a connection that does not exist"],
    ["08006", "a connection that failed"],
    ["25006", "a read-only server such as a standby"],
    ["25P03", "a transaction that was idle too long"],
    ["40001", "a serialization failure"],
    ["40P01", "a deadlock"],
    ["53100", "a full disk"],
    ["53300", "too many connections"],
    ["55P03", "a lock that was not available in time"],
    ["57014", "a statement that took too long"],
    ["57P01", "an administrator's shutdown"],
    ["57P03", "a server that is starting up"],
    ["ECONNREFUSED", "a refused connection"],
    ["ECONNRESET", "a reset connection"],
    ["EPIPE", "a connection that was closed"],
    ["DATABASE_TLS", "a certificate that is not accepted"],
    ["NO_USABLE_HOST", "several hosts of which none can be used"],
  ])("%s, %s", (code) => {
    expect(isUnavailable(coded(code))).toBe(true);
    expect(isUnavailable(new Error("It failed.", { cause: coded(code) }))).toBe(true);
  });

  test.each([
    "timeout exceeded when trying to connect",
    "timeout expired",
    "There was an error establishing an SSL connection",
    "Query read timeout",
    "Connection terminated",
    "Connection terminated unexpectedly",
    "Connection terminated due to connection timeout",
    "Client has encountered a connection error and is not queryable",
    "Client was closed and is not queryable",
    "Cannot use a pool after calling end on the pool",
  ])("the message of a driver error without a code: %s", (message) => {
    expect(isUnavailable(new Error(message))).toBe(true);
  });

  test.each([
    ["08P01", "query_wait_timeout"],
    ["08P01", "server login has been failing, cached error: connect failed (server_login_retry)"],
    ["08P01", "server conn crashed?"],
    ["08P01", "no more connections allowed (max_client_conn)"],
    ["58000", "could not get connection from the pool"],
  ])("%s of a pooler: %s", (code, message) => {
    const error = Object.assign(new Error(message), { code, severity: "FATAL" });
    expect(isUnavailable(new Error("It failed.", { cause: error }))).toBe(true);
  });

  test("a proxy that waited in vain for a session", () => {
    expect(isUnavailable(new Error("Timed-out waiting to acquire database connection"))).toBe(true);
  });

  test("a commit with an unknown outcome, and a database whose addresses all refuse the connection", () => {
    expect(isUnavailable(new CommitOutcomeUnknownError("The connection was lost."))).toBe(true);
    expect(isUnavailable(new AggregateError([coded("ECONNREFUSED"), coded("ECONNREFUSED")]))).toBe(true);
  });
});

describe("isUnavailable is false for", () => {
  test.each([
    ["08P01", "a violation of the protocol"],
    ["22009", "an invalid time zone displacement"],
    ["22021", "bytes that are not valid text"],
    ["22P05", "a character that cannot be stored"],
    ["23505", "a violated unique key"],
    ["25P02", "a transaction that has already failed"],
    ["28P01", "a wrong password"],
    ["42P01", "a table that does not exist"],
    ["42501", "a missing privilege"],
  ])("%s, %s", (code) => {
    expect(isUnavailable(coded(code))).toBe(false);
  });

  test.each(["unsupported startup parameter: options", "no such database: collections", "SSL required"])(
    "a pooler that rejects the client: %s",
    (message) => {
      expect(isUnavailable(Object.assign(new Error(message), { code: "08P01", severity: "FATAL" }))).toBe(false);
    },
  );

  test.each([new Error("It failed."), new TypeError("x is undefined"), "08006", undefined, null, { code: "08006" }])(
    "%j, which is not an error of a database",
    (error) => {
      expect(isUnavailable(error)).toBe(false);
    },
  );
});

test("sqlState also reads the causes of an error, and ignores error codes of the operating system", () => {
  expect(sqlState(new Error("It failed.", { cause: coded("23505") }))).toBe("23505");
  expect(isUniqueViolation(new Error("It failed.", { cause: coded("23505") }))).toBe(true);
  for (const errno of ["EPIPE", "ECONNRESET"]) expect(sqlState(coded(errno))).toBeUndefined();
});

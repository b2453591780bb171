import { describe, expect, test } from "vitest";
import { CommitOutcomeUnknownError, isUnavailable, isUniqueViolation, sqlState } from "./sql-state.ts";

function coded(code: string): Error {
  return Object.assign(new Error("It failed."), { code });
}

describe("the database is away for a moment", () => {
  test.each([
    ["08000", "a connection exception"],
    ["08003", "a connection that does not exist"],
    ["08006", "a connection that failed"],
    ["25006", "a server that only reads, as a standby does"],
    ["25P03", "a transaction that idled too long"],
    ["40001", "a serialization failure"],
    ["40P01", "a deadlock"],
    ["53100", "a full disk"],
    ["53300", "too many connections"],
    ["55P03", "a lock that was not to be had"],
    ["57014", "a statement that took too long"],
    ["57P01", "an administrator's shutdown"],
    ["57P03", "a server that is starting up"],
    ["ECONNREFUSED", "nobody who listens"],
    ["ECONNRESET", "a connection that was cut"],
    ["EPIPE", "a connection that was closed"],
  ])("by %s, %s", (code) => {
    expect(isUnavailable(coded(code))).toBe(true);
    expect(isUnavailable(new Error("It failed.", { cause: coded(code) }))).toBe(true);
  });

  test.each([
    "timeout exceeded when trying to connect",
    "Query read timeout",
    "Connection terminated",
    "Connection terminated unexpectedly",
    "Connection terminated due to connection timeout",
    "Client has encountered a connection error and is not queryable",
    "Client was closed and is not queryable",
    "Cannot use a pool after calling end on the pool",
  ])("by what the driver says without a code: %s", (message) => {
    expect(isUnavailable(new Error(message))).toBe(true);
  });

  test("by a commit that nobody answered, and by addresses of which none answers", () => {
    expect(isUnavailable(new CommitOutcomeUnknownError("The connection was lost."))).toBe(true);
    expect(isUnavailable(new AggregateError([coded("ECONNREFUSED"), coded("ECONNREFUSED")]))).toBe(true);
  });
});

describe("the same work would fail again", () => {
  test.each([
    ["08P01", "what the protocol does not allow"],
    ["22009", "a time that cannot be"],
    ["22021", "bytes that are no text"],
    ["22P05", "a character that cannot be kept"],
    ["23505", "a key that is taken"],
    ["25P02", "a transaction that has failed before"],
    ["28P01", "a wrong password"],
    ["42P01", "a table that does not exist"],
    ["42501", "a privilege that is missing"],
  ])("for %s, %s", (code) => {
    expect(isUnavailable(coded(code))).toBe(false);
  });

  test.each([new Error("It failed."), new TypeError("x is undefined"), "08006", undefined, null, { code: "08006" }])(
    "for %j, which is no error of a database",
    (error) => {
      expect(isUnavailable(error)).toBe(false);
    },
  );
});

test("a SQLSTATE is found through causes, and an errno is none", () => {
  expect(sqlState(new Error("It failed.", { cause: coded("23505") }))).toBe("23505");
  expect(isUniqueViolation(new Error("It failed.", { cause: coded("23505") }))).toBe(true);
  for (const errno of ["EPIPE", "ECONNRESET"]) expect(sqlState(coded(errno))).toBeUndefined();
});

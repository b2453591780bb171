import { describe, expect, test } from "vitest";
import { connectionProblems, isPlainText, readConnection } from "./connection-settings.ts";

/** Reads a URL without the environment variables of this machine. */
function read(url: string, env: Record<string, string> = {}) {
  return readConnection(url, env);
}

describe("the address of a URL", () => {
  test.each([
    ["postgres://app:s3@db.example:6000/shop", [{ host: "db.example", port: 6000 }], "app", "s3", "shop"],
    ["postgresql://app@db/shop", [{ host: "db", port: 5432 }], "app", undefined, "shop"],
    ["postgres://a%40b:p%2Fq%25@db/s%20t", [{ host: "db", port: 5432 }], "a@b", "p/q%", "s t"],
    ["postgres://app:a@b:c%@db/shop", [{ host: "db", port: 5432 }], "app", "a@b:c%", "shop"],
    ["postgres://app@[::1]:6000/shop", [{ host: "::1", port: 6000 }], "app", undefined, "shop"],
    ["postgres:///shop", [{ host: "localhost", port: 5432 }], undefined, undefined, "shop"],
    ["postgres://app@%2Frun%2Fpostgresql/shop", [{ host: "/run/postgresql", port: 5432 }], "app", undefined, "shop"],
    [
      "postgres:///shop?host=/run/postgresql&user=app",
      [{ host: "/run/postgresql", port: 5432 }],
      "app",
      undefined,
      "shop",
    ],
  ])("%s", (url, hosts, user, password, database) => {
    expect(read(url)).toMatchObject({ settings: { hosts, user, password, database }, problems: [] });
  });

  test.each([
    ["postgres://app@a,b:6000,c:6001/shop", ["a:5432", "b:6000", "c:6001"]],
    ["postgres://app@a,b/shop?port=6000,6001", ["a:6000", "b:6001"]],
    ["postgres://app@/shop?host=a,b&port=6000", ["a:6000", "b:6000"]],
  ])("%s has several hosts", (url, hosts) => {
    expect(read(url)?.settings.hosts.map(({ host, port }) => `${host}:${port}`)).toEqual(hosts);
  });

  test.each([
    "mysql://app@db/shop",
    "db:5432/shop",
    "postgres://app@db:99999/shop",
    "postgres://app@db:54a/shop",
    "postgres://app@a,b/shop?port=1,2,3",
    "postgres://app:a/b@db/shop",
    "postgres://app@db/shop#part",
  ])("%s is not a PostgreSQL URL", (url) => {
    expect(read(url)).toBeUndefined();
    expect(connectionProblems(url)).toEqual(["takes a URL such as postgres://user:password@host:5432/database"]);
  });

  test("PGHOST, PGPORT, PGUSER, PGPASSWORD and PGDATABASE complete it", () => {
    const env = { PGHOST: "db", PGPORT: "6000", PGUSER: "app", PGPASSWORD: "s3", PGDATABASE: "shop" };
    const complete = { hosts: [{ host: "db", port: 6000 }], user: "app", password: "s3", database: "shop" };
    expect(read("postgres://", env)).toMatchObject({ settings: complete });
    expect(read("postgres://other@there:1/that", env)).toMatchObject({
      settings: { hosts: [{ host: "there", port: 1 }], user: "other", database: "that" },
    });
  });
});

describe("the parameters of a URL", () => {
  test.each([
    ["", {}, { tls: undefined, targetSession: "any", isPooled: false }],
    ["?sslmode=disable", {}, { tls: undefined }],
    ["?sslmode=verify-full", {}, { tls: { mode: "verify-full", rootCert: undefined } }],
    ["?sslmode=verify-full&sslrootcert=system", {}, { tls: { mode: "verify-full", rootCert: "system" } }],
    ["?ssl=true", {}, { tls: { mode: "require" } }],
    ["?ssl=true&sslmode=verify-full", {}, { tls: { mode: "verify-full" } }],
    ["?ssl_min_protocol_version=TLSv1.3&sslmode=require", {}, { tls: { minVersion: "TLSv1.3" } }],
    ["", { PGSSLMODE: "require" }, { tls: { mode: "require" } }],
    ["?sslmode=disable", { PGSSLMODE: "require" }, { tls: undefined }],
    ["?application_name=a+b%20c", {}, { applicationName: "a+b c" }],
    ["", { PGAPPNAME: "billing" }, { applicationName: "billing" }],
    ["?options=-c%20work_mem%3D8MB", {}, { options: "-c work_mem=8MB" }],
    ["?connect_timeout=7", {}, { connectTimeoutMs: 7_000 }],
    ["?target_session_attrs=read-write", {}, { targetSession: "read-write" }],
    ["?pgbouncer=true", {}, { isPooled: true }],
  ])("%s with %j are read", (query, env, settings) => {
    expect(read(`postgres://app@db/shop${query}`, env as Record<string, string>)).toMatchObject({
      settings,
      problems: [],
    });
  });

  test.each([
    ["sslmode=prefer", "has sslmode=prefer: expected disable, require, verify-ca, verify-full"],
    ["sslmode=no-verify", "has sslmode=no-verify: expected disable, require, verify-ca, verify-full"],
    ["sslmode=verify-ca", "has sslmode=verify-ca: it needs sslrootcert, the file with the certificate of your CA"],
    ["sslmode=require&sslrootcert=system", "has sslrootcert=system: it needs sslmode=verify-full"],
    ["sslrootcert=/ca.crt", "has sslrootcert=/ca.crt: it has no effect without sslmode"],
    ["sslmode=require&sslkey=/none.key", "has sslkey=/none.key: it needs sslcert"],
    [
      "sslmode=verify-full&sslrootcert=/none.crt",
      "has sslrootcert=/none.crt: expected a readable PEM file with a certificate (ENOENT)",
    ],
    ["ssl=false", "has the parameter ssl, which is not supported: use sslmode"],
    ["schema=billing", "has the parameter schema, which is not supported: remove it"],
    [
      "sslpassword=s3cret",
      "has the parameter sslpassword, which is not supported: use a key file without a passphrase",
    ],
    ["toString=1", "has the parameter toString, which is not supported: remove it"],
    ["options=-c%20lock_timeout%3D0", "has options=-c lock_timeout=0: remove lock_timeout, whose value is fixed"],
    ["connect_timeout=0", "has connect_timeout=0: expected seconds from 1 to 999"],
    ["target_session_attrs=standby", "has target_session_attrs=standby: expected any, read-write, primary"],
    ["pgbouncer=yes", "has pgbouncer=yes: expected true, false"],
    ["host=a,/run", "has several hosts and a Unix socket: use host names only"],
  ])("%s is refused", (query, problem) => {
    expect(read(`postgres://app@db/shop?${query}`)?.problems).toEqual([problem]);
  });

  test.each([
    [{ PGSSLMODE: "allow" }, "PGSSLMODE is allow: expected disable, require, verify-ca, verify-full"],
    [{ PGSSLROOTCERT: "/ca.crt" }, "PGSSLROOTCERT is /ca.crt: it has no effect without sslmode"],
    [{ PGSSLCRL: "/list.crl" }, "PGSSLCRL is set, but is not supported: unset it"],
  ])("the variables %j are refused", (env, problem) => {
    expect(read("postgres://app@db/shop", env as Record<string, string>)?.problems).toEqual([problem]);
  });
});

test.each([
  ["postgres://app@db/shop", true],
  ["postgres://app@127.0.0.1,db/shop", true],
  ["postgres://app@db/shop?sslmode=require", false],
  ["postgres://app@127.0.0.1/shop", false],
  ["postgres://app@[::1]/shop", false],
  ["postgres://app@localhost/shop", false],
  ["postgres:///shop?host=/run/postgresql", false],
])("isPlainText of %s is %s", (url, expected) => {
  expect(isPlainText(url)).toBe(expected);
});

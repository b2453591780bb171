import type { TlsOptions } from "node:tls";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type Certificate,
  type CertificateMaker,
  createCertificateMaker,
  FOR_AUTHORITY,
  FOR_LENDER,
  WEAK_RSA,
} from "../tests/certificates.ts";
import { answer, openOrigin } from "../tests/scripted-origin.ts";
import { describeFailure } from "./describe-failure.ts";
import type { FailureReason } from "./failure-reason.ts";
import { createOutbound } from "./outbound.ts";

/** OpenSSL in a server accepts weak keys and signatures only at this level. */
const WEAK: TlsOptions = { ciphers: "DEFAULT@SECLEVEL=0" };

let maker: CertificateMaker;
let root: Certificate;

beforeAll(async () => {
  maker = await createCertificateMaker();
  root = await maker.make({ name: "root", extensions: FOR_AUTHORITY });
});

afterAll(() => maker[Symbol.asyncDispose]());

const authority = (name: string, issuer: Certificate, extensions: readonly string[] = FOR_AUTHORITY) =>
  maker.make({ name, issuer, extensions });
const leaf = (name: string, issuer: Certificate, extensions: readonly string[] = FOR_LENDER) =>
  maker.make({ name, issuer, extensions });
const serve = (own: Certificate, ...others: Certificate[]): TlsOptions => ({
  key: own.key,
  cert: [own, ...others].map(({ cert }) => cert).join(""),
});

test.each<[what: string, server: () => Promise<TlsOptions>, reason: FailureReason, details: string]>([
  [
    "an RSA key of 1024 bits",
    async () => ({ ...serve(await maker.make({ name: "weak-key", issuer: root, key: WEAK_RSA })), ...WEAK }),
    "CERTIFICATE_KEY_TOO_WEAK",
    "EE_KEY_TOO_SMALL: EE certificate key too weak",
  ],
  [
    "an issuer with an RSA key of 1024 bits",
    async () => {
      const weak = await maker.make({ name: "weak-ca", issuer: root, extensions: FOR_AUTHORITY, key: WEAK_RSA });
      return { ...serve(await leaf("under-weak-ca", weak), weak), ...WEAK };
    },
    "CERTIFICATE_KEY_TOO_WEAK",
    "CA_KEY_TOO_SMALL: CA certificate key too weak",
  ],
  [
    "a signature with SHA-1",
    async () => ({ ...serve(await maker.make({ name: "sha1", issuer: root, digest: "sha1" })), ...WEAK }),
    "CERTIFICATE_SIGNATURE_TOO_WEAK",
    "CA_MD_TOO_WEAK: CA signature digest algorithm too weak",
  ],
  [
    "an issuer that may certify other names only",
    async () => {
      const bound = await authority("bound", root, [
        ...FOR_AUTHORITY,
        "nameConstraints=critical,permitted;DNS:acme.test",
      ]);
      return serve(await leaf("not-permitted", bound), bound);
    },
    "CERTIFICATE_NAME_NOT_PERMITTED",
    "PERMITTED_VIOLATION: permitted subtree violation",
  ],
  [
    "an issuer that may not certify the name",
    async () => {
      const bound = await authority("bound-2", root, [
        ...FOR_AUTHORITY,
        "nameConstraints=critical,excluded;DNS:lender.test",
      ]);
      return serve(await leaf("excluded", bound), bound);
    },
    "CERTIFICATE_NAME_NOT_PERMITTED",
    "EXCLUDED_VIOLATION: excluded subtree violation",
  ],
  [
    "a longer path than its issuer permits",
    async () => {
      const first = await authority("first", root, ["basicConstraints=critical,CA:TRUE,pathlen:0", FOR_AUTHORITY[1]!]);
      const second = await authority("second", first);
      return serve(await leaf("deep", second), second, first);
    },
    "CERTIFICATE_CHAIN_INVALID",
    "PATH_LENGTH_EXCEEDED: path length constraint exceeded",
  ],
  [
    "an issuer that is no authority",
    async () => {
      const plain = await leaf("plain", root, [...FOR_LENDER, "basicConstraints=CA:FALSE"]);
      return serve(await leaf("under-plain", plain), plain);
    },
    "CERTIFICATE_WRONG_PURPOSE",
    "INVALID_PURPOSE: unsuitable certificate purpose",
  ],
  [
    "the purpose of clients only",
    async () => serve(await leaf("client-only", root, [...FOR_LENDER, "extendedKeyUsage=clientAuth"])),
    "CERTIFICATE_WRONG_PURPOSE",
    "INVALID_PURPOSE: unsuitable certificate purpose",
  ],
  [
    "a critical extension that nobody knows",
    async () => serve(await leaf("odd", root, [...FOR_LENDER, "1.2.3.4=critical,ASN1:UTF8String:odd"])),
    "CERTIFICATE_REJECTED",
    "UNSPECIFIED: unhandled critical extension",
  ],
  [
    "an end in the past",
    async () => serve(await maker.make({ name: "ended", issuer: root, startsInDays: -9, days: 2 })),
    "CERTIFICATE_EXPIRED",
    "CERT_HAS_EXPIRED: certificate has expired",
  ],
  [
    "an issuer that has expired",
    async () => {
      const ended = await maker.make({
        name: "ended-ca",
        issuer: root,
        extensions: FOR_AUTHORITY,
        startsInDays: -9,
        days: 2,
      });
      return serve(await leaf("under-ended", ended), ended);
    },
    "CERTIFICATE_EXPIRED",
    "CERT_HAS_EXPIRED: certificate has expired",
  ],
  [
    "a start in the future",
    async () => serve(await maker.make({ name: "future", issuer: root, startsInDays: 9 })),
    "CERTIFICATE_NOT_YET_VALID",
    "CERT_NOT_YET_VALID: certificate is not yet valid",
  ],
  [
    "no issuer but itself",
    async () => serve(await maker.make({ name: "alone" })),
    "CERTIFICATE_SELF_SIGNED",
    "DEPTH_ZERO_SELF_SIGNED_CERT: self-signed certificate",
  ],
  [
    "a private root",
    async () => {
      const own = await maker.make({ name: "own-root", extensions: FOR_AUTHORITY });
      return serve(await leaf("under-own", own), own);
    },
    "CERTIFICATE_NOT_TRUSTED",
    "SELF_SIGNED_CERT_IN_CHAIN: self-signed certificate in certificate chain",
  ],
  [
    "a private issuer whose root is not sent",
    async () => {
      const own = await maker.make({ name: "own-root-2", extensions: FOR_AUTHORITY });
      const middle = await authority("own-middle", own);
      return serve(await leaf("under-own-middle", middle), middle);
    },
    "CERTIFICATE_NOT_TRUSTED",
    "UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unable to get local issuer certificate",
  ],
  [
    "an issuer that is not sent",
    async () => serve(await leaf("without-middle", await authority("middle", root))),
    "CERTIFICATE_CHAIN_INCOMPLETE",
    "UNABLE_TO_VERIFY_LEAF_SIGNATURE: unable to verify the first certificate",
  ],
  [
    "another host's name",
    async () => serve(await leaf("other", root, ["subjectAltName=DNS:other.test"])),
    "CERTIFICATE_FOR_OTHER_HOST",
    "ERR_TLS_CERT_ALTNAME_INVALID",
  ],
])("a certificate with %s is a TLS failure", async (_what, server, reason, details) => {
  const got = await ask(await server());
  expect(got).toMatchObject({ kind: "failure", code: "TLS", reason, ownFault: false, requestSent: false });
  expect(got.kind === "failure" && describeFailure(got)).toMatch(new RegExp(` \\(${details}\\)\\.$`));
});

test("a certificate whose chain is complete is accepted", async () => {
  const middle = await authority("good-middle", root);
  expect(await ask(serve(await leaf("good", middle), middle))).toMatchObject({ kind: "answer", status: 200 });
});

async function ask(server: TlsOptions) {
  await using origin = await openOrigin((socket) => socket.write(answer("200 OK")), server);
  const outbound = createOutbound({
    allow: "lender.test:*",
    ca: root.cert,
    resolve: async () => [{ address: "127.0.0.1", family: 4 }],
  });
  const url = `https://lender.test:${origin.port}`;
  const got = await outbound.request({ method: "POST", url, body: "{}", timeoutMs: 300_000 });
  await outbound.close();
  return got;
}

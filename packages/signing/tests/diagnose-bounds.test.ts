import { createHash, createHmac, randomBytes } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  diagnose,
  type Diagnosis,
  MAX_BYTES_READ,
  MAX_SIGNATURES_TRIED,
  type RequestToDiagnose,
  verify,
} from "../src/index.ts";
import { secretMistakes } from "../src/diagnosis/diagnose-secret.ts";
import { HOST, KEY_ID, NOW_MS, OLDER_KEY_ID, SECRET, SECRETS, sentBy, TIMESTAMP } from "./wrong-client.ts";
import { MISTAKES } from "./mistakes.ts";

const newSecret = () => `sk_sandbox_${randomBytes(32).toString("hex")}`;

// Arbitrary requests: any text in any field, and signatures in every notation.
const anySignature = fc.oneof(
  fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes).toString("hex")),
  fc.constantFrom(20, 32, 64).map((length) => randomBytes(length).toString("base64")),
  fc.constantFrom(20, 64).map((length) => randomBytes(length).toString("hex")),
  fc.string({ unit: "binary", maxLength: 100 }),
);
const anyRequest = fc.record({
  method: fc.oneof(fc.constantFrom("GET", "POST", "post"), fc.string()),
  path: fc.oneof(fc.webPath(), fc.string({ unit: "binary" }), fc.constant("/api/v1/partner/cases/A%2FB?x=1#y")),
  timestamp: fc.oneof(fc.constant(TIMESTAMP), fc.constant("1795167667"), fc.nat().map(String), fc.string()),
  body: fc.oneof(fc.json(), fc.uint8Array(), fc.string({ unit: "binary" }), fc.constant("")),
  signature: anySignature,
  host: fc.oneof(fc.constant(HOST), fc.string()),
  signedTimestamp: fc.string(),
}) satisfies fc.Arbitrary<RequestToDiagnose>;

test("diagnose reports no finding as certain for a random signature", () => {
  fc.assert(
    fc.property(anyRequest, (request) => {
      const { signatureMatches, diagnosis } = diagnose(request, SECRETS, NOW_MS);
      const certain = diagnosis.filter((finding) => finding.certain);
      expect({ signatureMatches, certain }).toEqual({ signatureMatches: false, certain: [] });
    }),
    { numRuns: 40 },
  );
});

test("diagnose reports a client's mistakes as certain, whatever the body is", () => {
  const anyBody = fc
    .tuple(
      fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 5 }),
      fc.constantFrom("", " ", "  ", "\t"),
    )
    .map(([value, spacing]) => JSON.stringify(value, null, spacing));
  const change = fc.constantFrom<(body: string) => string>(
    (body) => JSON.stringify(JSON.parse(body)),
    (body) => JSON.stringify(JSON.parse(body), null, 2),
    (body) => `${body}\r\n`,
    (body) => `\uFEFF${body}`,
    (body) => body.replaceAll("/", "\\/"),
    () => "",
  );
  const key = fc.constantFrom<(secret: string) => string | Buffer>(
    (secret) => secret,
    (secret) => `${secret}\n`,
    (secret) => Buffer.from(secret, "base64"),
  );
  fc.assert(
    fc.property(anyBody, change, key, (sent, body, key) => {
      const request = sentBy({ body, key }, { body: sent });
      const { signatureMatches, diagnosis } = diagnose(request, SECRETS, NOW_MS);
      expect(signatureMatches).toBe(verify({ ...request, secret: SECRET }));
      expect(diagnosis.every(({ certain }) => certain)).toBe(true);
      expect(diagnosis.length > 0).toBe(!signatureMatches);
    }),
    { numRuns: 100 },
  );
});

describe("diagnose reveals nothing about the secret", () => {
  test("a caller that signs without the secret gets the same result for every secret", () => {
    const others = () => [{ keyId: OLDER_KEY_ID, secret: newSecret() }];
    const answer = (request: RequestToDiagnose) =>
      diagnose(request, { secret: newSecret(), keyId: KEY_ID, others: others() }, NOW_MS);
    fc.assert(
      fc.property(anyRequest, (request) => {
        expect(answer(request)).toEqual(answer(request));
      }),
      { numRuns: 15 },
    );
    const clients = MISTAKES.filter(({ client: { key } }) => key && String(key(SECRET)) === String(key(newSecret())));
    expect(clients.map(({ name }) => name)).toEqual([
      "a secret decoded from hex by Node",
      "the key id as secret",
      "an older secret",
    ]);
    for (const { client } of clients.slice(0, 2)) {
      expect(answer(sentBy(client))).toEqual(answer(sentBy(client)));
      expect(answer(sentBy(client)).diagnosis).toMatchObject([{ certain: true }]);
    }
  });

  test("the result contains only the two digests of the caller's own data, and no signature", () => {
    for (const { client, sends } of MISTAKES) {
      const request = sentBy(client, sends);
      const { canonicalString, canonicalSha256, bodySha256, ...rest } = diagnose(request, SECRETS, NOW_MS);
      expect(JSON.stringify(rest)).not.toMatch(/[0-9a-f]{40}|[\w+/-]{43}/i);
      const text = `${request.method}\n${request.path.split("?")[0]}\n${request.timestamp}\n${request.body as string}`;
      expect(canonicalString).toBe(text);
      expect(canonicalSha256).toBe(createHash("sha256").update(text).digest("hex"));
      expect(bodySha256).toBe(createHash("sha256").update(request.body).digest("hex"));
    }
  });

  test("the key of each mistake in the secret depends on the whole secret or on none of it, so that no part can be guessed", () => {
    const digits = SECRET.slice("sk_sandbox_".length);
    for (const { change, cause } of secretMistakes({ secret: SECRET, keyId: KEY_ID })) {
      const key = (secret: string) => Buffer.from((change(secret) ?? "") as string).toString("hex");
      const same = Array.from(digits, (digit, index) => {
        const other = ((Number.parseInt(digit, 16) + 9) % 16).toString(16);
        const changed = `sk_sandbox_${digits.slice(0, index)}${other}${digits.slice(index + 1)}`;
        return key(changed) === key(SECRET);
      });
      // The last digit is not compared, because decoding from base64 drops two bits of that digit.
      expect(same.slice(0, -1).filter(Boolean).length, cause).toBeOneOf([0, digits.length - 1]);
    }
  });

  test("a correct guess of a part of the secret gets the same result as a wrong guess", () => {
    for (const length of [11, 12, 20, 43, 74]) {
      const request = sentBy({ key: (secret) => secret.slice(0, length) });
      const wrong = sentBy({ key: () => randomBytes(length).toString("hex") });
      expect(diagnose(request, SECRETS, NOW_MS)).toEqual(diagnose(wrong, SECRETS, NOW_MS));
    }
  });
});

describe("the search of diagnose", () => {
  const others = Array.from({ length: 9 }, () => ({ keyId: OLDER_KEY_ID, secret: newSecret() }));
  const row = { sourceLoanNumber: "LN/1", borrowerName: "आशा", outstandingAmount: 5000.5, tags: ["<a>", "b"] };
  const rows = (count: number) => JSON.stringify({ rows: Array.from({ length: count }, () => row) }, null, 1);

  function search(body: string | Uint8Array, signature = randomBytes(32).toString("hex")): Diagnosis["search"] {
    const path = `/${"a%2F/".repeat(100)}?x=${"y".repeat(1000)}`;
    const request = { method: "POST", path, timestamp: TIMESTAMP, body, signature, host: HOST, signedTimestamp: "1" };
    return diagnose(request, { secret: newSecret(), keyId: KEY_ID, others }, NOW_MS).search;
  }

  test.each([
    ["no bytes", ""],
    ["a confirmation", rows(1)],
    ["random bytes", randomBytes(500)],
    ["a hundred commas and slashes", JSON.stringify("/,".repeat(100))],
    ["4 KiB", rows(25)],
    ["64 KiB", rows(430)],
    ["5 MiB", rows(32_000)],
  ])("stays within its limits for a body of %s", (_, body) => {
    const { signatures, bytes } = search(body);
    expect(signatures).toBeGreaterThan(2);
    expect(signatures).toBeLessThanOrEqual(MAX_SIGNATURES_TRIED);
    expect(bytes).toBeLessThanOrEqual(MAX_BYTES_READ);
  });

  test("tries every pair of mistakes for a body of 1 KiB, but only some pairs for a body of 64 KiB", () => {
    expect(search(rows(5))).toMatchObject({ complete: true });
    const { signatures, complete } = search(rows(430));
    expect(complete).toBe(false);
    expect(signatures).toBeGreaterThan(150);
  });

  test("stays within its limits if every part except the body is long", () => {
    const [long, signature] = ["/%2F?".repeat(10_000), randomBytes(32).toString("hex")];
    const parts = { method: long, path: long, host: long, timestamp: "1".repeat(50_000), signedTimestamp: long };
    const { bytes, signatures } = diagnose({ ...parts, body: "", signature }, SECRETS, NOW_MS).search;
    expect(bytes).toBeLessThanOrEqual(MAX_BYTES_READ);
    expect(signatures).toBeLessThan(200);
  });

  test("does not parse a body that is nested too deeply", () => {
    const body = "[".repeat(30_000) + "]".repeat(30_000);
    expect(search(body).signatures).toBeGreaterThan(2);
  });
});

test("a mistake that is reported as certain reproduces the caller's signature", () => {
  const request = sentBy({ key: (secret) => `${secret}\n` });
  const [finding] = diagnose(request, SECRETS, NOW_MS).diagnosis;
  expect(finding).toMatchObject({ cause: "SECRET_WITH_NEWLINE", certain: true });
  expect(verify({ ...request, secret: `${SECRET}\n` })).toBe(true);
  const message = `POST\n${request.path.split("?")[0]}\n${request.timestamp}\n${request.body as string}`;
  expect(createHmac("sha256", `${SECRET}\n`).update(message).digest("hex")).toBe(request.signature);
});

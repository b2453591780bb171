import { ABOUT_SIGNATURES, ABOUT_TIME, type Broken } from "./broken-lender.ts";
import { lenderWith, TestLender } from "./test-lender.ts";

const right = TestLender.prototype;

/** Receivers that accept forged requests, or reject valid ones. */
export const SIGNATURES: Broken[] = [
  {
    fault: "ignores the signature",
    lender: lenderWith({ isGenuine: () => true }),
    caughtBy: "wrong-signature",
    and: [...ABOUT_SIGNATURES.slice(1), ...ABOUT_TIME],
  },
  {
    fault: "crashes on a signature of the wrong length",
    lender: lenderWith({
      isSigned(secret, request, timestamp, signature) {
        if (signature.length !== 64) throw new RangeError("Input buffers must have the same byte length");
        return right.isSigned.call(this, secret, request, timestamp, signature);
      },
    }),
    caughtBy: "malformed-signature",
  },
  {
    fault: "checks the signature only if it is present",
    lender: lenderWith({
      isGenuine(request) {
        return request.headers["x-service-signature"] === undefined || right.isGenuine.call(this, request);
      },
    }),
    caughtBy: "missing-headers",
  },
  {
    fault: "verifies the signature over JSON that it parsed and serialised again",
    lender: lenderWith({ signedBody: ({ rawBody }) => JSON.stringify(JSON.parse(rawBody.toString("utf8"))) }),
    caughtBy: "exact-bytes",
  },
  {
    fault: "does not include an amount in the signed text",
    lender: lenderWith({
      isSigned(secret, request, timestamp, signature) {
        const untampered = request.rawBody
          .toString("utf8")
          .replace('"outstandingAfter":5001', '"outstandingAfter":5000');
        return right.isSigned.call(
          this,
          secret,
          { ...request, rawBody: Buffer.from(untampered) },
          timestamp,
          signature,
        );
      },
    }),
    caughtBy: "tampered-body",
  },
  {
    fault: "ignores the age of a timestamp",
    lender: lenderWith({ isFresh: () => true }),
    caughtBy: "stale-timestamp",
    and: ["future-timestamp"],
  },
  {
    fault: "rejects only old timestamps",
    lender: lenderWith({ isFresh: (timestampMs) => Date.now() - timestampMs <= 300_000 }),
    caughtBy: "future-timestamp",
  },
  {
    fault: "allows a clock difference of only one minute",
    lender: lenderWith({ isFresh: (timestampMs) => Math.abs(Date.now() - timestampMs) <= 60_000 }),
    caughtBy: "clock-tolerance",
  },
  {
    fault: "accepts an old signature with a new timestamp",
    lender: believingOldSignatures(),
    caughtBy: "changed-timestamp",
  },
  {
    fault: "knows only one secret",
    lender: lenderWith({ secretOf: () => right.secretOf("lk_first") }),
    caughtBy: "key-rotation",
  },
];

/** Accepts a signature made ten minutes before the timestamp of the request. */
function believingOldSignatures(): TestLender {
  return lenderWith({
    isSigned(secret, request, timestamp, signature) {
      const isRight = (time: number) => right.isSigned.call(this, secret, request, String(time), signature);
      return isRight(Number(timestamp)) || isRight(Number(timestamp) - 600_000);
    },
  });
}

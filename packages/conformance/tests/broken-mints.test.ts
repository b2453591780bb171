import { setTimeout as wait } from "node:timers/promises";
import { expect, test } from "vitest";
import { CHECKS } from "../src/index.ts";
import type { Broken } from "./broken-lender.ts";
import { createMeeting } from "./meeting.ts";
import { namesOf, runOn } from "./run-on.ts";
import { lenderWith, type MadeLink, type MintRequest, TestLender } from "./test-lender.ts";

const right = TestLender.prototype;
const meet = createMeeting();

const BROKEN: Broken[] = [
  {
    fault: "mints a new link for the same key",
    lender: lenderWith({
      linkFor(_key, linkRequest) {
        return right.linkFor.call(this, String(this.links.size), linkRequest);
      },
    }),
    caughtBy: "same-key",
    and: ["same-key-at-once"],
  },
  {
    fault: "looks up the key and stores it only after the gateway answered",
    lender: lenderWith({
      async linkFor(key, linkRequest) {
        const made = this.links.get(key);
        if (made !== undefined) return [200, this.answerWith(made)];
        if (linkRequest.amount === 150) await meet();
        return this.keep(key, this.newLink(linkRequest));
      },
    }),
    caughtBy: "same-key-at-once",
  },
  {
    fault: "keeps one link per loan and ignores the key",
    lender: lenderWith({
      linkFor(_key, linkRequest) {
        return right.linkFor.call(this, linkRequest.sourceLoanNumber, linkRequest);
      },
    }),
    caughtBy: "another-key",
    and: ["amounts", "parallel"],
  },
  {
    fault: "ignores the auth header",
    lender: lenderWith({ isFromService: () => true }),
    caughtBy: "wrong-auth",
    and: ["missing-auth"],
  },
  {
    fault: "checks the auth header only if it is present",
    lender: lenderWith({
      isFromService(request) {
        return request.headers["x-mint-token"] === undefined || right.isFromService.call(this, request);
      },
    }),
    caughtBy: "missing-auth",
  },
  {
    fault: "answers with a plain http URL",
    lender: lenderWith({
      answerWith: ({ linkId }) => ({ success: true, link: { linkId, url: "http://pay.example/" } }),
    }),
    caughtBy: "link",
  },
  {
    fault: "answers without a linkId",
    lender: lenderWith({ answerWith: ({ url }) => ({ success: true, link: { url } }) }),
    caughtBy: "link",
  },
  {
    fault: "says success: false",
    lender: lenderWith({ answerWith: () => ({ success: false, error: "the gateway declined" }) }),
    caughtBy: "link",
  },
  {
    fault: "calculates in floats and loses a paisa",
    lender: lenderWith({ exact: (amount) => Math.floor(amount * 100) / 100 }),
    caughtBy: "amounts",
  },
  {
    fault: "calculates in floats and shows the wrong amount in its answer",
    lender: lenderWith({
      answerWith: ({ linkId, url, amount }) => ({
        success: true,
        link: { linkId, url, amount: Math.floor(amount * 100) },
      }),
    }),
    caughtBy: "amounts",
    run: { withState: false },
  },
  {
    fault: "rejects an amount that is not a whole number after multiplication by 100",
    lender: lenderWith({
      linkFor(key, linkRequest) {
        return Number.isInteger(linkRequest.amount * 100)
          ? right.linkFor.call(this, key, linkRequest)
          : [422, "bad amount"];
      },
    }),
    caughtBy: "amounts",
    run: { withState: false },
  },
  {
    fault: "has a strict schema",
    lender: lenderWith({
      linkFor(key, linkRequest) {
        return "language" in linkRequest ? [400, "unknown field language"] : right.linkFor.call(this, key, linkRequest);
      },
    }),
    caughtBy: "unknown-fields",
  },
  {
    fault: "verifies the signature over the body decoded as Latin-1",
    lender: lenderWith({ signedBody: ({ rawBody }) => rawBody.toString("latin1") }),
    caughtBy: "utf8",
  },
  {
    fault: "checks neither the auth header nor the signature",
    lender: lenderWith({ isFromService: () => true, isGenuine: () => true }),
    caughtBy: "wrong-signature",
    and: ["missing-headers", "stale-timestamp", "tampered-body"],
    run: { withMintAuth: false },
  },
  {
    fault: "checks the signature only if it is present, and no auth header",
    lender: lenderWith({
      isFromService: () => true,
      isGenuine(request) {
        return request.headers["x-service-signature"] === undefined || right.isGenuine.call(this, request);
      },
    }),
    caughtBy: "missing-headers",
    run: { withMintAuth: false },
  },
  {
    fault: "ignores the age of a timestamp, and checks no auth header",
    lender: lenderWith({ isFromService: () => true, isFresh: () => true }),
    caughtBy: "stale-timestamp",
    run: { withMintAuth: false },
  },
  {
    fault: "does not include the amount in the signed text, and checks no auth header",
    lender: lenderWith({
      isFromService: () => true,
      signedBody: ({ rawBody }) => rawBody.toString("utf8").replace('"amount":151', '"amount":150'),
    }),
    caughtBy: "tampered-body",
    and: ["another-key", "parallel"],
    run: { withMintAuth: false },
  },
  { fault: "mixes up requests that arrive at the same time", lender: overwriting(), caughtBy: "parallel" },
  { fault: "loses requests that arrive at the same time", lender: oneAtATime(), caughtBy: "parallel" },
  {
    fault: "redirects",
    lender: lenderWith({ mint: () => [307, undefined, { Location: "/mint/" }] }),
    caughtBy: "no-redirect",
    and: ["link"],
  },
  {
    fault: "answers too late",
    lender: lenderWith({ mint: () => wait(60_000, [200] as const, { ref: false }) }),
    caughtBy: "answer-time",
    and: ["link"],
    run: { timeoutMs: 300 },
  },
  {
    fault: "never ends its answer",
    lender: lenderWith({
      intercept({ path }, response) {
        if (path === "/mint") response.writeHead(200).write('{"success":');
        return path === "/mint";
      },
    }),
    caughtBy: "answer-time",
    and: ["link"],
    run: { timeoutMs: 300 },
  },
];

test.each(BROKEN)(
  "the check $caughtBy catches a mint endpoint that $fault",
  async ({ lender, caughtBy, and = [], run }) => {
    const results = await runOn(lender, { endpoint: "mint", ...run });
    const failing = [caughtBy, ...and].map((name) => `mint.${name}`);
    expect(namesOf(results, "FAIL").toSorted()).toEqual(failing.toSorted());
  },
);

test.each([
  [
    "verifies only the auth header",
    ["wrong-signature", "missing-headers", "stale-timestamp", "tampered-body"],
    { isGenuine: () => true },
  ],
  ["ignores the age of a timestamp", ["stale-timestamp"], { isFresh: () => true }],
  [
    "answers without success: true",
    ["link"],
    { answerWith: ({ linkId, url }: MadeLink) => ({ link: { linkId, url } }) },
  ],
  ["rejects a key that is in progress", ["same-key-at-once"], { linkFor: refusingWhatIsUnderWay() }],
  ["answers text/html", ["content-type"], { linkFor: withHeaders({ "Content-Type": "text/html" }) }],
] as const)("a mint endpoint that %s gets warnings from %j, and no failure", async (_fault, warnedBy, otherwise) => {
  const results = await runOn(lenderWith(otherwise), { endpoint: "mint" });
  expect([namesOf(results, "WARN"), namesOf(results, "FAIL")]).toEqual([warnedBy.map((name) => `mint.${name}`), []]);
});

test("every check of mint endpoints catches at least one fault", () => {
  const caught = new Set([...BROKEN.map(({ caughtBy }) => caughtBy), "wrong-signature", "content-type"]);
  const names = CHECKS.map(({ name }) => name).filter((name) => name.startsWith("mint."));
  expect(names.filter((name) => !caught.has(name.slice("mint.".length)))).toEqual([]);
});

test("accepts a mint endpoint whose answer has the amount in minor units", async () => {
  const inPaise = (amount: number) => Number(amount.toFixed(2).replace(".", ""));
  const answerWith = ({ linkId, url, amount }: MadeLink) => ({
    success: true,
    link: { linkId, url, amount: inPaise(amount) },
  });
  const results = await runOn(lenderWith({ answerWith }), { endpoint: "mint", withState: false });
  expect(namesOf(results, "FAIL")).toEqual([]);
});

function refusingWhatIsUnderWay(): TestLender["linkFor"] {
  const underWay = new Set<string>();
  return async function linkFor(this: TestLender, key: string, linkRequest: MintRequest) {
    const isUnderWay = underWay.has(key);
    underWay.add(key);
    const met = meet();
    if (isUnderWay) return [409, "in progress"];
    await met;
    underWay.delete(key);
    return this.keep(key, this.links.get(key) ?? this.newLink(linkRequest));
  };
}

function withHeaders(headers: Record<string, string>): TestLender["linkFor"] {
  return function linkFor(this: TestLender, key: string, linkRequest: MintRequest) {
    const [status, body] = this.keep(key, this.links.get(key) ?? this.newLink(linkRequest));
    return [status, body, headers];
  };
}

/** Keeps the current link request in a variable that all requests share. */
function overwriting(): TestLender {
  let current: MintRequest;
  return lenderWith({
    async linkFor(key, linkRequest) {
      current = linkRequest;
      await meet();
      return right.linkFor.call(this, key, current);
    },
  });
}

function oneAtATime(): TestLender {
  let isBusy = false;
  return lenderWith({
    async linkFor(key, linkRequest) {
      const met = meet();
      if (isBusy && linkRequest.amount !== 150) return [503, "busy"];
      isBusy = true;
      await met;
      isBusy = false;
      return right.linkFor.call(this, key, linkRequest);
    },
  });
}

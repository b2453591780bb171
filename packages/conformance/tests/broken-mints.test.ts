import { setTimeout as wait } from "node:timers/promises";
import { expect, test } from "vitest";
import { CHECKS } from "../src/index.ts";
import type { Broken } from "./broken-lender.ts";
import { namesOf, runOn } from "./run-on.ts";
import { lenderWith, type MadeLink, type MintWish, TestLender } from "./test-lender.ts";

const right = TestLender.prototype;

const BROKEN: Broken[] = [
  {
    fault: "mints a new link for the same key",
    lender: lenderWith({
      linkFor(_key, wish) {
        return right.linkFor.call(this, String(this.links.size), wish);
      },
    }),
    caughtBy: "same-key",
    and: ["same-key-at-once"],
  },
  {
    fault: "looks for the key before it asks the gateway",
    lender: lenderWith({
      async linkFor(key, wish) {
        const made = this.links.get(key);
        if (made !== undefined) return [200, this.answerWith(made)];
        await wait(wish.amount === 150 ? 50 : 0);
        return this.keep(key, this.newLink(wish));
      },
    }),
    caughtBy: "same-key-at-once",
  },
  {
    fault: "keeps one link a loan, whatever the key",
    lender: lenderWith({
      linkFor(_key, wish) {
        return right.linkFor.call(this, wish.sourceLoanNumber, wish);
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
    fault: "checks the auth header only where there is one",
    lender: lenderWith({
      isFromService(request) {
        return request.headers["x-mint-token"] === undefined || right.isFromService.call(this, request);
      },
    }),
    caughtBy: "missing-auth",
  },
  {
    fault: "gives a plain http URL",
    lender: lenderWith({
      answerWith: ({ linkId }) => ({ success: true, link: { linkId, url: "http://pay.example/" } }),
    }),
    caughtBy: "link",
  },
  {
    fault: "gives no linkId",
    lender: lenderWith({ answerWith: ({ url }) => ({ success: true, link: { url } }) }),
    caughtBy: "link",
  },
  {
    fault: "says success: false",
    lender: lenderWith({ answerWith: () => ({ success: false, error: "the gateway declined" }) }),
    caughtBy: "link",
  },
  {
    fault: "counts in floats and keeps a paisa",
    lender: lenderWith({ exact: (amount) => Math.floor(amount * 100) / 100 }),
    caughtBy: "amounts",
  },
  {
    fault: "counts in floats and answers with what it asks for",
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
    fault: "refuses what times 100 is no whole number",
    lender: lenderWith({
      linkFor(key, wish) {
        return Number.isInteger(wish.amount * 100) ? right.linkFor.call(this, key, wish) : [422, "bad amount"];
      },
    }),
    caughtBy: "amounts",
    run: { withState: false },
  },
  {
    fault: "has a strict schema",
    lender: lenderWith({
      linkFor(key, wish) {
        return "language" in wish ? [400, "unknown field language"] : right.linkFor.call(this, key, wish);
      },
    }),
    caughtBy: "unknown-fields",
  },
  {
    fault: "signs the body decoded as Latin-1",
    lender: lenderWith({ signedBody: ({ rawBody }) => rawBody.toString("latin1") }),
    caughtBy: "utf8",
  },
  { fault: "mixes up wishes that come together", lender: overwriting(), caughtBy: "parallel" },
  { fault: "loses wishes that come together", lender: oneAtATime(), caughtBy: "parallel" },
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
    fault: "begins its answer and never ends it",
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

test.each(BROKEN)("a mint endpoint that $fault is caught by $caughtBy", async ({ lender, caughtBy, and = [], run }) => {
  const results = await runOn(lender, { endpoint: "mint", ...run });
  const failing = [caughtBy, ...and].map((name) => `mint.${name}`);
  expect(namesOf(results, "FAIL").toSorted()).toEqual(failing.toSorted());
});

test.each([
  ["checks no signature", "wrong-signature", { isGenuine: () => true }],
  ["says no success", "link", { answerWith: ({ linkId, url }: MadeLink) => ({ link: { linkId, url } }) }],
  ["refuses a key that it works on", "same-key-at-once", { linkFor: refusingWhatIsUnderWay() }],
  ["answers text/html", "content-type", { linkFor: withHeaders({ "Content-Type": "text/html" }) }],
])("a mint endpoint that %s is warned by %s", async (_fault, warnedBy, otherwise) => {
  const results = await runOn(lenderWith(otherwise), { endpoint: "mint" });
  expect([namesOf(results, "WARN"), namesOf(results, "FAIL")]).toEqual([[`mint.${warnedBy}`], []]);
});

test("each check is the one that is meant for a fault", () => {
  const caught = new Set([...BROKEN.map(({ caughtBy }) => caughtBy), "wrong-signature", "content-type"]);
  const names = CHECKS.map(({ name }) => name).filter((name) => name.startsWith("mint."));
  expect(names.filter((name) => !caught.has(name.slice("mint.".length)))).toEqual([]);
});

test("what an answer says of its amount may be in minor units", async () => {
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
  return async function linkFor(this: TestLender, key: string, wish: MintWish) {
    if (underWay.has(key)) return [409, "in progress"];
    underWay.add(key);
    await wait(50);
    underWay.delete(key);
    return this.keep(key, this.links.get(key) ?? this.newLink(wish));
  };
}

function withHeaders(headers: Record<string, string>): TestLender["linkFor"] {
  return function linkFor(this: TestLender, key: string, wish: MintWish) {
    const [status, body] = this.keep(key, this.links.get(key) ?? this.newLink(wish));
    return [status, body, headers];
  };
}

/** Keeps the wish that it works on in a variable of the process. */
function overwriting(): TestLender {
  let current: MintWish;
  return lenderWith({
    async linkFor(key, wish) {
      current = wish;
      await wait(20);
      return right.linkFor.call(this, key, current);
    },
  });
}

function oneAtATime(): TestLender {
  let isBusy = false;
  return lenderWith({
    async linkFor(key, wish) {
      if (isBusy && wish.amount !== 150) return [503, "busy"];
      isBusy = true;
      await wait(20);
      isBusy = false;
      return right.linkFor.call(this, key, wish);
    },
  });
}

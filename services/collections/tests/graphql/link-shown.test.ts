import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type VisitSetup, visitSetup } from "../fixtures/visit-setup.ts";
import { aFieldPartner, assign, startTestService, type TestService } from "../fixtures/fixture.ts";

const LINK = "id status url paidAt amount { minor } deliveries { channel } fallback { upiUri } unavailableReason";
const BOTH_WAYS = `query ($id: ID!) { paymentLink(id: $id) { ${LINK} } node(id: $id) { ... on PaymentLink { ${LINK} } } }`;

let service: TestService;
let setup: VisitSetup;

beforeAll(async () => {
  service = await startTestService();
  setup = await visitSetup(service);
});

beforeEach(() => {
  setup.lender.mintBehaviour = "ok";
});

/** Requests a link on a new visit, and returns it once its mint call has succeeded or failed. */
async function aLink() {
  const visit = await setup.visit({ borrowerEmail: "ravi@example.com" });
  const { paymentLink } = await setup.request(visit.visitId);
  await expect.poll(async () => (await setup.link(paymentLink.id)).status).not.toBe("REQUESTED");
  return { ...visit, id: paymentLink.id as string };
}

async function bothWays(id: string) {
  const { data } = await setup.app.ask(BOTH_WAYS, { id });
  expect(data!["node"]).toEqual(data!["paymentLink"]);
  return data!["paymentLink"];
}

async function endCase(loan: string, days: number): Promise<void> {
  await service.app.database.pool.query(
    `update cases.collection_case set status = 'closed', close_reason = 'closed_by_operator',
       closed_at = now() - make_interval(days => $2) where source_loan_number = $1`,
    [loan, days],
  );
}

describe("a payment link", () => {
  const endings = {
    "belongs to another field partner": async ({ loan }: { loan: string }) => {
      const { id } = await aFieldPartner(service);
      await assign(service, setup.lender.code, loan, id);
    },
    "ended more than a week ago": ({ loan }: { loan: string }) => endCase(loan, 8),
  };

  test.each(Object.keys(endings) as (keyof typeof endings)[])(
    "shows no URL, no deliveries and no fallback if its case %s",
    async (how) => {
      const minted = await aLink();
      setup.lender.mintBehaviour = "error500";
      const failed = await aLink();
      expect(await bothWays(minted.id)).toMatchObject({
        url: expect.stringMatching(/^http/),
        deliveries: [{}, {}],
        fallback: null,
      });
      expect(await bothWays(failed.id)).toMatchObject({
        url: null,
        fallback: { upiUri: expect.stringMatching(/^upi/) },
      });
      for (const link of [minted, failed]) {
        await endings[how](link);
        expect(await bothWays(link.id)).toMatchObject({
          id: link.id,
          url: null,
          deliveries: [],
          fallback: null,
          amount: { minor: "250000" },
        });
      }
      expect((await bothWays(failed.id)).status).toBe("UNAVAILABLE");
    },
  );

  test("is shown completely if its case ended a few days ago", async () => {
    const { loan, id } = await aLink();
    await endCase(loan, 6);
    expect(await bothWays(id)).toMatchObject({ url: expect.stringMatching(/^http/), deliveries: [{}, {}] });
  });
});

describe("the URL of a payment link", () => {
  test("is not shown once the link is paid or superseded", async () => {
    const [paid, old] = [await aLink(), await aLink()];
    const { url } = await bothWays(paid.id);
    await setup.lender.pay(decodeURIComponent(url.split("/").at(-1)));
    expect(await bothWays(paid.id)).toMatchObject({ status: "PAID", url: null });
    await setup.request(old.visitId, { amount: { minor: "100000", currency: "INR" } });
    await expect.poll(async () => (await bothWays(old.id)).status).toBe("SUPERSEDED");
    expect(await bothWays(old.id)).toMatchObject({ url: null });
  });

  test("is not shown when the lender's answer came after the link had become unavailable", async () => {
    setup.lender.mintBehaviour = "error500";
    const { id } = await aLink();
    await service.app.database.pool.query(
      `update payment_links.payment_link set link_id = 'plink_late', url = 'https://pay.example/late'
       where status = 'unavailable' and url is null`,
    );
    expect(await bothWays(id)).toMatchObject({
      status: "UNAVAILABLE",
      url: null,
      fallback: { upiUri: expect.stringMatching(/^upi/) },
    });
  });
});

test("the UPI link of a payment link's fallback has no amount if the amount of the payment link is no longer allowed", async () => {
  setup.lender.mintBehaviour = "error500";
  const { id } = await aLink();
  const [, encoded] = Buffer.from(id, "base64").toString().split(":");
  await service.app.database.pool.query(
    "update payment_links.payment_link set unavailable_reason = 'amount_not_allowed' where id = $1",
    [encoded],
  );
  const { fallback } = await bothWays(id);
  expect(fallback.upiUri).toMatch(/^upi/);
  expect(fallback.upiUri).not.toContain("am=");
});

import { expect, test } from "vitest";
import { flowsDatabaseUrl, openDatabase } from "../../tests/fixture.ts";
import { linkStage } from "../../tests/link-stage.ts";
import { mintPaymentLinkQueue, sendPaymentLinkQueue } from "./link-jobs.ts";
import { mintPaymentLink } from "./mint-payment-link.ts";
import { PAYMENT_LINK_CHANNEL } from "./payment-link-channel.ts";
import { sendPaymentLink } from "./send-payment-link.ts";

const url = await flowsDatabaseUrl();
const server = await openDatabase(url);
const worker = await openDatabase(url, { works: true });

test("a process that requests a link gets a signal when another process mints the link and sends it", async () => {
  const { deps, mails, whatsapp, visitedCase, request, link } = await linkStage(server, {
    lender: { whatsappTemplate: null },
  });
  const atWork = { ...deps, database: worker };
  await worker.jobs.work(mintPaymentLinkQueue, { concurrency: 2 }, ({ data }) => mintPaymentLink(atWork, data));
  await worker.jobs.work(sendPaymentLinkQueue, { concurrency: 2 }, (job) => sendPaymentLink(atWork, job));
  worker.signals.listen();
  server.signals.listen();
  const seen: string[] = [];
  server.signals.on(PAYMENT_LINK_CHANNEL, (id) => seen.push(id));

  const { visitId } = await visitedCase();
  const requested = await request(visitId);
  await mails.waitForMail(({ to }) => to.includes("ravi@example.com"));
  const [message] = await whatsapp.waitForMessages((messages) => messages.length > 0);
  expect(message).toMatchObject({ template: "payment_link" });
  await expect.poll(async () => (await link(requested)).status).toBe("sent");
  await expect.poll(() => seen).toContain(requested.id);
  await worker.jobs.stop(60_000);
});

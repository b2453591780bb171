import { newId, transaction } from "@collections/database";
import { lenderByCode } from "@collections/lenders";
import { currency } from "@collections/money";
import { recordUnavailable, requestLink } from "@collections/payment-links";
import { expect, test } from "vitest";
import { commandsInProcess } from "../fixtures/commands.ts";
import { aLender, startTestService } from "../fixtures/fixture.ts";

const DETAIL = "Our own DNS server did not answer (ECONNREFUSED).";

test("`doctor` reports mint calls that our own DNS has failed for a minute", async () => {
  const service = await startTestService({ hasWorker: false });
  const cli = commandsInProcess({ DATABASE_URL: service.databaseUrl });
  const [lender, other] = [await aLender(service), await aLender(service)];
  const em = service.app.database.em();
  const { id: lenderId } = (await lenderByCode(em, lender.code))!;
  const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000);
  for (const minutes of [5, 3]) {
    const [caseId, visitId, fieldPartnerId] = [newId(), newId(), newId()];
    const request = { lenderId, caseId, visitId, fieldPartnerId, sourceLoanNumber: "LN-1" };
    await transaction(em, async (tx) => {
      const link = await requestLink(
        tx,
        { ...request, amountMinor: 250_000n, currency: currency("INR") },
        minutesAgo(minutes),
      );
      await recordUnavailable(tx, link, { unavailable: "dns", detail: DETAIL, ownFault: true }, minutesAgo(minutes));
    });
  }
  const problem = {
    severity: "fault",
    code: "OWN_NETWORK_FAILS",
    lenderCode: lender.code,
    count: 2,
    detail: expect.stringMatching(
      /^Mint calls have failed on our own side since .+: 2\. .+\(ECONNREFUSED\)\.$/,
    ) as string,
    remedy: expect.stringContaining("request these links again") as string,
  };
  const { code, stdout } = await cli("doctor", "--json");
  expect({ code, problems: (JSON.parse(stdout) as { problems: unknown[] }).problems }).toMatchObject({
    code: 1,
    problems: [problem],
  });
  expect(await cli("doctor", "--lender", other.code)).toMatchObject({ code: 0 });
});

import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { commandsInProcess } from "../fixtures/commands.ts";
import { startTestService } from "../fixtures/fixture.ts";
import { AppClient } from "../fixtures/graphql-client.ts";
import { type ServiceProcess, startProcess } from "../fixtures/processes.ts";
import { startSmsGateway } from "../fixtures/sms-gateway.ts";

const gateway = await startSmsGateway();

test("a sandbox logs the one-time password, but a production environment logs no one-time password, token or phone", async () => {
  const { databaseUrl } = await startTestService({ hasWorker: false });
  const settings = { DATABASE_URL: databaseUrl, LOG_LEVEL: "trace", ROLE: "all" };
  const phone = "+919710000001";
  await commandsInProcess(settings).json("field-partner", "create", "--name", "Asha Rao", "--phone", phone);
  const sandbox = await startProcess(settings);
  const shown = await signInBy(sandbox, phone, async () => {
    for (;;) {
      const code = /sign-in code (\d{6})/.exec(sandbox.log())?.[1];
      if (code !== undefined) return code;
      await sleep(20);
    }
  });
  sandbox.send("SIGTERM");
  await sandbox.ended;
  expect(sandbox.log()).not.toMatch(new RegExp(`${phone.slice(1)}|${shown.accessToken}|${shown.refreshToken}`));
  const production = await startProcess({
    ...settings,
    ENVIRONMENT: "live",
    OTP_SMS_URL: gateway.url,
    OTP_SMS_HEADER: "Authorization: Key x",
  });
  const { code, ...tokens } = await signInBy(production, phone, async (otpId) => (await gateway.next(otpId)).code!);
  await new AppClient(production.url, tokens.accessToken).ask("{ viewer { id } }");
  production.send("SIGTERM");
  await production.ended;
  expect(production.log()).toContain("answered");
  expect(production.log()).not.toMatch(new RegExp(`${phone.slice(1)}|${tokens.accessToken}|${tokens.refreshToken}`));
  expect(production.log()).not.toMatch(new RegExp(`\\b${code}\\b`));
});

async function signInBy(at: ServiceProcess, phone: string, codeFor: (otpId: string) => Promise<string>) {
  const app = new AppClient(at.url);
  const { otpId } = (await app.mutate("requestOtp", { phone }, "otpId")) as { otpId: string };
  const code = await codeFor(otpId);
  const { tokens } = await app.mutate("verifyOtp", { otpId, code }, "tokens { accessToken refreshToken }");
  return { ...(tokens as { accessToken: string; refreshToken: string }), code };
}

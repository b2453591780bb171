import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterFile } from "@collections/testing";
import { expect, test } from "vitest";
import { AppClient } from "../fixtures/graphql-client.ts";

const DEMO = fileURLToPath(new URL("../../demo/app.ts", import.meta.url));
/** A database of its own and eight commands of the operator, on a machine that is busy with other tests. */
const TIMEOUT_MS = 300_000;

test(
  "pnpm demo:app says where the app is and how to sign in, shows the code, and ends with Ctrl-C",
  async () => {
    const demo = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", DEMO], { stdio: "pipe" });
    const ended = once(demo, "close");
    afterFile(() => void demo.kill("SIGKILL"));
    let said = "";
    let hasEnded = false;
    void ended.then(() => (hasEnded = true));
    for (const stream of [demo.stdout, demo.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => (said += text));
    }
    const told = (pattern: RegExp) =>
      expect.poll(() => (hasEnded ? said : pattern.exec(said)?.[1]), { timeout: 0.8 * TIMEOUT_MS });
    await told(/(Ctrl-C)/).toBe("Ctrl-C");
    const url = /at +(http:\S+)\/app$/m.exec(said)![1]!;
    const phone = /phone +(\+\d+)/.exec(said)![1]!;
    const accessToken = /token +(fpt_\S+)/.exec(said)![1]!;

    expect((await fetch(`${url}/app`)).status).toBe(200);
    const { data } = await new AppClient(url, accessToken).ask("{ cases { edges { node { lender { code } } } } }");
    const codes = data!["cases"].edges.map(({ node }: { node: { lender: { code: string } } }) => node.lender.code);
    expect(codes.toSorted()).toEqual(["ACME", "ACME", "ACME", "BETA"]);

    const stranger = new AppClient(url);
    const { otpId } = await stranger.mutate("requestOtp", { phone }, "otpId");
    await told(/Code to sign in: (\d{6})/).toMatch(/^\d{6}$/);
    const code = /Code to sign in: (\d{6})/.exec(said)![1];
    expect(await stranger.mutate("verifyOtp", { otpId, code }, "tokens { accessToken }")).toMatchObject({
      __typename: "VerifyOtpPayload",
    });

    demo.kill("SIGINT");
    expect(await ended).toEqual([0, null]);
  },
  TIMEOUT_MS,
);

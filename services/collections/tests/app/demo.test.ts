import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterFile } from "@collections/testing";
import { expect, test } from "vitest";
import { AppClient } from "../fixtures/graphql-client.ts";

const DEMO = fileURLToPath(new URL("../../demo/app.ts", import.meta.url));
/** A timeout that is long enough for a new database and eight operator commands on a busy machine. */
const TIMEOUT_MS = 300_000;

test(
  "pnpm demo:app prints the app's URL and how to sign in, shows the one-time password, and stops on Ctrl-C",
  async () => {
    const demo = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", DEMO], { stdio: "pipe" });
    const ended = once(demo, "close");
    afterFile(() => void demo.kill("SIGKILL"));
    let output = "";
    let hasEnded = false;
    void ended.then(() => (hasEnded = true));
    for (const stream of [demo.stdout, demo.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => (output += text));
    }
    const expectOutput = (pattern: RegExp) =>
      expect.poll(() => (hasEnded ? output : pattern.exec(output)?.[1]), { timeout: 0.8 * TIMEOUT_MS });
    await expectOutput(/(Ctrl-C)/).toBe("Ctrl-C");
    const url = /at +(http:\S+)\/app$/m.exec(output)![1]!;
    const phone = /phone +(\+\d+)/.exec(output)![1]!;
    const accessToken = /token +(fpt_\S+)/.exec(output)![1]!;

    expect((await fetch(`${url}/app`)).status).toBe(200);
    const { data } = await new AppClient(url, accessToken).ask("{ cases { edges { node { lender { code } } } } }");
    const codes = data!["cases"].edges.map(({ node }: { node: { lender: { code: string } } }) => node.lender.code);
    expect(codes.toSorted()).toEqual(["ACME", "ACME", "ACME", "BETA"]);

    const stranger = new AppClient(url);
    const { otpId } = await stranger.mutate("requestOtp", { phone }, "otpId");
    await expectOutput(/Code to sign in: (\d{6})/).toMatch(/^\d{6}$/);
    const code = /Code to sign in: (\d{6})/.exec(output)![1];
    expect(await stranger.mutate("verifyOtp", { otpId, code }, "tokens { accessToken }")).toMatchObject({
      __typename: "VerifyOtpPayload",
    });

    demo.kill("SIGINT");
    expect(await ended).toEqual([0, null]);
  },
  TIMEOUT_MS,
);

import { emptyDatabase } from "@collections/testing";
import { expect, test } from "vitest";
import { startProcess } from "../fixtures/processes.ts";

test("the link that a sandbox logs signs in to the console", async () => {
  const service = await startProcess({ DATABASE_URL: (await emptyDatabase()).url, LOG_LEVEL: "info" });
  await expect.poll(() => service.log()).toContain("/console/sign-in/");
  const url = /"(http:[^"]+\/console\/sign-in\/(opl_[^"]+))"/.exec(service.log())!;
  expect(url[1]).toBe(`${service.url}/console/sign-in/${url[2]}`);
  const body = new URLSearchParams({ link: url[2]! });
  const headers = { Origin: service.url };
  const answer = await fetch(`${service.url}/console/sign-in`, { method: "POST", body, headers, redirect: "manual" });
  expect({ status: answer.status, to: answer.headers.get("location") }).toEqual({ status: 303, to: "/console" });
});

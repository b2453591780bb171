import { directUrl, emptyDatabase } from "@collections/testing";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { type Child, startChild } from "../load/child.ts";
import { startNaiveSender } from "../webhooks/naive-sender.ts";
import type { Callbacks, ReceiverQuestion } from "../webhooks/receiver.ts";
import type { Sender } from "../webhooks/sender.ts";
import { drain, gather } from "../webhooks/throughput.ts";
import { BODY, type EventProgram, startNaiveEvents, startOurEvents } from "./event-program.ts";
import { startPackageSender } from "./package-sender.ts";

const EVENTS = 20;
let receiver: Child;
let callbacks: Callbacks;

beforeAll(async () => {
  receiver = startChild(new URL("../webhooks/receiver.ts", import.meta.url));
  callbacks = await receiver.ask<Callbacks>({ ask: "callbacks" } satisfies ReceiverQuestion);
  return () => receiver.stop();
});

const emptyUrl = async () => directUrl((await emptyDatabase()).url);

test.each<[string, (url: string, urls: Callbacks) => Promise<EventProgram>]>([
  ["@collections/webhooks", startOurEvents],
  ["pg-boss by hand", startNaiveEvents],
])("a host with %s commits each change with one event", async (_, start) => {
  const program = await start(await emptyUrl(), callbacks);
  onTestFinished(() => program.close());
  await Promise.all(Array.from({ length: EVENTS }, () => program.commit("prompt")));
  expect(await program.counts()).toEqual({ changes: EVENTS, events: EVENTS });
});

test.each<[string, (url: string) => Promise<Sender>]>([
  ["@collections/webhooks", (url) => startPackageSender(url, callbacks)],
  ["pg-boss by hand", (databaseUrl) => startNaiveSender({ databaseUrl, bodies: [BODY], callbacks })],
])("the worker of %s delivers a backlog", async (_, start) => {
  const sender = await start(await emptyUrl());
  onTestFinished(() => sender.close());
  await gather(sender, EVENTS);
  const { perSecond } = await drain({ events: EVENTS, receiver, postgresPids: [] }, sender);
  expect(perSecond).toBeGreaterThan(0);
  expect(
    Object.keys(await receiver.ask<object>({ ask: "arrivals", expected: EVENTS } satisfies ReceiverQuestion)),
  ).toHaveLength(EVENTS);
});

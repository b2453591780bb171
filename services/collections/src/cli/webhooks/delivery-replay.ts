import { setTimeout as wait } from "node:timers/promises";
import { newId, parsePublicId, publicId, transaction } from "@collections/database";
import { type Lender, listLenders, recordAct } from "@collections/lenders";
import {
  cancelReplay,
  DEFAULT_REPLAY_RATE,
  listReplays,
  MAX_REPLAY_RATE,
  previewReplay,
  type Replay,
  type ReplayableState,
  replayById,
  replayDelivery,
  type ReplayFilter,
  startReplay,
} from "@collections/webhooks";
import { type Command, InvalidArgumentError, Option } from "commander";
import { momentText } from "../terminal/local-time.ts";
import { deliveryNamed } from "./delivery-show.ts";
import { type LocalMoment, readCount, readMoment, readReason } from "../terminal/read-options.ts";
import { formatOf, type PageOptions, printPage, withPageOptions } from "../terminal/page-options.ts";
import { EXIT, notFound, Refusal } from "../terminal/refusal.ts";
import { endProgress, showProgress, tell } from "../terminal/terminal.ts";
import { answer, idOf, lenderNamed, type Operator, withDatabase } from "../terminal/with-database.ts";
import { counted } from "../../desk/counted.ts";

const STATES = ["parked", "delivered"] as const satisfies ReplayableState[];
const POLL_EVERY_MS = 500;
/** After this time without progress, a message asks whether a worker is running. */
const STALLED_AFTER_MS = 15_000;

interface ReplayOptions {
  lender?: string;
  loan?: string;
  kind?: string;
  state?: ReplayableState;
  since?: LocalMoment;
  until?: LocalMoment;
  rate?: number;
  dryRun?: true;
  wait?: true;
  reason?: string;
}

interface ReplayListOptions extends PageOptions<string> {
  lender: string;
}

/** Adds the commands `delivery replay`, `delivery replays` and `delivery cancel-replay`. */
export function addReplayCommands(delivery: Command): void {
  delivery
    .command("replay")
    .argument("[event-id]", "the event to send again; by default all events that match the options")
    .option("--lender <code>", "events of this lender")
    .option("--loan <loan>", "only events of this loan")
    .option("--kind <kind>", "only events of this kind, such as payment.collected")
    .addOption(new Option("--state <state>", "only events in this state; parked by default").choices([...STATES]))
    .option(
      "--since <moment>",
      'only events created at this time or later, such as 09:00, "2026-11-20 18:00" or 24h (24 hours ago)',
      readMoment,
    )
    .option("--until <moment>", "only events created before this time", readMoment)
    .option("--rate <count>", `events per second; ${DEFAULT_REPLAY_RATE} by default`, readCount(1, MAX_REPLAY_RATE))
    .option("--dry-run", "only count the events")
    .option("--wait", "show the progress until the replay has ended")
    .option("--reason <text>", "the reason, for the audit log; required without --dry-run", readReason)
    .description("Send events again, with the same ids and bytes, marked as replays.")
    .addHelpText(
      "after",
      `
Workers send the events, so the replay continues if this command is interrupted.

Examples:
  pnpm collections delivery replay evt_0192… --reason "asked by their CTO"
  pnpm collections delivery replay --lender ACME --since 24h --dry-run
  pnpm collections delivery replay --lender ACME --since 24h --rate 20 --wait --reason "their outage is over"`,
    )
    .action((eventId: string | undefined, options: ReplayOptions) => replay(eventId, options));
  const listCommand = delivery
    .command("replays")
    .requiredOption("--lender <code>", "the lender of the replays")
    .description("List the replays of a lender with their progress, the newest first.");
  withPageOptions(listCommand, readReplayId)
    .addHelpText("after", "\nExample:\n  pnpm collections delivery replays --lender ACME")
    .action((options: ReplayListOptions) => list(options));
  delivery
    .command("cancel-replay")
    .argument("<replay-id>", "replay_…")
    .requiredOption("--reason <text>", "the reason, for the audit log", readReason)
    .description("End a replay. Events that were not sent yet stay as they are.")
    .addHelpText("after", '\nExample:\n  pnpm collections delivery cancel-replay replay_0192… --reason "wrong lender"')
    .action((id: string, { reason }: { reason: string }) => withDatabase((operator) => cancel(operator, id, reason)));
}

async function replay(eventId: string | undefined, options: ReplayOptions): Promise<void> {
  const { lender: code, dryRun = false, reason } = options;
  const { loan, kind, state, since, until } = options;
  const narrows = [code, loan, kind, state, since, until, options.rate, options.wait].some((one) => one !== undefined);
  if (eventId === undefined && code === undefined) throw notUnderstood("Name an event, or a lender by --lender.");
  if (eventId !== undefined && narrows)
    throw notUnderstood("An event id cannot be combined with other options: remove them.");
  if (dryRun && options.wait) throw notUnderstood("--wait cannot be combined with --dry-run.");
  if (!dryRun && reason === undefined)
    throw notUnderstood("Give a --reason, or add --dry-run to only count the events.");
  await withDatabase(async (operator) => {
    if (eventId !== undefined) return replayOne(operator, eventId, { dryRun, reason });
    const lender = await lenderNamed(operator.em(), code!);
    const [createdFrom, createdTo] = [since?.(lender.timeZone), until?.(lender.timeZone)];
    if (createdFrom && createdTo && createdFrom >= createdTo) throw notUnderstood("--until has to be after --since.");
    const filter = { loan, kind, states: state && [state], createdFrom, createdTo };
    if (dryRun) return preview(operator, lender, filter);
    return replayMany(operator, lender, filter, options);
  });
}

async function replayOne(
  { em }: Operator,
  given: string,
  { dryRun, reason }: { dryRun: boolean; reason: string | undefined },
): Promise<void> {
  const { lender, delivery } = await deliveryNamed(em, given);
  const eventId = publicId("evt", delivery.eventId);
  const shown = { eventId, lenderCode: lender.code, dryRun, stateBefore: delivery.state };
  const isSettled = delivery.state === "delivered" || delivery.state === "parked";
  if (dryRun) {
    const does = isSettled ? "would be sent again" : "will be sent without a replay";
    return answer({ ...shown, count: isSettled ? 1 : 0 }, `${eventId} is ${delivery.state}: it ${does}.`);
  }
  const replayed = await transaction(em(), async (tx) => {
    const data = { eventId, kind: delivery.kind, loan: delivery.stream, stateBefore: delivery.state };
    recordAct(tx, { lenderId: lender.id, act: "delivery.replayed", reason, data });
    return replayDelivery(tx, lender.id, delivery.eventId);
  });
  if (!replayed) throw notFound("event", given);
  answer({ ...shown, state: replayed.state }, `${eventId} was ${delivery.state} and is ${replayed.state} now.`);
}

async function preview({ em }: Operator, lender: Lender, filter: ReplayFilter): Promise<void> {
  const count = await previewReplay(em(), lender.id, filter);
  answer(
    { lenderCode: lender.code, dryRun: true, count },
    `${counted(count, "event")} of ${lender.code} would be sent again. Nothing was changed.`,
  );
}

async function replayMany(
  operator: Operator,
  lender: Lender,
  filter: ReplayFilter,
  { rate, wait: waits, reason }: { rate?: number; wait?: true; reason?: string },
): Promise<void> {
  const { em } = operator;
  const id = newId();
  const started = await transaction(em(), async (tx) => {
    const running = await startReplay(tx, lender.id, filter, { id, ratePerSecond: rate, requestedBy: "operator" });
    const data = { replayId: publicId("replay", id), ...filter, count: running.total, rate: running.ratePerSecond };
    if (running.id === id) recordAct(tx, { lenderId: lender.id, act: "replay.started", reason, data });
    return running;
  });
  const replayId = publicId("replay", started.id);
  const sends = `sends ${counted(started.total, "event")} of ${lender.code} again, ${started.ratePerSecond} a second`;
  const text = started.id === id ? `${replayId} ${sends}.` : `${replayId} is already running: it ${sends}.`;
  if (!waits) return answer(shownReplay(started, lender.code), text);
  tell(text);
  const ended = await untilEnded(operator, started);
  answer(
    shownReplay(ended, lender.code),
    `${replayId} is ${ended.state}: ${ended.done} of ${counted(ended.total, "event")}.`,
  );
  if (ended.state === "cancelled") process.exitCode = EXIT.refused;
}

/** Waits until the replay has ended, and shows the progress on stderr. */
async function untilEnded({ em }: Operator, { tenantId: lenderId, id }: Replay): Promise<Replay> {
  let [done, movedAt, hasWarned] = [0, Date.now(), false];
  for (;;) {
    const now = (await replayById(em(), lenderId, id))!;
    showProgress(`${now.done} of ${now.total}`);
    if (now.state !== "running") {
      endProgress();
      return now;
    }
    if (now.done > done) [done, movedAt] = [now.done, Date.now()];
    if (!hasWarned && Date.now() - movedAt > STALLED_AFTER_MS) {
      hasWarned = true;
      tell("The replay makes no progress: is a worker running? See collections doctor. Ctrl-C ends only this command.");
    }
    await wait(POLL_EVERY_MS);
  }
}

async function list({ lender: code, limit, cursor, csv }: ReplayListOptions): Promise<void> {
  const format = formatOf({ csv });
  await withDatabase(async ({ em }) => {
    const lender = await lenderNamed(em(), code);
    const found = await listReplays(em(), lender.id, { after: cursor, limit: limit + 1 });
    const replays = found.slice(0, limit);
    printPage(format, {
      name: "replays",
      items: replays.map((one) => shownReplay(one, lender.code)),
      nextCursor: found.length > limit ? publicId("replay", replays.at(-1)!.id) : null,
      fields: [
        ...(["replayId", "lenderCode", "state", "count", "done", "ratePerSecond", "filter", "requestedBy"] as const),
        ...(["createdAt", "finishedAt"] as const),
      ],
      columns: {
        REPLAY: ({ replayId }) => replayId,
        STATE: ({ state }) => state,
        DONE: ({ done, count }) => `${done} of ${count}`,
        "A SECOND": ({ ratePerSecond }) => String(ratePerSecond),
        EVENTS: ({ filter: { states, kind, loan } }) => [states.join("+"), kind, loan].filter(Boolean).join(" "),
        CREATED: ({ createdAt }) => momentText(createdAt, lender.timeZone),
        BY: ({ requestedBy }) => requestedBy,
      },
      none: "No replays.",
      about: { lenderCode: lender.code },
    });
  });
}

async function cancel({ em }: Operator, given: string, reason: string): Promise<void> {
  const id = idOf("replay", "replay", given);
  for (const lender of await listLenders(em())) {
    const before = await replayById(em(), lender.id, id);
    if (!before) continue;
    const after = await transaction(em(), async (tx) => {
      const cancelled = (await cancelReplay(tx, lender.id, id))!;
      const data = { replayId: publicId("replay", id), done: cancelled.done, count: cancelled.total };
      if (before.state === "running" && cancelled.state === "cancelled") {
        recordAct(tx, { lenderId: lender.id, act: "replay.cancelled", reason, data });
      }
      return cancelled;
    });
    const words = `${publicId("replay", id)} ${before.state === "running" ? "is" : "was already"} ${after.state}`;
    return answer(shownReplay(after, lender.code), `${words}: ${after.done} of ${counted(after.total, "event")}.`);
  }
  throw notFound("replay", given);
}

function shownReplay(replay: Replay, lenderCode: string) {
  const {
    id,
    state,
    total,
    done,
    ratePerSecond,
    states,
    stream: loan,
    kind,
    createdFrom,
    createdTo,
    requestedBy,
  } = replay;
  return {
    replayId: publicId("replay", id),
    lenderCode,
    state,
    count: total,
    done,
    ratePerSecond,
    filter: { states, loan: loan ?? null, kind: kind ?? null, since: createdFrom ?? null, until: createdTo ?? null },
    requestedBy,
    createdAt: replay.createdAt,
    finishedAt: replay.finishedAt ?? null,
  };
}

function notUnderstood(detail: string): Refusal {
  return new Refusal("NOT_UNDERSTOOD", detail, EXIT.notUnderstood);
}

/** Reads a cursor of `delivery replays`: the id of the last replay of the previous page. */
function readReplayId(text: string): string {
  const id = parsePublicId("replay", text);
  if (id !== undefined) return id;
  throw new InvalidArgumentError("Expected the nextCursor of a page.");
}

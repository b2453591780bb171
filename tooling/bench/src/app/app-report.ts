import type { AppReport, LinkFigures } from "./app.ts";
import type { ListFigures, ListSide } from "./case-list.ts";
import type { HostileFigures } from "./hostile.ts";
import { atMost, type Line, ratioLine } from "../figures/line.ts";
import type { AppPlan } from "../plan.ts";
import type { Spread } from "../figures/statistics.ts";
import { busyText, milliseconds, rateText, ratioText, table, whole } from "../figures/text-table.ts";

const LIST_COLUMNS = "clients,service/s,p50 ms,p99 ms,CPU µs,bare/s,p50 ms,p99 ms,CPU µs,ratio,others";
const HOSTILE_COLUMNS = "caller,service ms,registered only ms,ratio";
/** The processor time, in milliseconds, that a GraphQL query without a valid token may cost at most. */
const HOSTILE_AIM_MS = 3;
const LINK_COLUMNS = "at once,heard by,p50 ms,p99 ms,others";

/** The report's tables as text. */
export function appText({ rounds, links: { mintMs } }: AppPlan, { list, links, hostile }: AppReport): string {
  return [
    `The list of 20 cases of ${whole(list.cases)}, compared with the same ${list.statements} SQL statements by plain pg` +
      ` and a bare GraphQL Yoga server with a fixed answer; ${rounds} rounds in turn`,
    table(LIST_COLUMNS, list.figures.map(listRow)),
    "",
    `From the request for a link until the app knows that the link is minted, minus the lender's own ${mintMs} ms;` +
      ` ${rounds} rounds`,
    table(LINK_COLUMNS, links.map(linkRow)),
    "",
    "Processor time of a GraphQL query of 4 KB that is expensive to validate, compared with a service that accepts only" +
      " registered operations",
    table(HOSTILE_COLUMNS, hostile.map(hostileRow)),
  ].join("\n");
}

function listRow({ clients, service, rival, ratio, othersBusy }: ListFigures): string[] {
  return [String(clients), ...sideCells(service), ...sideCells(rival), ratioText(ratio), busyText(othersBusy)];
}

function sideCells({ perSecond, p50Ms, p99Ms, processorUs }: ListSide): string[] {
  const cpu = processorUs === undefined ? "" : whole(processorUs);
  return [rateText(perSecond), p50Ms.toFixed(1), p99Ms.toFixed(1), cpu];
}

function linkRow({ clients, hearsBy, p50Ms, p99Ms, othersBusy }: LinkFigures): string[] {
  return [String(clients), hearsBy, milliseconds(p50Ms), milliseconds(p99Ms), busyText(othersBusy)];
}

function hostileRow({ caller, service, only, ratio }: HostileFigures): string[] {
  return [caller, inMs(service), inMs(only), ratioText(ratio)];
}

function inMs({ median, min, max }: Spread): string {
  return `${median.toFixed(2)} (${min.toFixed(2)}–${max.toFixed(2)})`;
}

/**
 * Returns the report's lines for the table of all subjects. The time until a link is minted does not include the
 * lender's own time.
 */
export function appLines({ rounds, links: { mintMs } }: AppPlan, { list, links, hostile }: AppReport): Line[] {
  return [
    ...list.figures.map(({ clients, service, rival, ratio }) =>
      ratioLine({
        figure: `list of 20 cases, ${clients} clients`,
        ours: `${whole(service.perSecond.median)}/s`,
        beside: `its ${list.statements} statements and a bare yoga: ${whole(rival.perSecond.median)}/s`,
        ratio,
        rounds,
      }),
    ),
    ...links.map(({ clients, hearsBy, p50Ms, p99Ms }) => ({
      figure: `request to minted link by ${hearsBy}, ${clients} at once`,
      ours: `${milliseconds(p50Ms)} ms, p99 ${p99Ms.median.toFixed(1)} ms`,
      beside: `without the lender's ${mintMs} ms`,
      ratio: "",
      rounds,
    })),
    ...hostile.map(({ caller, service, only, ratio }) => ({
      figure: `processor time of an expensive document, ${caller}`,
      ours: `${inMs(service)} ms`,
      beside: `registered operations only: ${only.median.toFixed(2)} ms`,
      ratio: ratioText(ratio),
      rounds,
      ...(caller !== "a valid token" && { aim: atMost(HOSTILE_AIM_MS, service, " ms") }),
    })),
  ];
}

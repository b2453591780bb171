import { type Line, ratioLine } from "./line.ts";
import type { SigningPlan } from "./plan.ts";
import type { SigningReport } from "./signing.ts";
import type { Side } from "./signing-sides.ts";
import { busyText, microseconds, rateText, ratioText, table, whole } from "./text-table.ts";

const COLUMNS = "verify or sign,a second,CPU µs each,bare ÷ it in CPU";

const NAMES: Record<Side, string> = {
  ours: "packages/signing",
  bare: "createHmac alone",
  standardwebhooks: "standardwebhooks",
  stripe: "stripe",
};

/** One table for people. */
export function signingText({ rounds }: SigningPlan, { figures, othersBusy }: SigningReport): string {
  const rows = figures.map(({ act, bodyBytes, side, perSecond, processorUs, toBare }) => [
    `${act} ${whole(bodyBytes)} B, ${NAMES[side]}`,
    rateText(perSecond),
    microseconds(processorUs),
    side === "bare" ? "" : ratioText(toBare),
  ]);
  return [
    `Signatures on one thread; ${rounds} rounds of all in turn; others ${busyText(othersBusy)}`,
    table(COLUMNS, rows, "left"),
  ].join("\n");
}

/** Ours beside the HMAC alone: 1 would be as fast as it. */
export function signingLines({ rounds }: SigningPlan, { figures }: SigningReport): Line[] {
  return figures
    .filter(({ side }) => side === "ours")
    .map(({ act, bodyBytes, perSecond, processorUs, toBare }) => {
      const bare = figures.find(
        (other) => other.side === "bare" && other.act === act && other.bodyBytes === bodyBytes,
      )!;
      return ratioLine({
        figure: `${act} ${whole(bodyBytes)} B`,
        ours: `${whole(perSecond.median)}/s, ${processorUs.median.toFixed(1)} µs`,
        beside: `createHmac alone: ${bare.processorUs.median.toFixed(1)} µs`,
        ratio: toBare,
        rounds,
      });
    });
}

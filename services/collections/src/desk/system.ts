import { onOneLine } from "@collections/flows";
import type { App } from "../app.ts";
import { keepReading } from "../metrics/kept-reading.ts";
import { RELEASE } from "../settings/release.ts";
import { doctorReport } from "./doctor.ts";
import { withLocalTimes } from "./words/local-times.ts";
import { onPages } from "./words/remedy-words.ts";

/**
 * The report takes several queries for each lender, so all pages share it. If it is older than a minute, a page shows it
 * at once, and a new one is made for the next page.
 */
const KEPT = { maxAgeMs: 60_000, patienceMs: 2_000, uselessAfterMs: 600_000, cachedFirst: true };

/** Returns the function that reads the page System: the versions, and the latest report of doctor. */
export function systemReading({ database, config, vault, log }: Pick<App, "database" | "config" | "vault" | "log">) {
  const em = () => database.em();
  const onError = (error: unknown) => log.warn({ error }, "the report of doctor for the console could not be read");
  const read = keepReading(() => doctorReport({ em, config, vault }, undefined, () => {}), { ...KEPT, onError });
  return async () => {
    const report = await read();
    return {
      versions: [
        ["Service", RELEASE ? `${RELEASE.version}, ${RELEASE.commit.slice(0, 12)}` : "sources, without a release"],
        ["Node.js", process.versions.node],
        ["Environment", config.environment],
      ] as const,
      report: report && {
        at: report.at.toISOString(),
        isComplete: report.isComplete,
        problems: report.problems
          .toSorted((one, other) => order(one) - order(other))
          .map(({ severity, code, lenderCode, detail, remedy }) => ({
            severity,
            code,
            lenderCode,
            detail: withLocalTimes(onOneLine(detail), report.timeZones.get(lenderCode ?? "") ?? "UTC"),
            remedy: onPages(remedy),
          })),
        queues: report.tenants.map(({ tenantId, url, state, published, delivered, waiting, retrying, parked }) => ({
          lenderCode: report.codes.get(tenantId) ?? tenantId,
          state: url === null ? "no callback" : state,
          published,
          delivered,
          waiting,
          retrying,
          parked,
        })),
      },
    };
  };
}

function order({ severity }: { readonly severity: "fault" | "warning" }): number {
  return severity === "fault" ? 0 : 1;
}

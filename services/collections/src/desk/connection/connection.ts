import type { EntityManager } from "@collections/entities";
import { type ApiKey, keysOf, type Lender } from "@collections/lenders";
import { timeIn } from "@collections/local-time";
import { type EndpointStatus, endpointOf } from "@collections/webhooks";
import { chosenLender } from "../chosen-lender.ts";
import type { KeyOrder } from "./keys.ts";

const DAY_MS = 86_400_000;

/** Returns the codes of some lenders, and the callback and the keys of one of them: of the lender `code`, or of the first. */
export async function connectionOfChosen(
  em: EntityManager,
  given: readonly Lender[],
  { code, now }: { readonly code: string | undefined; readonly now: Date },
) {
  const { lenderCodes, lender } = chosenLender(given, code);
  return { lenderCodes, connection: lender && (await connectionOf(em, lender, now)) };
}

async function connectionOf(em: EntityManager, lender: Lender, now: Date) {
  const local = (at: Date) => timeIn(lender.timeZone, at);
  const endpoint = await endpointOf(em, lender.id);
  const keys = await keysOf(em, lender.id);
  return {
    lenderCode: lender.code,
    timeZone: lender.timeZone,
    endpoint: endpoint ? endpointFacts(endpoint, local) : ([["url", "None is registered"]] as [string, string][]),
    hasCallback: (endpoint?.url ?? null) !== null,
    isHealthy: endpoint?.state === "active" && endpoint.consecutiveFailures === 0,
    mint: {
      url: lender.mintLinkUrl,
      header: lender.hasMintAuthHeader ? "set" : "none",
    },
    technicalContacts: lender.technicalContacts,
    keys: keys.map(({ id, state, createdAt, lastUsedAt, retiresAt, signing }) => ({
      keyId: id,
      state,
      endsAt: state === "retiring" && retiresAt !== null ? local(retiresAt) : null,
      days: Math.floor((now.getTime() - createdAt.getTime()) / DAY_MS),
      lastUsedAt: lastUsedAt === null ? "never" : local(lastUsedAt),
      isSigning: signing,
      orders: ordersFor({ state, signing }),
    })),
  };
}

/** Returns the orders that the state of a key permits. */
function ordersFor({ state, signing }: Pick<ApiKey, "state" | "signing">): KeyOrder["order"][] {
  if (state === "revoked") return [];
  return state === "active" && !signing ? ["sign", "retire", "revoke"] : ["retire", "revoke"];
}

function endpointFacts(endpoint: EndpointStatus, local: (at: Date) => string): [name: string, value: string][] {
  const { url, state, consecutiveFailures, failingSince, suspendedAt, nextProbeAt, waiting, parked } = endpoint;
  const times: [string, Date | null][] = [
    ["failing since", failingSince],
    ["suspended since", suspendedAt],
    ["next probe", nextProbeAt],
  ];
  return [
    ["url", url ?? "None is registered"],
    ["state", state],
    ["failures in a row", String(consecutiveFailures)],
    ["events waiting", String(waiting)],
    ["events parked", String(parked)],
    ...times.flatMap(([name, at]): [string, string][] => (at === null ? [] : [[name, local(at)]])),
  ];
}

import { fail, type Finding } from "./check.ts";
import type { Link } from "./link.ts";
import type { StandIn } from "../stand-in/stand-in.ts";
import { isSame, readState } from "./state.ts";
import { decimalsOf } from "../stand-in/link-request.ts";

/**
 * Reports a failure if the lender shows an amount other than `amount` for a link. Reads the lender's amount from
 * `links` at the state URL. If `links` has no amount, reads it from the lender's answer. Reports nothing if neither has
 * an amount. `mend` says how to fix the failure. Throws StateError.
 */
export async function linkFaults(service: StandIn, link: Link, amount: number, mend: string): Promise<Finding[]> {
  const { linkId } = link;
  const links = await linksAtStateUrl(service);
  const entry = links?.find((one) => one?.linkId === linkId);
  if (links !== null && entry === undefined) return [fail(`The state URL does not show the link ${link.shown}.`, mend)];

  const isShown = entry?.amount !== undefined;
  const shown = entry?.amount ?? link.amount;
  if (shown === undefined || isSame(shown, amount)) return [];
  // The contract defines no amount in the answer of a mint endpoint. If the answer has an amount, accept it in minor
  // units too, because most gateways use minor units.
  if (!isShown && isSame(shown, minorOf(amount, service.settings.currency))) return [];
  return [fail(`The link ${link.shown} is for ${service.mask(JSON.stringify(shown))} instead of ${amount}.`, mend)];
}

type ShownLink = { readonly linkId?: unknown; readonly amount?: unknown } | null;

async function linksAtStateUrl({ settings, mintLoan, stateIsBroken }: StandIn): Promise<ShownLink[] | null> {
  if (settings.state === undefined || stateIsBroken) return null;
  const links = (await readState(settings, mintLoan))?.links;
  return Array.isArray(links) ? links : null;
}

function minorOf(amount: number, currency: string): number {
  return Number(amount.toFixed(decimalsOf(currency)).replace(".", ""));
}

import { parsePublicId, publicId, transaction } from "@collections/database";
import type { Tx } from "@collections/entities";
import { timeIn } from "@collections/local-time";
import {
  decideSecondPersonRequest,
  isSameOperator,
  requestSecondPerson,
  secondPersonRequest,
  type SecondPersonRequest,
  waitingSecondPersonRequests,
} from "@collections/operators";
import { needsSecondPerson, type SecondPersonLimits } from "../../settings/second-person.ts";
import type { DeskOutcome } from "../acts.ts";
import type { UploadActing } from "../files/uploads.ts";
import { changeFromDesk, type MoneyOrder, type MoneyRehearsal, rehearseChange } from "./changes.ts";
import {
  bookFromDesk,
  type BookingForm,
  type BookingOrder,
  bookingOrderOf,
  type BookingOutcome,
  rehearseBooking,
} from "./missing-payments.ts";

/** The operator who asks or decides, and the amounts above which a second person confirms. */
export interface MoneyDesk extends UploadActing {
  readonly operator: string;
  readonly limits: SecondPersonLimits | undefined;
}

/** A change that a second person has to confirm. */
export interface WaitingRequest {
  readonly kind: "waiting";
  readonly requestId: string;
}

/** Makes a change, or asks a second person for it if its amount is above the limit. */
export async function changeOrRequest(desk: MoneyDesk, order: MoneyOrder): Promise<DeskOutcome | WaitingRequest> {
  if (desk.limits === undefined) return changeFromDesk(desk, order);
  const rehearsal = await rehearseChange(desk, order);
  if (rehearsal.kind !== "possible") return rehearsal;
  if (!needsSecondPerson(desk.limits, rehearsal)) return changeFromDesk(desk, rehearsal.order);
  return requestChange(desk, rehearsal.order);
}

/** Books the missing payments of a file, or asks a second person for it if their sum is above the limit. */
export async function bookOrRequest(desk: MoneyDesk, form: BookingForm): Promise<BookingOutcome | WaitingRequest> {
  const order = await bookingOrderOf(desk, form);
  if (order.kind !== "booking") return order;
  const rehearsal = await rehearseBooking(desk, order);
  if (rehearsal.kind !== "possible") return rehearsal;
  return needsSecondPerson(desk.limits, rehearsal) ? requestChange(desk, order) : bookFromDesk(desk, order);
}

async function requestChange({ em, operator }: MoneyDesk, order: MoneyOrder | BookingOrder): Promise<WaitingRequest> {
  const asked = { requestedBy: operator, change: { ...order } };
  const { id } = await transaction(em(), (tx) => requestSecondPerson(tx, asked, new Date()));
  return { kind: "waiting", requestId: publicId("req", id) };
}

function rehearse(
  desk: MoneyDesk,
  order: MoneyOrder | BookingOrder,
): Promise<Pick<MoneyRehearsal, "kind" | "facts"> | Exclude<DeskOutcome, { kind: "done" }>> {
  return order.kind === "booking" ? rehearseBooking(desk, order) : rehearseChange(desk, order);
}

/** Returns the requests that wait for a second person. */
export async function waitingRequests(desk: MoneyDesk) {
  const waiting = await waitingSecondPersonRequests(desk.em(), new Date());
  if (waiting.length === 0) return [];
  const timeZones = await timeZonesOf(desk);
  return waiting.map((one) => shownRequest(one, desk, timeZones));
}

/** Returns the time zones of the lenders by code. */
async function timeZonesOf({ lenders }: MoneyDesk): Promise<ReadonlyMap<string, string>> {
  return new Map((await lenders()).map(({ code, timeZone }) => [code, timeZone]));
}

/** Returns a request, with the effects that its change would have now if it waits. Undefined for an unknown id. */
export async function requestNamed(desk: MoneyDesk, given: string) {
  const id = parsePublicId("req", given);
  const found = id === undefined ? undefined : await secondPersonRequest(desk.em(), id);
  if (!found) return undefined;
  const shown = shownRequest(found, desk, await timeZonesOf(desk));
  return { ...shown, rehearsal: shown.state === "waiting" ? await rehearse(desk, shown.order) : undefined };
}

/**
 * Confirms the change of another operator, and makes it, in one transaction. A change that is refused is not confirmed: the
 * request waits on. A booking of missing payments begins in this transaction, and goes on in others.
 */
export async function confirmRequest(desk: MoneyDesk, given: string): Promise<DeskOutcome | BookingOutcome> {
  const found = await requestNamed(desk, given);
  if (!found) return { kind: "not_found" };
  if (found.isOwn) return refused("You have asked for this change: another operator with the role money confirms it.");
  const { rehearsal, order, requestedBy } = found;
  if (rehearsal?.kind === "refused") return rehearsal;
  const confirmation = {
    askedBy: requestedBy,
    async record(tx: Tx) {
      if (!(await decide(desk, tx, { given, isConfirmed: true }))) throw new RequestEnded();
    },
  };
  try {
    if (order.kind === "booking") return await bookFromDesk(desk, order, confirmation);
    return await changeFromDesk(desk, order, confirmation);
  } catch (error) {
    if (error instanceof RequestEnded) return ENDED;
    throw error;
  }
}

/** Declines the change of another operator, or withdraws the operator's own request. */
export async function declineRequest(desk: MoneyDesk, given: string): Promise<DeskOutcome> {
  const declined = await transaction(desk.em(), (tx) => decide(desk, tx, { given, isConfirmed: false }));
  return declined ? { kind: "done" } : ENDED;
}

async function decide(
  { operator: by }: MoneyDesk,
  tx: Tx,
  { given, isConfirmed }: { readonly given: string; readonly isConfirmed: boolean },
) {
  const id = parsePublicId("req", given);
  return id === undefined ? undefined : decideSecondPersonRequest(tx, { id, by, isConfirmed }, new Date());
}

/** Rolls back a change whose request was confirmed, declined or expired during the change. */
class RequestEnded extends Error {
  override readonly name = "RequestEnded";
}

/** Returns a request. A payout may concern several lenders, so its times are in UTC. */
function shownRequest(request: SecondPersonRequest, { operator }: MoneyDesk, timeZones: ReadonlyMap<string, string>) {
  const { id, change, requestedBy, requestedAt, expiresAt, decidedBy } = request;
  const order = change as unknown as MoneyOrder | BookingOrder;
  const timeZone = (order.kind === "payout" ? undefined : timeZones.get(order.lenderCode)) ?? "UTC";
  const local = (at: Date) => `${timeIn(timeZone, at)} ${timeZone}`;
  return {
    requestId: publicId("req", id),
    order,
    requestedBy,
    requestedAt: local(requestedAt),
    expiresAt: local(expiresAt),
    decidedBy,
    state: stateOf(request),
    isOwn: isSameOperator(requestedBy, operator),
  };
}

function stateOf({ isConfirmed, expiresAt }: SecondPersonRequest) {
  if (isConfirmed !== null) return isConfirmed ? ("confirmed" as const) : ("declined" as const);
  return expiresAt <= new Date() ? ("expired" as const) : ("waiting" as const);
}

const ENDED = refused("The request has ended: it was confirmed or declined, or it has expired.");

function refused(detail: string) {
  return { kind: "refused" as const, detail };
}

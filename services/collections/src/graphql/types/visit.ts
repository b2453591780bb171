import { cameLate, type Disposition, DISPOSITIONS, type PromiseToPay, type Visit } from "@collections/cases";
import { money } from "@collections/money";
import { builder } from "../plumbing/builder.ts";
import { viewer } from "../plumbing/context.ts";
import { MoneyRef } from "../plumbing/money.ts";

const DISPOSITION_WORDS: Record<Disposition, string> = {
  PAID_VIA_LINK: "The borrower pays with the link.",
  PAID_ELSEWHERE_CLAIMED: "The borrower says that the debt is already paid.",
  PROMISE_TO_PAY: "The borrower promises to pay an amount by a certain day.",
  CALLBACK_REQUESTED: "The borrower wants to be called.",
  NOT_AT_HOME: "The borrower was not there.",
  DOOR_LOCKED: "Nobody opened the door.",
  SHIFTED: "The borrower has moved to another address.",
  ADDRESS_NOT_FOUND: "The address does not exist.",
  WRONG_PERSON: "The person is not the borrower.",
  REFUSED_TO_PAY: "The borrower does not want to pay.",
  HARDSHIP: "The borrower cannot pay.",
  DISPUTE: "The borrower disputes the debt. The case is put on hold.",
  DECEASED: "The borrower has died.",
  UNSAFE: "It was not safe to stay.",
  OTHER: "Another result, which the note explains.",
};

export const DispositionRef = builder.enumType("Disposition", {
  description: "The result of a visit.",
  values: Object.fromEntries(
    DISPOSITIONS.map((disposition) => [disposition, { description: DISPOSITION_WORDS[disposition] }]),
  ) as { [Name in Disposition]: { description: string } },
});

export const VisitRef = builder.objectRef<Visit>("Visit").implement({
  description: "A field partner's visit to a borrower.",
  fields: (t) => ({
    visitId: t.expose("id", {
      type: "UUID",
      description: "The id of the visit. The field partner's app created this id.",
    }),
    isMine: t.boolean({
      description: "Whether the visit is yours.",
      resolve: ({ fieldPartnerId }, _, context) => fieldPartnerId === viewer(context).id,
    }),
    startedAt: t.expose("startedAt", {
      type: "DateTime",
      description: "When the visit began, by the phone's clock; `startReceivedAt` if `startClockWrong`.",
    }),
    startReceivedAt: t.expose("startReceivedAt", {
      type: "DateTime",
      description: "When the service received the start of the visit.",
    }),
    startCameLate: t.boolean({
      description:
        "Whether the start of the visit reached the service late, for example because the phone had no network.",
      resolve: ({ startedAt, startReceivedAt }) => cameLate(startedAt, startReceivedAt),
    }),
    startClockWrong: t.exposeBoolean("startClockWrong", {
      description: "Whether the phone's time of the start was impossible, so that nobody knows when the visit began.",
    }),
    completedAt: t.expose("completedAt", {
      type: "DateTime",
      nullable: true,
      description:
        "When the visit ended, by the phone's clock; null while the visit goes on; `completionReceivedAt` if " +
        "`completionClockWrong`.",
    }),
    completionReceivedAt: t.expose("completionReceivedAt", {
      type: "DateTime",
      nullable: true,
      description: "When the service received the end of the visit; null before that.",
    }),
    completionCameLate: t.boolean({
      description: "Whether the end of the visit reached the service late.",
      resolve: ({ completedAt, completionReceivedAt }) =>
        completedAt !== null && completionReceivedAt !== null && cameLate(completedAt, completionReceivedAt),
    }),
    completionClockWrong: t.exposeBoolean("completionClockWrong", {
      description: "Whether the phone's time of the end was impossible, so that nobody knows when the visit ended.",
    }),
    cameOutOfOrder: t.exposeBoolean("cameOutOfOrder", {
      description: "Whether the end of the visit reached the service before its start.",
    }),
    disposition: t.expose("disposition", {
      type: DispositionRef,
      nullable: true,
      description: "The result of the visit; null while the visit goes on.",
    }),
    note: t.exposeString("note", { nullable: true, description: "The note of the field partner." }),
  }),
});

export const PromiseRef = builder.objectRef<PromiseToPay>("Promise").implement({
  description: "The borrower's promise to pay an amount by a certain day.",
  fields: (t) => ({
    amount: t.field({
      type: MoneyRef,
      description: "The promised amount.",
      resolve: ({ amountMinor, currency }) => money(amountMinor, currency),
    }),
    dueOn: t.expose("dueOn", { type: "Date", description: "The last day for the payment." }),
    promisedAt: t.expose("createdAt", { type: "DateTime", description: "When the service received the promise." }),
  }),
});

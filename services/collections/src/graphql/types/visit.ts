import { cameLate, type Disposition, DISPOSITIONS, type PromiseToPay, type Visit } from "@collections/cases";
import { money } from "@collections/money";
import { builder } from "../plumbing/builder.ts";
import { viewer } from "../plumbing/context.ts";
import { MoneyRef } from "../plumbing/money.ts";

const DISPOSITION_WORDS: Record<Disposition, string> = {
  PAID_VIA_LINK: "The borrower pays by the link.",
  PAID_ELSEWHERE_CLAIMED: "The borrower says that it is paid already.",
  PROMISE_TO_PAY: "The borrower promises an amount by a day.",
  CALLBACK_REQUESTED: "The borrower wants to be called.",
  NOT_AT_HOME: "The borrower was not there.",
  DOOR_LOCKED: "Nobody opened.",
  SHIFTED: "The borrower lives elsewhere now.",
  ADDRESS_NOT_FOUND: "There is no such address.",
  WRONG_PERSON: "The person is not the borrower.",
  REFUSED_TO_PAY: "The borrower does not want to pay.",
  HARDSHIP: "The borrower cannot pay.",
  DISPUTE: "The borrower says that the debt is wrong: the case is held.",
  DECEASED: "The borrower has died.",
  UNSAFE: "It was not safe to stay.",
  OTHER: "Something else; see the note.",
};

export const DispositionRef = builder.enumType("Disposition", {
  description: "How a visit ended.",
  values: Object.fromEntries(
    DISPOSITIONS.map((disposition) => [disposition, { description: DISPOSITION_WORDS[disposition] }]),
  ) as { [Name in Disposition]: { description: string } },
});

export const VisitRef = builder.objectRef<Visit>("Visit").implement({
  description: "A visit to the borrower's door.",
  fields: (t) => ({
    visitId: t.expose("id", { type: "UUID", description: "The id that its field partner's app has made." }),
    isMine: t.boolean({
      description: "Whether it was you.",
      resolve: ({ fieldPartnerId }, _, context) => fieldPartnerId === viewer(context).id,
    }),
    startedAt: t.expose("startedAt", { type: "DateTime", description: "When it began, by the phone's clock." }),
    startReceivedAt: t.expose("startReceivedAt", {
      type: "DateTime",
      description: "When the service heard of the start.",
    }),
    startCameLate: t.boolean({
      description: "Whether the start was told of late: the phone had no network.",
      resolve: ({ startedAt, startReceivedAt }) => cameLate(startedAt, startReceivedAt),
    }),
    completedAt: t.expose("completedAt", {
      type: "DateTime",
      nullable: true,
      description: "When it ended, by the phone's clock; null while it goes on.",
    }),
    completionReceivedAt: t.expose("completionReceivedAt", {
      type: "DateTime",
      nullable: true,
      description: "When the service heard of the end.",
    }),
    completionCameLate: t.boolean({
      description: "Whether the end was told of late.",
      resolve: ({ completedAt, completionReceivedAt }) =>
        completedAt !== null && completionReceivedAt !== null && cameLate(completedAt, completionReceivedAt),
    }),
    cameOutOfOrder: t.exposeBoolean("cameOutOfOrder", {
      description: "Whether the service heard of the end before it heard of the start.",
    }),
    disposition: t.expose("disposition", {
      type: DispositionRef,
      nullable: true,
      description: "How it ended; null while it goes on.",
    }),
    note: t.exposeString("note", { nullable: true, description: "What the field partner wrote." }),
  }),
});

export const PromiseRef = builder.objectRef<PromiseToPay>("Promise").implement({
  description: "The borrower's word to pay an amount by a day.",
  fields: (t) => ({
    amount: t.field({
      type: MoneyRef,
      description: "How much.",
      resolve: ({ amountMinor, currency }) => money(amountMinor, currency),
    }),
    dueOn: t.expose("dueOn", { type: "Date", description: "By when." }),
    promisedAt: t.expose("createdAt", { type: "DateTime", description: "When the service heard of it." }),
  }),
});

import type { OwnCase } from "@collections/cases";
import { transaction } from "@collections/database";
import type { Tx } from "@collections/entities";
import { spanOf } from "@collections/earnings";
import { revealContact } from "@collections/flows";
import { notWorkable } from "../../mutation-results/blocked-words.ts";
import type { Kept, Refusal } from "../../mutation-results/refusal.ts";
import { builder } from "../plumbing/builder.ts";
import { CaseRef } from "../types/case.ts";
import { type Context, viewer } from "../plumbing/context.ts";
import { once } from "../plumbing/once.ts";
import {
  CaseNotFoundError,
  CaseNotWorkableError,
  ContactLimitReachedError,
  IdempotencyConflictError,
  refusedError,
} from "../plumbing/user-error.ts";

const NOT_FOUND: Refusal = { code: "CASE_NOT_FOUND", message: "There is no such case among your cases." };

const RevealContactInput = builder.inputType("RevealContactInput", {
  description: "The case whose borrower's contact details are requested.",
  fields: (t) => ({
    idempotencyKey: t.field({
      type: "UUID",
      required: true,
      description: "A new UUID for each new request. A repeat of the request has the same UUID.",
    }),
    caseId: t.globalID({ required: true, for: CaseRef, description: "The `id` of the case." }),
  }),
});

const ContactRef = builder.objectRef<OwnCase>("Contact").implement({
  description: "The contact details of a borrower. Show them, and do not store them.",
  fields: (t) => ({
    phone: t.exposeString("borrowerPhone", { description: "The borrower's phone number, in E.164." }),
    alternatePhones: t.exposeStringList("alternatePhones", {
      description: "Other phone numbers of the borrower, in E.164.",
    }),
    email: t.exposeString("borrowerEmail", {
      nullable: true,
      description: "The borrower's e-mail address; null if the lender sent none.",
    }),
  }),
});

const RevealContactPayload = builder.objectRef<OwnCase>("RevealContactPayload").implement({
  description: "The contact details that you may use now.",
  fields: (t) => ({
    contact: t.field({
      type: ContactRef,
      description: "The contact details of the borrower.",
      resolve: (theCase) => theCase,
    }),
  }),
});

builder.mutationField("revealContact", (t) =>
  t.field({
    type: RevealContactPayload,
    nullable: true,
    description:
      "Returns the contact details of the borrower of a workable case. Each view is recorded. You can see the " +
      "contacts of a limited number of cases a day; a case counts once a day.",
    args: { input: t.arg({ type: RevealContactInput, required: true, description: "The case of the borrower." }) },
    errors: {
      types: [CaseNotFoundError, CaseNotWorkableError, ContactLimitReachedError, IdempotencyConflictError],
      union: { description: "The contact details, or the reason why they are not shown." },
    },
    async resolve(_, { input }, context) {
      const caseId = input.caseId.id;
      let isRepeat = true;
      await once(context, "revealContact", input, (tx) => {
        isRepeat = false;
        return reveal(tx, { caseId, isRepeat }, context);
      });
      if (isRepeat) await seeAgain(caseId, context);
      const theCase = await context.reads.ownCase.load(caseId);
      if (!theCase) throw refusedError(NOT_FOUND);
      return theCase;
    },
  }),
);

/**
 * Checks whether a repeated request may still see the current contact details, and throws the refusal if it may not. A
 * repeat on a later day counts towards the limit of that day.
 */
async function seeAgain(caseId: string, context: Context): Promise<void> {
  const again = await transaction(context.reads.em, (tx) => reveal(tx, { caseId, isRepeat: true }, context));
  if ("refusal" in again) throw refusedError(again.refusal);
}

async function reveal(
  tx: Tx,
  { caseId, isRepeat }: { readonly caseId: string; readonly isRepeat: boolean },
  context: Context,
): Promise<Kept<true>> {
  const { id: fieldPartnerId, timeZone } = viewer(context);
  const now = new Date();
  const dayStart = spanOf("today", timeZone, now).from;
  const perDay = context.app.config.contactRevealsPerDay;
  const outcome = await revealContact(tx, { fieldPartnerId, caseId, dayStart, isRepeat }, { perDay, now });
  switch (outcome.kind) {
    case "revealed":
      return { done: true };
    case "not_found":
      return { refusal: NOT_FOUND };
    case "not_workable":
      return { refusal: notWorkable(outcome.reason) };
    case "limit_reached":
      return {
        refusal: {
          code: "CONTACT_LIMIT_REACHED",
          message: `You may see the contacts of ${perDay} cases a day. You can still see the contacts that you have already seen today.`,
        },
      };
  }
}

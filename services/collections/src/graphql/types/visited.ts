import { type Visit, visitOfFieldPartner } from "@collections/cases";
import type { Visited } from "../../mutation-results/outcomes.ts";
import { builder } from "../plumbing/builder.ts";
import { CaseRef } from "./case.ts";
import { viewer } from "../plumbing/context.ts";
import { VisitRef } from "./visit.ts";

/** The payload of a mutation on a visit: the current visit and its case. */
export function visitedPayload(name: string, description: string) {
  return builder.objectRef<Visited>(name).implement({
    description,
    fields: (t) => ({
      visit: t.field({
        type: VisitRef,
        description: "The visit.",
        async resolve({ visitId }, _, context): Promise<Visit> {
          const visit = await visitOfFieldPartner(context.reads.em, viewer(context).id, visitId);
          if (!visit) throw new Error("The visit was not found, although visits are never deleted.");
          return visit;
        },
      }),
      case: t.field({
        type: CaseRef,
        nullable: true,
        description: "The case of the visit; null if the case is no longer yours.",
        resolve: ({ caseId }, _, { reads }) => reads.ownCase.load(caseId),
      }),
    }),
  });
}

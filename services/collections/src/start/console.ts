import { type ConsoleAccess, type ConsoleDesk, consoleSite } from "@collections/console";
import { transaction } from "@collections/database";
import { timeIn } from "@collections/local-time";
import { endOperatorSession, signedInOperator, signInByLink, usableSignInLink } from "@collections/operators";
import type { RequestHandler } from "express";
import type { App } from "../app.ts";
import { actorText } from "../desk/actor-text.ts";
import { dataText, pageOfAudit } from "../desk/audit.ts";
import { caseOfLoan, factsOf, timelineOf } from "../desk/case-history.ts";
import { figuresOfChosen } from "../desk/figures.ts";
import { commandOf, findings } from "../desk/findings.ts";
import { pageOfCases } from "../desk/list-cases.ts";
import { fieldPartnerOf, pageOfFieldPartners } from "../desk/list-field-partners.ts";
import { lenderOf, pageOfLenders } from "../desk/list-lenders.ts";
import { pageOfMoney } from "../desk/money-due.ts";
import { systemReading } from "../desk/system.ts";

/** Returns the operators' console with the reads of the command line. */
export function createConsole(app: App): RequestHandler {
  const { config, log } = app;
  const { publicBasePath, publicUrl } = config;
  return consoleSite({ publicBasePath, publicUrl, log, access: accessOf(app), desk: deskOf(app) });
}

function accessOf({ database }: App): ConsoleAccess {
  const em = () => database.em();
  return {
    operatorOfLink: (token) => usableSignInLink(em(), token, new Date()),
    async signIn(link) {
      const signedIn = await transaction(em(), (tx) => signInByLink(tx, link, new Date()));
      return signedIn && { token: signedIn.token, expiresAt: signedIn.session.expiresAt };
    },
    operatorOfSession: (token) => signedInOperator(em(), token, new Date()),
    signOut: (token) => transaction(em(), (tx) => endOperatorSession(tx, token, new Date())),
  };
}

function deskOf(app: App): ConsoleDesk {
  const { database } = app;
  const em = () => database.em();
  return {
    figures: (lender) => figuresOfChosen(em(), lender, new Date()),
    async find(text) {
      const found = await findings(em(), text);
      return found?.map((one) => ({ ...one, next: commandOf(one) }));
    },
    async caseOf(lenderCode, loan) {
      const shown = await caseOfLoan(em(), lenderCode, loan);
      if (!shown) return undefined;
      const local = (at: string) => timeIn(shown.timeZone, new Date(at));
      const timeline = timelineOf(shown).map(({ at, what, details }) => ({ at: local(at), what, details }));
      return { ...shown, facts: factsOf(shown, local), timeline };
    },
    cases: (search) => pageOfCases(em(), search),
    fieldPartners: (search) => pageOfFieldPartners(em(), search),
    fieldPartner: (id) => fieldPartnerOf(em(), id),
    lenders: (after) => pageOfLenders(em(), after),
    lender: (code, before) => lenderOf(em(), code, before),
    system: systemReading(app),
    money: (search) => pageOfMoney(em(), search),
    async audit(search) {
      const { entries, next } = await pageOfAudit(em(), search);
      return {
        entries: entries.map(({ by, data, ...entry }) => ({ ...entry, by: actorText(by), data: dataText(data) })),
        next,
      };
    },
  };
}

import { type ConsoleAccess, type ConsoleDesk, consoleSite } from "@collections/console";
import { transaction } from "@collections/database";
import { endOperatorSession, signedInOperator, signInByLink, usableSignInLink } from "@collections/operators";
import type { RequestHandler } from "express";
import type { App } from "../app.ts";
import { figuresOfChosen } from "../desk/figures.ts";
import { findings } from "../desk/findings.ts";

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

function deskOf({ database }: App): ConsoleDesk {
  const em = () => database.em();
  return {
    figures: (lender) => figuresOfChosen(em(), lender, new Date()),
    find: (text) => findings(em(), text),
  };
}

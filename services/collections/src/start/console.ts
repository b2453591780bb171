import {
  type ConsoleAccess,
  type ConsoleActs,
  type ConsoleDesk,
  type ConsoleOperator,
  consoleSite,
} from "@collections/console";
import { actingAs, transaction } from "@collections/database";
import type { EntityManager } from "@collections/entities";
import { lenderByCode, lenderById, type LenderProfile, listLenders } from "@collections/lenders";
import { timeIn } from "@collections/local-time";
import { endOperatorSession, signedInOperator, signInByLink, usableSignInLink, useForm } from "@collections/operators";
import type { RequestHandler } from "express";
import type { App } from "../app.ts";
import {
  assignFromDesk,
  changePhoneFromDesk,
  orderFromDesk,
  orderPersonFromDesk,
  replayFromDesk,
} from "../desk/acts.ts";
import { pageOfAudit } from "../desk/audit.ts";
import { caseOfLoan, factsOf, loanOfForm, timelineOf } from "../desk/case-history.ts";
import type { ConnectionActing } from "../desk/connection/acting.ts";
import { testCallbackFromDesk } from "../desk/connection/callback-test.ts";
import { connectionOfChosen } from "../desk/connection/connection.ts";
import { createKeyFromDesk, keyFromDesk, orderKeyFromDesk } from "../desk/connection/keys.ts";
import { testMintFromDesk } from "../desk/connection/mint-test.ts";
import { changeSettingsFromDesk, settingsFromDesk } from "../desk/connection/settings.ts";
import { playFromDesk, type SandboxActing, scenesOfChosen } from "../desk/sandbox.ts";
import { deliveryOf, pageOfDeliveries, shownDeliveryPage } from "../desk/deliveries.ts";
import { todayOfChosen } from "../desk/today.ts";
import { findings } from "../desk/findings.ts";
import { peopleNamed, personNamed } from "../desk/people.ts";
import { pageOfCases } from "../desk/list-cases.ts";
import { fieldPartnerOf, pageOfFieldPartners } from "../desk/list-field-partners.ts";
import { lenderOf, pageOfLenders } from "../desk/list-lenders.ts";
import { feesFile, pageOfFees } from "../desk/money/fees.ts";
import { pageOfMoney } from "../desk/money/money-due.ts";
import { pageOfPayments } from "../desk/money/payments.ts";
import { pageOfReconciliations, reconciliationPage } from "../desk/money/reconciliations.ts";
import { payableFromDesk, paymentFromDesk, rehearseChange } from "../desk/money/changes.ts";
import { missingFromDesk } from "../desk/money/missing-payments.ts";
import {
  bookOrRequest,
  changeOrRequest,
  confirmRequest,
  declineRequest,
  type MoneyDesk,
  requestNamed,
  waitingRequests,
} from "../desk/money/requests.ts";
import { moveFromDesk, planFromDesk, planSpreadFromDesk, spreadFromDesk } from "../desk/moves/moves.ts";
import { pageOfRequests } from "../desk/requests.ts";
import { outstandingReading, type ReadOutstanding } from "../desk/outstanding.ts";
import { systemReading } from "../desk/system.ts";
import { consoleUrl } from "../settings/console-url.ts";
import { createProviderAccess } from "./console-provider.ts";
import { createProviderClient } from "./provider-client.ts";
import {
  applyFileFromDesk,
  checkFileFromDesk,
  rejectedFromDesk,
  storeFileFromDesk,
  type UploadActing,
  uploadFromDesk,
  uploadsOfChosen,
} from "../desk/files/uploads.ts";
import { receiveUpload } from "../http/receive-upload.ts";

/** What the reads and the changes of a person need. */
type DeskActing = UploadActing & MoneyDesk & ConnectionActing & SandboxActing;

/** Returns the operators' console with the reads and the changes of the command line. */
export function createConsole(app: App): RequestHandler {
  const { config, log } = app;
  const { publicBasePath, publicUrl, isSandbox } = config;
  const system = systemReading(app);
  const readOutstanding = outstandingReading(app);
  const desk = (operator: ConsoleOperator) => {
    return { ...deskOf(actingIn(app, operator), operator, readOutstanding), system };
  };
  const acts = (operator: ConsoleOperator) => actsOf(actingIn(app, operator), operator);
  const receive = receiveUpload(app);
  return consoleSite({ publicBasePath, publicUrl, isSandbox, log, access: accessOf(app), desk, acts, receive });
}

function accessOf(app: App): ConsoleAccess {
  const { database } = app;
  const em = () => database.em();
  return {
    async operatorOfLink(token) {
      const link = await usableSignInLink(em(), token, new Date());
      return link && withLenderCode(em(), link);
    },
    async signIn(link) {
      const signedIn = await transaction(em(), (tx) => signInByLink(tx, link, new Date()));
      return signedIn && { token: signedIn.token, expiresAt: signedIn.session.expiresAt };
    },
    async operatorOfSession(token) {
      const session = await signedInOperator(em(), token, new Date());
      return session && withLenderCode(em(), session);
    },
    useForm: (formId) => transaction(em(), (tx) => useForm(tx, formId, new Date())),
    signOut: (token) => transaction(em(), (tx) => endOperatorSession(tx, token, new Date())),
    provider: providerOf(app),
  };
}

function providerOf({ config, providerOutbound, vault, database, log }: App) {
  const { consoleOidc: settings } = config;
  if (!settings) return undefined;
  const client = createProviderClient(settings, providerOutbound);
  return createProviderAccess({ settings, console: consoleUrl(config), client, vault, database, log });
}

/** The codes of lenders by id. A code never changes, so each is read once in a process. */
const codes = new Map<string, string>();

async function withLenderCode<Signed extends { readonly lenderId: string | null }>(em: EntityManager, signed: Signed) {
  const { lenderId } = signed;
  if (lenderId === null) return { ...signed, lenderCode: null };
  const lenderCode = codes.get(lenderId) ?? (await lenderById(em, lenderId))?.code;
  if (lenderCode === undefined) return undefined;
  codes.set(lenderId, lenderCode);
  return { ...signed, lenderCode };
}

/**
 * Returns what reads and changes need. This is the only place that decides which lenders a person sees: an operator all of
 * them, and a lender's staff their own.
 */
function actingIn(app: App, { name, lenderCode }: ConsoleOperator): DeskActing {
  const { database, config, vault, rateLimiter, webhookTest, testMintLink } = app;
  const em = () => database.em();
  const ownLender = async (code: string) => [await lenderByCode(em(), code)].filter((lender) => lender !== undefined);
  const lenders = () => (lenderCode === null ? listLenders(em()) : ownLender(lenderCode));
  const { environment, isSandbox, mintTimeoutMs, secondPersonAbove: limits, outboundAllow: allow } = config;
  const calls = { allow, rateLimiter, testMintLink, ping: (lender: LenderProfile) => webhookTest.ping(lender) };
  const sandbox = { database, environment, isSandbox, mintTimeoutMs };
  return { em, vault, lenders, operator: name, limits, ...calls, ...sandbox };
}

function actsOf(acting: DeskActing, { name }: ConsoleOperator): ConsoleActs {
  const asOperator = <T>(work: () => T): T => actingAs(`operator:${name}`, work);
  return {
    assignCase: (order) => asOperator(() => assignFromDesk(acting, order)),
    orderCase: (order) => asOperator(() => orderFromDesk(acting, order)),
    replayDelivery: (replay) => asOperator(() => replayFromDesk(acting, replay)),
    changePhone: (change) => asOperator(() => changePhoneFromDesk(acting, change)),
    moveCases: (move) => asOperator(() => moveFromDesk(acting, move)),
    orderPerson: (order) => asOperator(() => orderPersonFromDesk(acting, order)),
    spreadCases: (spread) => asOperator(() => spreadFromDesk(acting, spread)),
    storeFile: (upload) => asOperator(() => storeFileFromDesk(acting, upload)),
    checkFile: (check) => asOperator(() => checkFileFromDesk(acting, check)),
    applyFile: (apply) => asOperator(() => applyFileFromDesk(acting, apply)),
    changeMoney: (order) => asOperator(() => changeOrRequest(acting, order)),
    bookMissing: (form) => asOperator(() => bookOrRequest(acting, form)),
    confirmRequest: (requestId) => asOperator(() => confirmRequest(acting, requestId)),
    changeSettings: (change) => asOperator(() => changeSettingsFromDesk(acting, change)),
    createKey: (name) => asOperator(() => createKeyFromDesk(acting, name)),
    orderKey: (order) => asOperator(() => orderKeyFromDesk(acting, order)),
    testCallback: (name) => asOperator(() => testCallbackFromDesk(acting, name)),
    testMint: (test) => asOperator(() => testMintFromDesk(acting, test)),
    playScene: (play) => asOperator(() => playFromDesk(acting, play)),
    declineRequest: (requestId) => asOperator(() => declineRequest(acting, requestId)),
  };
}

function deskOf(
  acting: DeskActing,
  { lenderCode: staffOf }: ConsoleOperator,
  readOutstanding: ReadOutstanding,
): Omit<ConsoleDesk, "system"> {
  const { em, lenders } = acting;
  return {
    figures: async (code) => todayOfChosen(em(), await lenders(), { code, now: new Date(), readOutstanding }),
    async find(text) {
      const found = await findings(em(), await lenders(), text);
      // Field partners work for every lender, so a lender's staff does not find them.
      return staffOf === null ? found : found?.filter(({ kind }) => kind !== "field_partner");
    },
    async caseOf(lenderCode, loan) {
      // The reasons of operators' acts are for the audit of the operators.
      const wanted = { code: lenderCode, loan, withActs: staffOf === null };
      const shown = await caseOfLoan(em(), await lenders(), wanted);
      if (!shown) return undefined;
      const local = (at: string) => timeIn(shown.timeZone, new Date(at));
      const timeline = timelineOf(shown, { hasIds: false }).map((entry) => ({ ...entry, at: local(entry.at) }));
      const holderName = shown.fieldPartner && (shown.fieldPartner.displayName ?? shown.fieldPartner.id);
      return { ...shown, holderName, facts: factsOf(shown, local, { hasIds: false }), timeline };
    },
    cases: async (search) => pageOfCases(em(), await lenders(), search),
    payments: async (search) => pageOfPayments(em(), await lenders(), search),
    fees: async (search) => pageOfFees(em(), await lenders(), search, new Date()),
    feesFile: async (statement) => feesFile(em, await lenders(), statement, new Date()),
    reconciliations: async (search) => pageOfReconciliations(em(), await lenders(), search),
    reconciliation: async (search) => reconciliationPage(em(), await lenders(), search),
    loanOfForm: async (lenderCode, loan) => loanOfForm(em(), await lenders(), { code: lenderCode, loan }),
    fieldPartners: (search) => pageOfFieldPartners(em(), search),
    fieldPartner: (id) => fieldPartnerOf(em(), id),
    lenders: (after) => pageOfLenders(em(), after),
    lender: (code, before) => lenderOf(em(), code, before),
    money: (search) => pageOfMoney(em(), search),
    payment: (name) => paymentFromDesk(acting, name),
    payable: (fieldPartnerId) => payableFromDesk(acting, fieldPartnerId),
    rehearsal: (order) => rehearseChange(acting, order),
    missingPayments: (name) => missingFromDesk(acting, name),
    moneyRequests: () => waitingRequests(acting),
    moneyRequest: (requestId) => requestNamed(acting, requestId),
    audit: (search) => pageOfAudit(em(), search),
    people: (text) => peopleNamed(em(), text),
    person: (fieldPartnerId) => personNamed(em(), fieldPartnerId),
    plannedMoves: (move) => planFromDesk(acting, move),
    lenderCodes: async () => (await lenders()).map(({ code }) => code).toSorted(),
    plannedSpread: (spread) => planSpreadFromDesk(acting, spread),
    uploads: (wanted) => uploadsOfChosen(acting, wanted),
    upload: (name) => uploadFromDesk(acting, name),
    rejectedRows: (name) => rejectedFromDesk(acting, name),
    deliveries: async (search) => pageOfDeliveries(em(), await lenders(), search),
    connection: async (code) => connectionOfChosen(em(), await lenders(), { code, now: new Date() }),
    settings: (lenderCode) => settingsFromDesk(acting, lenderCode),
    key: (name) => keyFromDesk(acting, name),
    scenes: (code) => scenesOfChosen(acting, code),
    requests: async (search) => pageOfRequests(em(), await lenders(), search),
    async delivery(eventId) {
      const found = await deliveryOf(em(), await lenders(), eventId);
      return found && shownDeliveryPage(found);
    },
  };
}

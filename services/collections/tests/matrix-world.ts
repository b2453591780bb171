import { randomUUID } from "node:crypto";
import { transaction } from "@collections/database";
import { createFieldPartner, issueAccessToken } from "@collections/field-partners";
import { aLender, startTestService, type TestService } from "./fixture.ts";
import { AppClient } from "./graphql-client.ts";
import { type Doors, handOver, type Marks, workDoors } from "./matrix-doors.ts";
import { type Names, PLACE } from "./matrix-values.ts";
import { startSmsGateway } from "./sms-gateway.ts";

/** Two field partners who work for the same two lenders, and what each of them has. */
export interface World {
  readonly service: TestService;
  readonly owner: Person;
  readonly stranger: Person;
  /** What the owner names. */
  readonly owned: Names;
  /** The same things as somebody else would name them who knows all of their ids. */
  readonly known: Names;
  /** What the stranger names of their own. */
  readonly own: Names;
  /** Nobody's. */
  readonly nobodys: Names;
}

export interface Person {
  readonly id: string;
  readonly phone: string;
  /** A new session of theirs. */
  app(): Promise<AppClient>;
}

type Gateway = Awaited<ReturnType<typeof startSmsGateway>>;

let phonesMade = 0;

/** A phone gets three codes in a while: who only tries out takes another one. */
export function nobodysPhone(): string {
  phonesMade += 1;
  return `+9195550${String(10_000 + phonesMade)}`;
}

/** Makes both, works for both, and stops the work in the background: what changes afterwards was asked for. */
export async function matrixWorld(): Promise<World> {
  const gateway = await startSmsGateway();
  const settings = { OTP_SMS_URL: gateway.url, OTP_SMS_HEADER: "Authorization: Key x" };
  const service = await startTestService({ settings });
  const lenders = await Promise.all([
    aLender(service, {
      fallbackBank: {
        accountNumber: "50100012345678",
        accountName: "Acme",
        ifsc: "HDFC0000123",
        swift: "HDFCINBB",
        bankName: "HDFC",
      },
      fallbackInstructions: "Say the loan's number.",
    }),
    aLender(service),
  ]);
  const life = async (person: Person, marks: Marks) => {
    const doors = await workDoors(service, lenders, { id: person.id, client: await person.app() }, marks);
    return signIn(service, person, { doors, marks, lenderCode: lenders[0].code, gateway });
  };
  const owner = await aPerson(service, { displayName: "leak-B-name", phone: "+919777012345" });
  const stranger = await aPerson(service, { displayName: "Asha Rao", phone: "+919666012345" });
  const [owned, own] = await Promise.all([
    life(owner, { mark: "leak-B", tail: "QX7", owed: 71_234.57, part: 40_404.04 }),
    life(stranger, { mark: "mine-A", tail: "MN3", owed: 66_345.68, part: 33_333.33 }),
  ]);
  const client = await owner.app();
  const shared = await handOver(service, lenders[0], { from: owner.id, to: stranger.id, client });
  const known = {
    ...owned,
    newVisitId: owned.openVisitId,
    links: [...owned.links, shared.linkId],
    nodes: [...owned.nodes, shared.linkId],
    sessionId: owned.nodes[0]!,
    phone: owner.phone,
    otp: { ...owned.otp, code: "000000" },
    refreshToken: `fpr_${"A".repeat(43)}`,
  };
  await service.worker!.stop(5_000);
  const mine = { ...own, cases: [...own.cases, shared.caseId], nodes: [...own.nodes, shared.caseId] };
  return { service, owner, stranger, owned, known, own: mine, nobodys: withoutOwner(known) };
}

/** What the stranger names of their own but for one thing: the owner's, and in its place nobody's. */
export function oneByOne(world: World): { what: string; theirs: Names; nobodys: Names }[] {
  const { own, known, nobodys, owned } = world;
  const { cursors, otp, phone: _, ...plain } = known;
  const device = { theirs: { deviceToken: owned.refreshToken }, nobodys: { deviceToken: `fpr_${"B".repeat(43)}` } };
  const changes = [
    { what: "deviceToken", ...device },
    ...keysOf(plain).map((what) => ({ what, theirs: one(known, what, own), nobodys: one(nobodys, what, own) })),
    ...keysOf(otp).map((what) => ({
      what,
      theirs: { otp: { ...own.otp, [what]: known.otp[what] } },
      nobodys: { otp: { ...own.otp, [what]: nobodys.otp[what] } },
    })),
    ...keysOf(cursors).map((what) => ({
      what,
      theirs: { cursors: { ...own.cursors, [what]: cursors[what] } },
      nobodys: { cursors: { ...own.cursors, [what]: beside(cursors[what]) } },
    })),
  ];
  // Codes go to a phone three times and no more: each question is about another one.
  const mixed = (change: Partial<Names>) => ({ ...own, phone: nobodysPhone(), ...change });
  return changes.map(({ what, ...names }) => ({ what, theirs: mixed(names.theirs), nobodys: mixed(names.nobodys) }));
}

/** Lists keep one of one's own beside each of the other's. */
function one(names: Names, what: keyof Names, own: Names): Partial<Names> {
  const [some, mine] = [names[what], own[what]];
  return {
    [what]: Array.isArray(some) && what === "nodes" ? some.flatMap((id: string) => [mine![0 as never], id]) : some,
  };
}

function keysOf<Of extends object>(of: Of): (keyof Of & string)[] {
  return Object.keys(of) as (keyof Of & string)[];
}

/** The place in a list right behind or before another one, where nothing is. */
function beside(cursor: string): string {
  const text = Buffer.from(cursor, "base64url").toString("latin1");
  const moved = text.replaceAll(
    /([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{11})([0-9a-f])/g,
    (_, most: string, last: string) => most + (Number.parseInt(last, 16) ^ 1).toString(16),
  );
  return Buffer.from(moved, "latin1").toString("base64url");
}

async function aPerson(service: TestService, given: { displayName: string; phone: string }): Promise<Person> {
  const em = () => service.app.database.em();
  const { id } = await transaction(em(), (tx) => createFieldPartner(tx, given));
  return {
    id,
    phone: given.phone,
    async app() {
      const { accessToken } = await transaction(em(), (tx) => issueAccessToken(tx, id));
      return new AppClient(service.url, accessToken);
    },
  };
}

/** Signs in by phone and keeps the session, and gathers what the person can name then. */
async function signIn(
  service: TestService,
  person: Person,
  given: { doors: Doors; marks: Marks; lenderCode: string; gateway: Gateway },
): Promise<Names> {
  const { doors, marks, lenderCode, gateway } = given;
  const guest = new AppClient(service.url);
  const otp = async () => {
    const { otpId } = await guest.mutate("requestOtp", { phone: person.phone }, "otpId");
    return { otpId: otpId as string, code: (await gateway.next(otpId)).code! };
  };
  const pair = "tokens { accessToken refreshToken }";
  const first = await guest.mutate("verifyOtp", { ...(await otp()), deviceName: `${marks.mark}-phone` }, pair);
  const { tokens } = await guest.mutate("refreshSession", { refreshToken: first.tokens.refreshToken }, pair);
  const { data } = await new AppClient(service.url, tokens.accessToken).ask(HERE, {
    case: doors.workable,
    near: PLACE,
  });
  const { viewer, sessions, earningLines, cases, sync, case: visited } = data!;
  const isHere = ({ isCurrent }: { isCurrent: boolean }) => isCurrent;
  const sessionHere = sessions.find(isHere).id as string;
  const { workable, held, openVisitId, liveLink, paidLink, noLink } = doors;
  return {
    cases: doors.cases,
    links: [liveLink, paidLink, noLink],
    nodes: [sessionHere, workable, held, liveLink, noLink, earningLines.edges[0].node.id, viewer.id],
    sessionId: sessions.find((session: { isCurrent: boolean }) => !isHere(session)).id,
    workableCase: workable,
    newVisitId: randomUUID(),
    openVisitId,
    liveLink,
    phone: nobodysPhone(),
    otp: await otp(),
    refreshToken: tokens.refreshToken,
    lenderCode,
    cursors: {
      cases: cases.pageInfo.endCursor,
      earningLines: earningLines.pageInfo.endCursor,
      visits: visited.visits.pageInfo.endCursor,
      sync: sync.cursor,
    },
  };
}

const HERE = `query ($case: ID!, $near: NearInput) {
  viewer { id }
  sessions { id isCurrent }
  earningLines(first: 1) { edges { node { id } } pageInfo { endCursor } }
  cases(first: 3, near: $near) { pageInfo { endCursor } }
  sync(first: 100) { cursor }
  case(id: $case) { visits(first: 1) { pageInfo { endCursor } } }
}`;

/** The same names with other UUIDs: they name nothing. */
function withoutOwner(names: Names): Names {
  const { cases, links, nodes, sessionId, workableCase, liveLink } = names;
  return {
    ...names,
    cases: cases.map(elsewhere),
    links: links.map(elsewhere),
    nodes: nodes.map(elsewhere),
    sessionId: elsewhere(sessionId),
    workableCase: elsewhere(workableCase),
    liveLink: elsewhere(liveLink),
    newVisitId: randomUUID(),
    openVisitId: randomUUID(),
    phone: nobodysPhone(),
    otp: { ...names.otp, otpId: randomUUID() },
  };
}

function elsewhere(globalId: string): string {
  const [typename] = Buffer.from(globalId, "base64url").toString().split(":");
  return Buffer.from(`${typename}:${randomUUID()}`).toString("base64url");
}

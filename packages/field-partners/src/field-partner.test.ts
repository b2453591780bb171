import { migrate, newId, transaction } from "@collections/database";
import { createDatabase } from "@collections/entities";
import { testDatabase } from "@collections/testing";
import { afterAll, expect, test } from "vitest";
import {
  createFieldPartner,
  fieldPartnerById,
  fieldPartnersByIds,
  listFieldPartners,
  type NewFieldPartner,
  resumeFieldPartner,
  suspendFieldPartner,
} from "./index.ts";
import { fieldPartnersSchema } from "./schema.ts";

const schemas = [fieldPartnersSchema];
const { url } = await testDatabase("field-partners", async (url) => void (await migrate({ url, schemas })));
const database = await createDatabase({ url, schemas });
afterAll(() => database.close());

function create(fieldPartner: NewFieldPartner) {
  return transaction(database.em(), (tx) => createFieldPartner(tx, fieldPartner));
}

test("fieldPartnerById and listFieldPartners return a registered field partner", async () => {
  const asha = await create({ displayName: "  Asha Rao ", phone: "+919800000001" });
  expect(asha).toMatchObject({ displayName: "Asha Rao", phone: "+919800000001", state: "active" });
  expect(await fieldPartnerById(database.em(), asha.id)).toEqual(asha);
  expect(await listFieldPartners(database.em())).toContainEqual(asha);
  const [known, unknown] = [asha.id, newId()];
  expect([...(await fieldPartnersByIds(database.em(), [known, unknown])).keys()]).toEqual([known]);
});

test("a field partner has the given time zone, or else the only time zone of the phone's country, or else UTC", async () => {
  expect(await create({ displayName: "Bina", phone: "+919800000002" })).toMatchObject({ timeZone: "Asia/Kolkata" });
  expect(await create({ displayName: "Carl", phone: "+12125550123" })).toMatchObject({ timeZone: "UTC" });
  const dewi = await create({ displayName: "Dewi", phone: "+628110000000", timeZone: "Asia/Jakarta" });
  expect(dewi.timeZone).toBe("Asia/Jakarta");
});

test.each([
  [{ displayName: " " }, "INVALID_DISPLAY_NAME"],
  [{ displayName: "x".repeat(81) }, "INVALID_DISPLAY_NAME"],
  [{ displayName: "line\nbreak" }, "INVALID_DISPLAY_NAME"],
  [{ phone: "9800000003" }, "INVALID_PHONE"],
  [{ phone: "+0123456789" }, "INVALID_PHONE"],
  [{ phone: "+91 98000 00003" }, "INVALID_PHONE"],
  [{ timeZone: "+05:30" }, "INVALID_TIME_ZONE"],
  [{ timeZone: "Asia/Nowhere" }, "INVALID_TIME_ZONE"],
])("createFieldPartner rejects %o with %s, and the error names the field", async (given, code) => {
  const rejected = create({ displayName: "Esha", phone: "+919800000003", ...given });
  await expect(rejected).rejects.toMatchObject({ code, field: Object.keys(given)[0] });
});

test("one of two concurrent registrations with the same phone is rejected", async () => {
  const outcomes = await Promise.allSettled(
    ["Farah", "Gita"].map((displayName) => create({ displayName, phone: "+919800000004" })),
  );
  expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  expect(outcomes.find(({ status }) => status === "rejected")).toMatchObject({ reason: { code: "DUPLICATE_PHONE" } });
});

test("the phone of a suspended person can be registered again, and then the suspended person cannot be resumed", async () => {
  const hari = await create({ displayName: "Hari", phone: "+919800000005" });
  await transaction(database.em(), (tx) => suspendFieldPartner(tx, hari.id));
  await create({ displayName: "Indu", phone: "+919800000005" });
  const back = transaction(database.em(), (tx) => resumeFieldPartner(tx, hari.id));
  await expect(back).rejects.toMatchObject({ code: "DUPLICATE_PHONE" });
  expect(await fieldPartnerById(database.em(), hari.id)).toMatchObject({ state: "suspended" });
});

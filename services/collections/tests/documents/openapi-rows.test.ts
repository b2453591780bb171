import { readFile } from "node:fs/promises";
import { AMOUNT_FIELDS, checkRow } from "@collections/cases";
import { parseJson } from "@collections/money";
import { describe, expect, test } from "vitest";
import { partOfDocument, schemaFaults } from "../fixtures/documented.ts";
import type { Schema } from "./fixtures/schema-changes.ts";

const UPSERT = "#/components/schemas/UpsertRow";
const CONTROL = "#/components/schemas/ControlRow";
const fields = (partOfDocument(UPSERT) as Schema).properties!;

const REQUIRED = {
  sourceLoanNumber: "MUM/2023/00123",
  borrowerName: "Ravi Kumar",
  borrowerPhone: "+919800000001",
  outstandingAmount: 5000,
};

/** A row with every field. If a field has a limit, its value is at the limit. */
const FULL: Record<string, unknown> = {
  ...REQUIRED,
  sourceLoanNumber: text("sourceLoanNumber"),
  borrowerName: text("borrowerName"),
  outstandingAmount: 0,
  action: "upsert",
  reason: text("reason"),
  outstandingAsOf: "2026-11-20T18:30:00+05:30",
  currency: "INR",
  country: "IN",
  minimumAmount: 0,
  emiAmount: 1500.25,
  nextDueDate: "2026-12-05",
  overdueSince: "2026-10-20",
  dpd: fields["dpd"]!["maximum"],
  bucket: text("bucket"),
  productType: text("productType"),
  branchCode: text("branchCode"),
  allocationRef: text("allocationRef"),
  tags: Array.from({ length: 20 }, () => "t".repeat(64)),
  alternatePhones: Array.from({ length: 10 }, () => "09800000002"),
  borrowerEmail: "ravi@example.com",
  language: "hi-IN",
  addresses: Array.from({ length: 10 }, () => ({
    line1: "a".repeat(200),
    line2: "b".repeat(200),
    landmark: "c".repeat(200),
    city: "d".repeat(100),
    district: "e".repeat(100),
    state: "f".repeat(100),
    postalCode: "1".repeat(20),
    country: "IN",
    latitude: -90,
    longitude: 180,
  })),
  consent: { whatsapp: true, email: false },
  doNotContactUntil: "2026-12-24",
  metadata: Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`name-${index}`, "v".repeat(500)])),
};

describe("import rows in the OpenAPI document and in the service", () => {
  test("may have every documented field, up to its limits", () => {
    expect(Object.keys(FULL).toSorted()).toEqual(Object.keys(fields).toSorted());
    expect(faultsOf(FULL)).toEqual({ document: [], service: [] });
    expect(warningsOf(FULL)).toEqual([]);
  });

  test("have exactly the fields that the contract lists", async () => {
    const contract = await readFile(new URL("../../../../docs/interface.md", import.meta.url), "utf8");
    const [, table = ""] = /^\| Row field .*\n([\s\S]*?)\n\n/m.exec(contract)!;
    const cells = [...table.matchAll(/^\| ([^|]*`[^|]*)\|/gm)].map(([, cell]) => cell!);
    const listed = cells.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name!));
    expect(Object.keys(fields).toSorted()).toEqual(listed.toSorted());
  });

  test.each(Object.keys(REQUIRED))("must have %s", (name) => {
    const { [name]: _, ...row } = REQUIRED as Record<string, unknown>;
    expect(refusals(row)).toEqual(BY_BOTH);
    expect(refusals({ ...REQUIRED, [name]: null })).toEqual(BY_BOTH);
  });

  test.each(Object.keys(fields).filter((name) => !(name in REQUIRED)))("may have null as %s", (name) => {
    expect(faultsOf({ ...REQUIRED, [name]: null })).toEqual({ document: [], service: [] });
  });

  test.each(Object.entries(fields).flatMap(([name, schema]) => wrongValues(schema).map((value) => [name, value])))(
    "are rejected with a wrong value of %s: %j",
    (name, value) => {
      expect(refusals({ ...REQUIRED, [String(name)]: value })).toEqual(BY_BOTH);
    },
  );

  test("need only a loan number if they withdraw, hold or release a case", () => {
    for (const action of ["withdraw", "hold", "release"]) {
      expect(faultsOf({ sourceLoanNumber: "LN-1", action }, CONTROL)).toEqual({ document: [], service: [] });
      expect(refusals({ action }, CONTROL)).toEqual(BY_BOTH);
    }
    expect(refusals({ sourceLoanNumber: "LN-1", action: "delete" }, CONTROL)).toEqual(BY_BOTH);
  });
});

/** Returns values that a field's schema forbids: one of another type, and one just beyond each limit. */
function wrongValues(schema: Schema): unknown[] {
  const { maxLength, maxItems, maximum, minimum, maxProperties, items, properties, additionalProperties } =
    schema as Limits;
  return [
    schema.type?.includes("boolean") ? 1 : true,
    ...(maxLength === undefined ? [] : ["x".repeat(maxLength + 1)]),
    ...(schema["minLength"] === undefined ? [] : [""]),
    ...(maximum === undefined ? [] : [maximum + 1]),
    ...(minimum === undefined ? [] : [minimum - 1]),
    ...(schema.enum || schema["format"] || schema["pattern"] ? ["something else"] : []),
    ...(maxItems === undefined ? [] : [Array.from({ length: maxItems + 1 }, () => itemFor(schema))]),
    ...(maxProperties === undefined ? [] : [namesUpTo(maxProperties + 1)]),
    ...(items ? wrongValues(items).map((value) => [value]) : []),
    ...(additionalProperties ? wrongValues(additionalProperties).map((value) => ({ name: value })) : []),
    ...Object.entries(properties ?? {}).flatMap(([name, part]) =>
      wrongValues(part).map((value) => ({ [name]: value })),
    ),
  ];
}

interface Limits {
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly maximum?: number;
  readonly minimum?: number;
  readonly maxProperties?: number;
  readonly items?: Schema;
  readonly properties?: Record<string, Schema>;
  readonly additionalProperties?: Schema;
}

function itemFor({ items }: Schema): unknown {
  return items?.type === "object" ? {} : "+919800000001";
}

function namesUpTo(count: number): object {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`name-${index}`, "value"]));
}

const BY_BOTH = { document: true, service: true };

/** Returns whether the OpenAPI document rejects the row, and whether the service rejects it. */
function refusals(row: object, schema = UPSERT) {
  const { document, service } = faultsOf(row, schema);
  return { document: document.length > 0, service: service.length > 0 };
}

function faultsOf(row: object, schema = UPSERT) {
  const checked = checkedRow(row);
  return { document: schemaFaults(schema, row), service: "row" in checked ? [] : checked.errors };
}

function warningsOf(row: object) {
  const checked = checkedRow(row);
  return "row" in checked ? checked.row.warnings : checked.warnings;
}

/** Returns the row as the service reads it from a request. */
function checkedRow(row: object) {
  const defaults = { currency: "INR" as never, country: "IN", language: null };
  return checkRow(parseJson(JSON.stringify(row), AMOUNT_FIELDS), defaults, 0);
}

function text(name: string): string {
  return "x".repeat(Number(fields[name]!["maxLength"]));
}

import { expect, test } from "vitest";
import { normalised } from "../table-file/column-names.ts";
import { columnAt, type Columns, type MapOption, readColumns, readMapOption } from "../table-file/columns.ts";
import { CASE_COLUMNS, COLUMN_NAMES, type Target } from "./case-columns.ts";

const USUAL = ["Loan No", "Customer Name", "Mob No", "POS"];

function read(header: readonly string[], ...maps: string[]): Columns<Target> {
  const options = maps.map((map) => readMapOption(map, CASE_COLUMNS)) as MapOption<Target>[];
  return readColumns({ header, headerLine: 1, separator: "," }, options, CASE_COLUMNS);
}

function targets(columns: Columns<Target>): Record<string, string> {
  return Object.fromEntries(columns.used.map(({ name, target }) => [name, target]));
}

test("no column name belongs to two fields", () => {
  const names = Object.entries(COLUMN_NAMES).flatMap(([target, others]) => [target, ...others].map(normalised));
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

test("a column that has the name of a field belongs to that field", () => {
  for (const target of Object.keys(COLUMN_NAMES)) expect(CASE_COLUMNS.fieldOf(target)).toBe(target);
});

test.each([
  ["Loan No,LAN,loan_number,A/C No.,Agreement-No", "sourceLoanNumber"],
  ["CUSTOMER NAME,customer_name,Name,borrowerName", "borrowerName"],
  ["Mob No,MOB_NO,Mob. No.,mobile number,Contact No", "borrowerPhone"],
  ["POS,O/S Amt,principal outstanding,TOS", "outstandingAmount"],
  ["EMI_AMT,EMI,Instalment Amount", "emiAmount"],
  ["DPD,dpd ,Days Past Due", "dpd"],
  ["Pin Code,PINCODE,pin", "address.postalCode"],
])("maps the column names %s to the field %s", (names, target) => {
  for (const name of names.split(",")) expect([name, CASE_COLUMNS.fieldOf(name)]).toEqual([name, target]);
});

test("reports unknown columns, except the columns that the file of rejected rows adds", () => {
  const columns = read(["Rejected line", "Rejected because", ...USUAL, "PAN", ""]);
  expect(targets(columns)).toEqual({
    "Loan No": "sourceLoanNumber",
    "Customer Name": "borrowerName",
    "Mob No": "borrowerPhone",
    POS: "outstandingAmount",
  });
  expect(columns.unknown).toEqual(["PAN"]);
});

test.each([
  [
    ["Loan No", "Customer Name", "Mob No", "Amount"],
    [],
    /Column "Amount" could have several meanings. .*--map "Amount=outstandingAmount"/,
  ],
  [[...USUAL, "Outstanding"], [], /Columns "POS" and "Outstanding" could both be outstandingAmount. .*--map "POS=/],
  [[...USUAL, "POS"], [], /could both be outstandingAmount, and have the same name: rename one/],
  [["Loan No", "Mob No", "POS"], [], /No column for borrowerName was found. .*--map "Column=borrowerName"/],
  [["Action"], [], /No column for sourceLoanNumber was found[^]*was read in line 1, separated by commas: "Action"/],
  [USUAL, ["Balance=outstandingAmount"], /the file has no column "Balance". Its columns are "Loan No", "Customer/],
])("rejects the header %j with the --map options %j, and says what to do", (header, maps, problem) => {
  expect(() => read(header, ...maps)).toThrow(problem);
});

test("reports all problems of a header at once", () => {
  expect(() => read(["Customer Name", "Amount"])).toThrow(/"Amount"[^]*sourceLoanNumber[^]*borrowerPhone/);
});

test("lets --map choose the target of a column, even if the name of the column is ambiguous", () => {
  const header = ["Loan No", "Customer Name", "Mob No", "POS", "Amount", "Region", "City"];
  const columns = read(header, "Amount=outstandingAmount", "region=metadata.Region", "City=-");
  expect(targets(columns)).toEqual({
    "Loan No": "sourceLoanNumber",
    "Customer Name": "borrowerName",
    "Mob No": "borrowerPhone",
    Amount: "outstandingAmount",
    Region: "metadata.Region",
  });
  expect(columns.unknown).toEqual(["POS"]);
});

test("requires only a loan column and an action column in a file of control rows", () => {
  expect(targets(read(["LAN", "Action", "Reason"]))).toEqual({
    LAN: "sourceLoanNumber",
    Action: "action",
    Reason: "reason",
  });
});

test.each([
  ["POS", /is not in the form Column=field/],
  ["POS=outstandingAmout", /There is no field outstandingAmout. Is it outstandingAmount\?/],
  ["POS=xyz", /There is no field xyz. The fields are sourceLoanNumber, .* and metadata.<name>\./],
])("rejects --map %s", (text, problem) => {
  expect(readMapOption(text, CASE_COLUMNS)).toEqual({ fault: expect.stringMatching(problem) as string });
});

test("returns the name of the column to which the JSON pointer of an error refers", () => {
  const header = [...USUAL, "Alt Mobile", "Mobile 2", "Town", "Email Consent", "Zone"];
  const columns = read(header, "Zone=metadata.a/b");
  const places = [
    "borrowerPhone",
    "alternatePhones/0",
    "addresses/0/city",
    "consent/email",
    "metadata/a~1b",
    "dpd",
    "",
  ];
  expect(places.map((place) => columnAt(columns, `/rows/7/${place}`))).toEqual([
    '"Mob No"',
    '"Alt Mobile" and "Mobile 2"',
    '"Town"',
    '"Email Consent"',
    '"Zone"',
    undefined,
    undefined,
  ]);
});

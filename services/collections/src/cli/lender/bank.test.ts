import { expect, test } from "vitest";
import { readBank } from "./bank.ts";

test.each([
  ["accountNumber=50100012345678,ifsc=HDFC0000123", { accountNumber: "50100012345678", ifsc: "HDFC0000123" }],
  [
    "accountName=Acme Finance, Mumbai, accountNumber=50100012345678",
    { accountName: "Acme Finance, Mumbai", accountNumber: "50100012345678" },
  ],
  ['{"accountNumber":"50100012345678"}', { accountNumber: "50100012345678" }],
  [
    "HDFC Bank, 50100012345678, HDFC0000123",
    { bankName: "HDFC Bank", accountNumber: "50100012345678", ifsc: "HDFC0000123" },
  ],
  ["50100012345678", { accountNumber: "50100012345678" }],
])("reads %j as a bank account", (text, bank) => {
  expect(readBank(text)).toEqual(bank);
});

test.each(["", "HDFC Bank", "{", "=5"])("rejects %j as a bank account, and shows an example", (text) => {
  expect(() => readBank(text)).toThrow("accountNumber=");
});

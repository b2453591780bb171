import { expect, test } from "vitest";
import { readInternationalPhone, readPhoneNumber, readPhoneNumbers } from "./phone-number.ts";

test.each([
  ["9822012345", "IN", "+919822012345"],
  ["0919822012345", "IN", "+919822012345"],
  ["091-98220 12345", "IN", "+919822012345"],
  ["+91 09822012345", "IN", "+919822012345"],
  ["00919822012345", "IN", "+919822012345"],
  ["९८२२०१२३४५", "IN", "+919822012345"],
  ["৯৮২২০১২৩৪৫", "IN", "+919822012345"],
  ["٩٨٢٢٠١٢٣٤٥", "IN", "+919822012345"],
  ["９８２２０１２３４５", "IN", "+919822012345"],
  ["\u202A+91 98220\u00A012345\u202C", "IN", "+919822012345"],
  ["9822012345 (office)", "IN", "+919822012345"],
  ["98220 12345 res.", "IN", "+919822012345"],
  ["020 2412 3456", "IN", "+912024123456"],
  ["+447700900123", "IN", "+447700900123"],
  ["030/123456", "DE", "+4930123456"],
])("reads %j in %s as %s", (text, country, number) => {
  expect(readPhoneNumber(text, country)).toEqual({ number });
});

test.each([
  ["0000000000", "IN", "not_of_country"],
  ["982201234", "IN", "not_of_country"],
  ["98220123456", "IN", "not_of_country"],
  ["+91 0000000000", "IN", "not_of_country"],
  ["98200", "IN", "unreadable"],
  ["9822012345 ext 12", "IN", "unreadable"],
  ["9822012345 98", "IN", "not_of_country"],
  ["office", "IN", "unreadable"],
  ["call +919822012345", "IN", "unreadable"],
  ["", "IN", "unreadable"],
  ["9".repeat(41), "IN", "unreadable"],
])("rejects %j in %s as %s", (text, country, fault) => {
  expect(readPhoneNumber(text, country)).toEqual({ fault });
});

test.each([
  ["9822012345 / 9822012346", ["+919822012345", "+919822012346"]],
  ["9822012345,9822012346;9822012347", ["+919822012345", "+919822012346", "+919822012347"]],
  ["9822012345 (self) / 9822012346 (wife)", ["+919822012345", "+919822012346"]],
  ["9822012345 or 9822012346", ["+919822012345", "+919822012346"]],
  ["9822012345\n09822012345", ["+919822012345"]],
  ["Mob: 9822012345", ["+919822012345"]],
  ["Mob 9822012345, Res 02024123456", ["+919822012345", "+912024123456"]],
  ["9822012345 / 98", undefined],
])("finds all numbers of the cell %j", (cell, numbers) => {
  expect(readPhoneNumbers(cell, "IN")).toEqual(numbers);
});

test.each([
  ["+91 098220 12345", "+919822012345"],
  ["\u202A+91\u00A098220\u200B12345\u202C", "+919822012345"],
  ["+९१ ९८२२०१२३४५", "+919822012345"],
  ["+1 (212) 555-0100", "+12125550100"],
  ["9822012345", undefined],
  ["+91 98220", undefined],
  ["+91 9822012345 ext 7", undefined],
])("reads the international number %j as %s", (text, number) => {
  expect(readInternationalPhone(text)).toBe(number);
});

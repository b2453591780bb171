import { expect, test } from "vitest";
import { nameIn, rolesIn } from "./oidc-claims.ts";

test.each([
  [{ roles: ["viewer", "money"] }, "roles", ["viewer", "money"]],
  [{ roles: ["money", "admin", "viewer", "money"] }, "roles", ["viewer", "money"]],
  [{ roles: "operator" }, "roles", ["operator"]],
  [{ roles: "viewer operator" }, "roles", []],
  [{ roles: ["Viewer", "VIEWER", " viewer"] }, "roles", []],
  [{ roles: { viewer: true } }, "roles", []],
  [{ roles: [["viewer"], 1, null] }, "roles", []],
  [{ roles: null }, "roles", []],
  [{}, "roles", []],
  [{ realm_access: { roles: ["viewer"] } }, "realm_access.roles", ["viewer"]],
  [{ "realm_access.roles": ["money"], realm_access: { roles: ["viewer"] } }, "realm_access.roles", ["money"]],
  [{ "https://desk.example/roles": ["viewer"] }, "https://desk.example/roles", ["viewer"]],
  [{ realm_access: null }, "realm_access.roles", []],
  [{ realm_access: "viewer" }, "realm_access.roles", []],
  [{}, "constructor.name", []],
])("rolesIn(%j, %j) returns %j", (claims, claim, roles) => {
  expect(rolesIn(claims, claim)).toEqual(roles);
});

test.each([
  [{ email: "Asha@Bank.example", email_verified: true }, "email", "asha@bank.example"],
  [{ email: "asha@bank.example", email_verified: false }, "email", undefined],
  [{ email: "asha@bank.example", email_verified: "true" }, "email", undefined],
  [{ email: "asha@bank.example" }, "email", undefined],
  [{ email_verified: true }, "email", undefined],
  [{ preferred_username: "Asha" }, "preferred_username", "Asha"],
  [{ sub: "248289761001" }, "sub", "248289761001"],
  [{ sub: 248_289 }, "sub", undefined],
  [{ name: " " }, "name", undefined],
])("nameIn(%j, %j) returns %j", (claims, claim, name) => {
  expect(nameIn(claims, claim)).toBe(name);
});

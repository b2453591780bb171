import { expect, test } from "vitest";
import { readRequestTarget, type RequestTarget } from "./request-target.ts";

test.each<[target: string, read: RequestTarget]>([
  ["/hooks", { path: "/hooks" }],
  ["/hooks?url=http://a.example/b", { path: "/hooks?url=http://a.example/b" }],
  ["*", { path: "*" }],
  ["lender.example:443", { path: "lender.example:443" }],
  ["http://lender.example/hooks/a%2Fb?x=1", { path: "/hooks/a%2Fb?x=1", host: "lender.example" }],
  ["HTTPS://lender.example:8443/", { path: "/", host: "lender.example:8443" }],
  ["http://lender.example", { path: "/", host: "lender.example" }],
  ["http://lender.example?x=1", { path: "/?x=1", host: "lender.example" }],
  ["http://user:word@lender.example/a@b", { path: "/a@b", host: "lender.example" }],
  ["http://[::1]:4000/hooks", { path: "/hooks", host: "[::1]:4000" }],
])("readRequestTarget reads %j", (target, read) => {
  expect(readRequestTarget(target)).toEqual(read);
});

import { expect, test } from "vitest";
import { createWatchPlaces } from "./watch-places.ts";

test("who has all of their places loses the oldest to the newest, and nobody else's", () => {
  const places = createWatchPlaces({ perFieldPartner: 2, inAll: 9 });
  const ended: string[] = [];
  const take = (who: string, name: string) => places.take(who, () => ended.push(name));
  take("ravi", "ravi's");
  const leaveFirst = take("asha", "first");
  take("asha", "second");
  take("asha", "third");
  expect(ended).toEqual(["first"]);
  leaveFirst();
  take("asha", "fourth");
  expect(ended).toEqual(["first", "second"]);
});

test("places are limited in all, and free again once given back, once", () => {
  const places = createWatchPlaces({ perFieldPartner: 2, inAll: 3 });
  const take = (who: string) => places.take(who, () => {});
  const first = take("asha");
  take("asha");
  take("ravi");
  expect(() => take("meera")).toThrow(/^Too many links are watched/);
  first();
  first();
  take("meera");
  expect(() => take("ravi")).toThrow(expect.objectContaining({ extensions: { code: "RATE_LIMITED" } }) as Error);
});

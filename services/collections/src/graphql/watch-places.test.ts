import { expect, test } from "vitest";
import { createWatchPlaces } from "./watch-places.ts";

test("places are limited for each field partner and in all, and free again once given back, once", () => {
  const places = createWatchPlaces({ perFieldPartner: 2, inAll: 3 });
  const [first] = [places.take("asha"), places.take("asha")];
  expect(() => places.take("asha")).toThrow(/^You watch 2 links already/);
  places.take("ravi");
  expect(() => places.take("meera")).toThrow(/^Too many links are watched/);
  first();
  first();
  places.take("meera");
  expect(() => places.take("ravi")).toThrow(expect.objectContaining({ extensions: { code: "RATE_LIMITED" } }) as Error);
});

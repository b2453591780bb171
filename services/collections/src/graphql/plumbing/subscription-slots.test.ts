import { expect, test } from "vitest";
import { createSubscriptionSlots } from "./subscription-slots.ts";

test("ends the oldest subscription of the field partner who exceeds the limit of subscriptions", () => {
  const slots = createSubscriptionSlots({ perFieldPartner: 2, inAll: 9 });
  const ended: string[] = [];
  const take = (who: string, name: string) => slots.take(who, () => ended.push(name));
  take("ravi", "ravi's");
  const releaseFirst = take("asha", "first");
  take("asha", "second");
  take("asha", "third");
  expect(ended).toEqual(["first"]);
  releaseFirst();
  take("asha", "fourth");
  expect(ended).toEqual(["first", "second"]);
});

test("limits the subscriptions of all field partners together, even if a slot was released twice", () => {
  const slots = createSubscriptionSlots({ perFieldPartner: 2, inAll: 3 });
  const take = (who: string) => slots.take(who, () => {});
  const first = take("asha");
  take("asha");
  take("ravi");
  expect(() => take("meera")).toThrow(/^Too many subscriptions are open/);
  first();
  first();
  take("meera");
  expect(() => take("ravi")).toThrow(expect.objectContaining({ extensions: { code: "RATE_LIMITED" } }) as Error);
});

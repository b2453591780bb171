import { describe, expect, test } from "vitest";
import { type BodyMemory, createBodyMemory, type HeldBody } from "./body-memory.ts";
import { Problem } from "./problem.ts";

const LIMITS = { totalBytes: 100, addressBytes: 60 };

function hold(memory: BodyMemory, address: string, bytes: number): HeldBody & { evictedBy: Problem[] } {
  const held = Object.assign(memory.hold(address), { evictedBy: [] as Problem[] });
  held.onEvicted = (problem) => held.evictedBy.push(problem);
  held.grow(bytes);
  return held;
}

function refusalOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof Problem) return error.code;
    throw error;
  }
  return "none";
}

describe("the memory for request bodies", () => {
  test("counts each body with its largest size until the first release", () => {
    const memory = createBodyMemory(LIMITS);
    const held = hold(memory, "a", 10);
    held.grow(25);
    held.grow(20);
    expect(memory.heldBytes).toBe(25);
    held.release();
    held.release();
    expect(memory.heldBytes).toBe(0);
    memory.hold("a").release();
    expect(memory.heldBytes).toBe(0);
  });

  test("is limited for each address, and bytes that were refused do not count", () => {
    const memory = createBodyMemory(LIMITS);
    hold(memory, "a", 30);
    const second = hold(memory, "a", 30);
    expect(refusalOf(() => second.grow(31))).toBe("RATE_LIMITED");
    expect(refusalOf(() => hold(memory, "a", 1))).toBe("RATE_LIMITED");
    expect(refusalOf(() => hold(memory, "b", 40))).toBe("none");
    second.release();
    expect(refusalOf(() => hold(memory, "a", 30))).toBe("none");
    expect(memory.heldBytes).toBe(100);
  });

  test("makes room for an address that uses less memory by evicting the oldest request of the address that uses the most", () => {
    const memory = createBodyMemory(LIMITS);
    const [first, second] = [hold(memory, "attacker", 30), hold(memory, "attacker", 30)];
    const other = hold(memory, "another attacker", 40);
    const lender = hold(memory, "lender", 10);
    expect(first.evictedBy).toMatchObject([{ code: "SERVICE_UNAVAILABLE", headers: { "Retry-After": "2" } }]);
    expect([second, other, lender].flatMap(({ evictedBy }) => evictedBy)).toEqual([]);
    expect(memory.heldBytes).toBe(80);
    lender.grow(35);
    expect(other.evictedBy).toHaveLength(1);
    expect(second.evictedBy).toEqual([]);
    expect(memory.heldBytes).toBe(65);
    first.release();
    expect(memory.heldBytes).toBe(65);
  });

  test("if it is full, refuses memory to an address that would then use as much as any other address", () => {
    const memory = createBodyMemory(LIMITS);
    const some = ["a", "b"].map((address) => hold(memory, address, 50));
    expect(refusalOf(() => hold(memory, "c", 50))).toBe("SERVICE_UNAVAILABLE");
    expect(refusalOf(() => some[0]!.grow(51))).toBe("SERVICE_UNAVAILABLE");
    expect(some.flatMap(({ evictedBy }) => evictedBy)).toEqual([]);
    expect(memory.heldBytes).toBe(100);
  });

  test("stays between 0 and its limit in 5,000 random steps", () => {
    const memory = createBodyMemory(LIMITS);
    let seed = 1;
    const random = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below;
    const held: HeldBody[] = [];
    for (let step = 0; step < 5_000; step += 1) {
      if (held.length === 0 || random(3) === 0) held.push(memory.hold(`address ${random(5)}`));
      const one = held[random(held.length)]!;
      if (random(4) === 0) held.splice(held.indexOf(one), 1)[0]!.release();
      else refusalOf(() => one.grow(random(70)));
      expect(memory.heldBytes).toBeGreaterThanOrEqual(0);
      expect(memory.heldBytes).toBeLessThanOrEqual(LIMITS.totalBytes);
    }
    for (const one of held) one.release();
    expect(memory.heldBytes).toBe(0);
  });
});

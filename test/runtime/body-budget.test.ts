import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BodyBudget } from "../../src/runtime/body-budget.ts";

function budgetOf(most: number) {
  const budget = new BodyBudget(most);
  const lost: string[] = [];
  const send = (sender: string, bytes: number, name = sender) => {
    const share = budget.open(sender, () => void lost.push(name));
    return { share, isTaken: share.take(bytes) };
  };
  return { budget, lost, send };
}

describe("a body that finds no room", () => {
  it("takes it from the oldest incomplete body of the sender that has the most", () => {
    const { budget, lost, send } = budgetOf(100);
    send("small", 10);
    for (const name of ["a1", "a2", "a3"]) send("a", 30, name);
    expect([send("honest", 40).isTaken, lost, budget.used]).toEqual([true, ["a1", "a2"], 80]);
  });

  it("is refused if its sender has the most, or would have", () => {
    const { lost, send } = budgetOf(100);
    send("a", 60);
    send("b", 40);
    expect([send("a", 1).isTaken, send("b", 21).isTaken, lost]).toEqual([false, false, []]);
  });

  it("is refused if the others are whole, until they are released", () => {
    const { budget, lost, send } = budgetOf(100);
    const { share } = send("a", 100);
    share.completed();
    expect([send("b", 10).isTaken, lost]).toEqual([false, []]);
    share.release();
    share.release();
    expect([send("b", 10).isTaken, budget.used]).toEqual([true, 10]);
  });

  it("takes nothing from a body that has sent nothing", () => {
    const { budget, lost, send } = budgetOf(100);
    budget.open("a", () => void lost.push("empty"));
    send("a", 100, "full");
    expect([send("b", 10).isTaken, lost]).toEqual([true, ["full"]]);
  });
});

it("whatever is sent, the limit holds, and a body within an equal share finds room", () => {
  const part = fc.record({
    sender: fc.constantFrom("a", "b", "c"),
    bytes: fc.integer({ min: 1, max: 60 }),
    isReleased: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(part, { maxLength: 60 }), (parts) => {
      const { budget, send } = budgetOf(100);
      for (const { sender, bytes, isReleased } of parts) {
        const { share } = send(sender, bytes);
        if (isReleased) share.release();
        expect(budget.used).toBeLessThanOrEqual(100);
      }
      expect(send("honest", 25).isTaken).toBe(true);
    }),
  );
});

import { expect, test } from "vitest";
import { WatchProof } from "../../src/kube/watch-proof.ts";
import { TestClock } from "../support/test-clock.ts";

const freshForMs = 30_000;

function proofOf() {
  const clock = new TestClock();
  const proof = new WatchProof(clock, freshForMs);
  return { clock, proof };
}

/** A store that was proven, and then lost its watch for this long. */
async function afterOutage(ms: number) {
  const setup = proofOf();
  setup.proof.listed(setup.clock.monotonic(), 0);
  setup.proof.opened();
  setup.proof.ended();
  await setup.clock.run(ms);
  return setup;
}

test("a watch right after its list counts at once", () => {
  const { clock, proof } = proofOf();
  expect(proof.provenAt).toBeUndefined();
  proof.listed(clock.monotonic(), 0);
  expect(proof.provenAt).toBeUndefined();
  proof.opened();
  expect(proof.provenAt).toBe(clock.monotonic());
});

test("a watch that is reopened while the store is fresh counts at once", async () => {
  const { clock, proof } = await afterOutage(freshForMs - 1);
  proof.opened();
  expect(proof.provenAt).toBe(clock.monotonic());
});

test("a response without a watch counts at once", async () => {
  const { clock, proof } = await afterOutage(freshForMs);
  proof.answered();
  expect(proof.provenAt).toBe(clock.monotonic());
});

test("after an outage a watch counts, from its opening, when no event has arrived for 300 ms", async () => {
  const { clock, proof } = await afterOutage(freshForMs);
  const [before, openedAt] = [proof.provenAt, clock.monotonic()];
  proof.opened();
  await clock.run(299);
  proof.heard();
  await clock.run(299);
  expect(proof.provenAt).toBe(before);
  await clock.run(1);
  expect([proof.provenAt, clock.pending]).toEqual([openedAt, 0]);
});

test("so does a watch after a list that lasted longer than a store is fresh", async () => {
  const { clock, proof } = proofOf();
  proof.listed(clock.monotonic() - freshForMs, 0);
  proof.opened();
  expect(proof.provenAt).toBeUndefined();
  await clock.run(300);
  expect(proof.provenAt).toBeDefined();
});

test("a watch that is never quiet counts after 5 s", async () => {
  const { clock, proof } = await afterOutage(freshForMs);
  const [before, openedAt] = [proof.provenAt, clock.monotonic()];
  proof.opened();
  for (let time = 0; time < 49; time++) {
    await clock.run(100);
    proof.heard();
  }
  expect(proof.provenAt).toBe(before);
  await clock.run(100);
  expect([proof.provenAt, clock.pending]).toEqual([openedAt, 0]);
});

test("a watch that ends before it counts leaves no timer and no proof", async () => {
  const { clock, proof } = await afterOutage(freshForMs);
  const before = proof.provenAt;
  proof.opened();
  proof.ended();
  proof.heard();
  expect(clock.pending).toBe(0);
  await clock.run(10_000);
  expect(proof.provenAt).toBe(before);
});

test("what is discarded is proven only by a list that began after it", async () => {
  const { clock, proof } = await afterOutage(1_000);
  const { discards } = proof;
  proof.discard();
  proof.opened();
  await clock.run(10_000);
  expect([proof.provenAt, proof.needsList]).toEqual([undefined, true]);
  proof.listed(clock.monotonic(), discards);
  proof.opened();
  expect([proof.provenAt, proof.needsList]).toEqual([undefined, true]);
  proof.listed(clock.monotonic(), proof.discards);
  proof.opened();
  expect([proof.provenAt, proof.needsList]).toEqual([clock.monotonic(), false]);
});

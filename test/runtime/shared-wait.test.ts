import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { SharedWait } from "../../src/runtime/shared-wait.ts";
import { collectGarbage } from "../support/collect-garbage.ts";
import { settled } from "../support/test-clock.ts";

function shared() {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  return { wait: new SharedWait(promise), resolve, reject };
}

test("all who wait get the value, also those who come later", async () => {
  const { wait, resolve } = shared();
  const early = [wait.wait(), wait.wait(new AbortController().signal)];
  resolve("a");
  expect(await Promise.all([...early, wait.wait()])).toEqual(["a", "a", "a"]);
  expect(await wait.wait()).toBe("a");
  expect(wait.waiting).toBe(0);
});

test("all who wait get the error, also those who come later; without anybody it is none", async () => {
  const { wait, reject } = shared();
  const early = wait.wait();
  reject(new Error("down"));
  await expect(early).rejects.toThrow("down");
  await expect(wait.wait()).rejects.toThrow("down");
  const alone = shared();
  alone.reject(new Error("nobody waits"));
  await settled();
});

test("who leaves is rejected with the reason at once, and the others go on to wait", async () => {
  const { wait, resolve } = shared();
  const [leaving, left] = [new AbortController(), new Error("the client left")];
  const [one, other] = [wait.wait(leaving.signal), wait.wait()];
  leaving.abort(left);
  await expect(one).rejects.toBe(left);
  expect(wait.waiting).toBe(1);
  resolve("a");
  expect(await other).toBe("a");
});

test("who has left before does not wait", async () => {
  const { wait } = shared();
  await expect(wait.wait(AbortSignal.abort("gone"))).rejects.toBe("gone");
  expect(wait.waiting).toBe(0);
});

test("a signal is not listened to after the value, and changes nothing", async () => {
  const { wait, resolve } = shared();
  const leaving = new AbortController();
  const waited = wait.wait(leaving.signal);
  resolve("a");
  await settled();
  expect(getEventListeners(leaving.signal, "abort")).toEqual([]);
  leaving.abort();
  expect(await waited).toBe("a");
});

test("nothing refers to those who have left while the others wait", async () => {
  const { wait } = shared();
  const leave = (): WeakRef<object> => {
    const request = { head: "a".repeat(1_000) };
    const leaving = new AbortController();
    const waited = async (): Promise<string> => request.head + (await wait.wait(leaving.signal));
    waited().catch(() => undefined);
    leaving.abort();
    return new WeakRef(request);
  };
  const requests = Array.from({ length: 100 }, leave);
  await settled();
  await collectGarbage();
  expect(requests.filter((request) => request.deref() !== undefined)).toEqual([]);
  expect(wait.waiting).toBe(0);
});

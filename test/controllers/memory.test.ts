import { expect, test } from "vitest";
import type { LeaderMemory } from "../../src/controllers/memory.ts";
import { isKubeError } from "../../src/kube/client/kube-error.ts";
import { refusal } from "../support/fake-client.ts";
import { busyKeys, busyWorld } from "./busy-world.ts";

/** The number of entries of each part of the memory. */
function sizes({ failures, refreshes, tokenQuota, ...rest }: LeaderMemory) {
  return {
    failures: Object.values(failures).reduce((sum, { size }) => sum + size, 0),
    refreshes: refreshes.bySource.size,
    waiting: refreshes.byTarget.size,
    tokens: tokenQuota.ends.size,
    targets: rest.failedTargets.size,
    deletions: rest.deletions.size,
    waits: rest.waitingSince.size,
    finalized: rest.finalized.size,
    revocations: rest.revocations.size,
  };
}

test("the memory of a leader is plain data, which can be copied", async () => {
  let isDown = false;
  const { clock, world, reconcile } = await busyWorld({
    answer({ verb, ref }) {
      if (verb.startsWith("get")) return refusal("NotFound", { objectName: ref.name });
      return isDown && verb !== "patch" ? refusal("Forbidden") : undefined;
    },
  });
  const round = async () => {
    for (const [reconciler, key] of busyKeys)
      await reconcile(reconciler, key).catch((error: unknown) => {
        if (!isKubeError(error)) throw error;
      });
    clock.advance(1_500);
  };
  await round();
  await round();
  isDown = true;
  await round();
  expect(Object.entries(sizes(world.memory)).filter(([, size]) => size === 0)).toEqual([]);
  expect(structuredClone(world.memory)).toStrictEqual(world.memory);
});

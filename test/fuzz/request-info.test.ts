import { afterAll, describe, expect, test } from "vitest";
import { methods } from "../../src/domain/gateway/request-info.ts";
import { isMissing, orMissing, present } from "../support/prepared.ts";
import { runs } from "../support/property-runs.ts";
import { startRequestInfoOracle } from "../support/request-info-oracle.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { skippedWithout } from "../support/skipped.ts";
import { randomRequest } from "./random-request.ts";
import { refusedTargets, understoodTargets } from "./request-info-cases.ts";
import { compare, understand } from "./request-info-comparison.ts";

/** SEED= asks for other requests. */
const seed = Number(process.env.SEED || 12);
const batches = runs(20).numRuns;
const batchSize = 1_000;
/** Many times what a slow machine needs. */
const limitMs = 600_000;

const report = (line: string): void => void process.stderr.write(`request info: ${line}\n`);
const oracle = await orMissing(startRequestInfoOracle(report));
afterAll(() => isMissing(oracle) || oracle.stop());

/** Every target with every method. */
const everyMethod = (targets: readonly string[]) =>
  targets.flatMap((target) => methods.map((method) => ({ method, target })));

const isRun = skippedWithout(oracle);

describe("the gateway reads requests as kube-apiserver does", isRun, () => {
  const asked = async (requests: Parameters<typeof compare>[0]) =>
    compare(requests, present(oracle));

  test(`in ${understoodTargets.length} targets with every method`, async () => {
    const requests = everyMethod(understoodTargets);
    expect(await asked(requests)).toEqual({
      refused: 0,
      compared: requests.length,
      differences: [],
    });
  });

  test(
    `in ${batches * batchSize} random requests, of which it rejects less than half (SEED=${seed})`,
    async () => {
      const random = seededRandom(seed);
      let [refused, compared] = [0, 0];
      for (let batch = 0; batch < batches; batch += 1) {
        const requests = Array.from({ length: batchSize }, () => randomRequest(random));
        const comparison = await asked(requests);
        expect(comparison.differences.slice(0, 10)).toEqual([]);
        refused += comparison.refused;
        compared += comparison.compared;
      }
      report(`${compared} requests compared, ${refused} refused, SEED=${seed}`);
      expect(compared).toBeGreaterThan(refused);
    },
    limitMs,
  );

  test("and a difference is seen", async () => {
    const target = "/kubernetes/management/api/v1/pods";
    const wrong = { ask: async () => [{ kind: "path", verb: "get", path: "/api/v1/pods" }] };
    const { differences } = await compare([{ method: "GET", target }], { ...wrong, stop() {} });
    expect(differences).toHaveLength(1);
  });
});

test(`the gateway rejects ${refusedTargets.length} ambiguous targets`, () => {
  const understood = refusedTargets.filter(
    (target) => understand({ method: "GET", target }) !== undefined,
  );
  expect(understood.map((target) => target.slice(0, 400))).toEqual([]);
});

import assert from "node:assert/strict";
import fc from "fast-check";
import type { RequestInfoOracle } from "../support/request-info-oracle.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { randomRequest } from "./random-request.ts";
import { compare } from "./request-info-comparison.ts";
import type { Target } from "./target.ts";

const batchSize = 500;

/** Random requests to the gateway, compared with kube-apiserver's RequestInfo. */
export function requestInfoTarget(oracle: RequestInfoOracle): Target {
  return {
    name: `request info: the gateway authorizes what kube-apiserver reads (${batchSize} requests a run)`,
    property: () =>
      fc.asyncProperty(fc.noShrink(fc.integer()), async (seed) => {
        const random = seededRandom(seed);
        const requests = Array.from({ length: batchSize }, () => randomRequest(random));
        const { differences } = await compare(requests, oracle);
        assert.deepEqual(differences, []);
      }),
  };
}

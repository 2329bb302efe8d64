import { beforeAll, describe, expect, inject, it } from "vitest";
import { askThroughGateway, gatewayKnows } from "../support/ways-in.ts";
import { arrangePolicyVerbs, expectedAnswer, makeScopedKeys, policyVerbs } from "./policy-verbs.ts";

// The API server of these gateways calls Latchkey at admission alone.
describe.skipIf(inject("gateway") === undefined)(
  "a verb that is asked in the name of the user of a key",
  () => {
    beforeAll(arrangePolicyVerbs);

    it.each(policyVerbs)(
      "is within its scope as with latchkey webhook: $what ($by)",
      async (row) => {
        const { codes, gatewayCodes = codes, alone = gatewayCodes } = row;
        const { refusal, gatewayRefusal = refusal } = row;
        for (const [at, [kind, key]] of (await makeScopedKeys(row)).entries()) {
          await gatewayKnows(key);
          const answer = await askThroughGateway(key, row.request());
          expect([kind, answer]).toEqual([kind, expectedAnswer(alone[at], gatewayRefusal)]);
        }
      },
    );
  },
);

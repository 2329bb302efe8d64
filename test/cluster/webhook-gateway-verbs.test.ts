import { beforeAll, describe, expect, inject, it } from "vitest";
import { worksAs } from "../support/key-request.ts";
import { askDirectly, askThroughGateway, gatewayKnows } from "../support/ways-in.ts";
import { arrangePolicyVerbs, expectedAnswer, makeScopedKeys, policyVerbs } from "./policy-verbs.ts";

describe.skipIf(inject("webhook") === undefined)(
  "a verb that is asked in the name of the user of a key",
  () => {
    beforeAll(arrangePolicyVerbs);

    it.each(policyVerbs)(
      "is within its scope at kube-apiserver and at the gateway: $what ($by)",
      async (row) => {
        for (const [at, [kind, key]] of (await makeScopedKeys(row)).entries()) {
          await worksAs(key);
          await gatewayKnows(key);
          const request = row.request();
          const direct = await askDirectly(key, request);
          const through = await askThroughGateway(key, request);
          expect([kind, direct]).toEqual([kind, expectedAnswer(row.codes[at], row.refusal)]);
          const { gatewayCodes = row.codes, gatewayRefusal = row.refusal } = row;
          expect([kind, through]).toEqual([kind, expectedAnswer(gatewayCodes[at], gatewayRefusal)]);
        }
      },
    );
  },
);

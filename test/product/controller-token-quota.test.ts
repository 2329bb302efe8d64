import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { expectNoTrouble } from "./controller-oracle.ts";
import { tokenQuota } from "./product-setup.ts";
import { eventually } from "../support/eventually.ts";
import { allowRequesters, make, viewOf, type Own } from "../support/keys-and-tokens.ts";
import { as, unique } from "../support/policy-request.ts";

const kind = "DirectClusterEndpointToken";
const requesters = unique("requesters");

async function becomes(
  own: Own,
  status: "True" | "False",
): Promise<Awaited<ReturnType<typeof viewOf>>> {
  return eventually(
    async () => {
      const view = await viewOf(own);
      return view.conditions["Ready"]?.status === status && view;
    },
    { what: `${own.name} to be Ready=${status}` },
  );
}

beforeAll(() => allowRequesters(requesters));

afterAll(expectNoTrouble);

describe.skipIf(!inject("hasPolicies"))(
  "a requester with as many valid tokens as the quota",
  () => {
    it("gets no more tokens by deleting some, and one more after one has expired", async () => {
      const mallory = { user: unique("mallory"), groups: [requesters] };
      const tokens = await Promise.all(
        Array.from({ length: tokenQuota.most }, (_, index) =>
          make(kind, { by: mallory, spec: { ttl: index === 0 ? 90 : 3600 } }),
        ),
      );
      for (const own of tokens) await becomes(own, "True");
      for (const { path } of tokens.slice(1, 6)) {
        await eventually(async () => (await as(mallory).delete(path)).code === 200, {
          what: "mallory to delete a token",
        });
      }
      const extra = await make(kind, { by: mallory, spec: { ttl: 3600 } });
      const waiting = await becomes(extra, "False");
      expect(waiting).toMatchObject({
        token: undefined,
        conditions: { Ready: { reason: "TooManyTokens" }, Reconciling: { status: "True" } },
      });
      expect(waiting.conditions["Ready"]?.message).toContain(
        `Requester "${mallory.user}" has ${tokenQuota.most} valid tokens`,
      );
      expect(waiting.conditions["Stalled"]).toBeUndefined();
      const other = await make(kind, { by: { user: unique("other"), groups: [requesters] } });
      await becomes(other, "True");
      expect((await becomes(extra, "True")).token).toBeDefined();
    });
  },
);

import { describe, expect, test } from "vitest";
import { parseEndpointToken } from "../../src/api/endpoint-token.ts";
import { annotations } from "../../src/api/names.ts";
import { newMemory } from "../../src/controllers/memory.ts";
import {
  countMintedToken,
  type CountedToken,
  countRevokedTokens,
  nextTokenEnd,
  takeTokenQuota,
} from "../../src/controllers/token-quota.ts";
import { requesterHash } from "../../src/domain/grants/granted-names.ts";
import { controllerOptions } from "../support/controller-options.ts";
import { rawObject } from "../support/fake-list-watch.ts";

const minute = 60_000;
function quotaOf(quotaTokens: number) {
  const options = { ...controllerOptions, quotaTokens };
  const context = { options, memory: newMemory({ quotaExempt: ["deployer"] }) };
  return {
    context,
    nextEnd: (requester: string) => nextTokenEnd(requester, context),
    take: (counted: CountedToken, now: number) => takeTokenQuota(counted, now, context),
  };
}

const token = (uid: string, endsAt = minute, requester = "ann") => ({ requester, uid, endsAt });

describe("a quota of tokens", () => {
  test("allows as many tokens as configured for each requester", () => {
    const quota = quotaOf(2);
    expect(["a", "b", "c"].map((uid) => quota.take(token(uid), 0))).toEqual([true, true, false]);
    expect(quota.take(token("d", minute, "bob"), 0)).toBe(true);
  });

  test("counts a token once, until its latest expiry", () => {
    const quota = quotaOf(2);
    expect(["a", "a", "b", "a"].map((uid) => quota.take(token(uid), 0))).toEqual([
      true,
      true,
      true,
      true,
    ]);
    quota.take(token("a", 2 * minute), 0);
    quota.take(token("a", 1), 0);
    expect(quota.nextEnd("ann")).toBe(minute);
    expect([quota.take(token("c", 3 * minute), minute), quota.nextEnd("ann")]).toEqual([
      true,
      2 * minute,
    ]);
  });

  test("allows another token at the expiry of one", () => {
    const quota = quotaOf(1);
    quota.take(token("a"), 0);
    expect([minute - 1, minute].map((now) => quota.take(token("b", 2 * minute), now))).toEqual([
      false,
      true,
    ]);
  });

  test("counts existing tokens, also above the quota", () => {
    const quota = quotaOf(1);
    const standing = (name: string, status: object) =>
      parseEndpointToken(
        rawObject({ name, annotations: { [annotations.requester]: "ann" } }, { status }),
      );
    const expiresAt = "1970-01-01T00:01:00Z";
    for (const name of ["a", "b"])
      countMintedToken(standing(name, { token: "t", expiresAt }), quota.context);
    countMintedToken(standing("erased", { expiresAt }), quota.context);
    expect([
      quota.take(token("c"), 0),
      quota.take(token("uid-a"), 0),
      quota.nextEnd("ann"),
    ]).toEqual([false, true, minute]);
  });

  test("does not apply to exempt users", () => {
    const quota = quotaOf(1);
    expect(["a", "b", "c"].map((uid) => quota.take(token(uid, minute, "deployer"), 0))).toEqual([
      true,
      true,
      true,
    ]);
    expect(quota.nextEnd("deployer")).toBe(Infinity);
  });

  test("forgets requesters whose tokens have expired", () => {
    const quota = quotaOf(1);
    quota.take(token("a"), 0);
    quota.take(token("b", 10 * 60 * minute, "bob"), 2 * 60 * minute);
    expect(quota.nextEnd("ann")).toBe(Infinity);
  });
});

test("counts the list of revoked tokens for a new leader, except those of exempt requesters", () => {
  const quota = quotaOf(1);
  const entry = (requester: string) => ({
    expiresAt: minute,
    requester: requester === "" ? "" : requesterHash(requester),
  });
  countRevokedTokens(
    new Map([
      ["a", entry("ann")],
      ["b", entry("deployer")],
      ["c", entry("")],
    ]),
    quota.context,
  );
  const taken = ["ann", "deployer", "bob"].map((who) => quota.take(token("d", minute, who), 0));
  expect([taken, quota.nextEnd("ann")]).toEqual([[false, true, true], minute]);
});

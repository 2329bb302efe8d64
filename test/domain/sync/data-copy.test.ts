import { describe, expect, test } from "vitest";
import type { SharedSecret } from "../../../src/api/shared-secret.ts";
import type { Followed, Source } from "../../../src/domain/sync/copy.ts";
import {
  dataCopyRef,
  dataCopySource,
  followedKey,
  keepsDataCopy,
} from "../../../src/domain/sync/data-copy.ts";
import { observedSource, type SourceChanges } from "../../support/observed-copies.ts";

const rule = { verbs: ["get"], subresources: [], users: ["ann"], teams: [] };
const reader: Partial<SharedSecret> = { access: [rule] };
const problem = { reason: "SourceMissing", message: "it does not exist" } as const;
const refusal = { reason: "SourceNotAllowed", message: "it does not name it" } as const;

function follower(
  changes: SourceChanges = {},
  state: Followed["state"] | "follows nothing" = "data",
): Source {
  const source = observedSource({ secret: reader, ...changes });
  if (state === "follows nothing") return source;
  return { ...source, followed: { name: "source", keys: undefined, state } };
}

test("the name of the copy follows from the uid alone", () => {
  const ref = dataCopyRef({ namespace: "team", uid: "uid-db" });
  expect(ref.namespace).toBe("team");
  expect(ref.name).toMatch(/^latchkey-data-[0-9a-f]{16}$/);
  expect(dataCopyRef({ namespace: "other", uid: "uid-db" }).name).toBe(ref.name);
  expect(dataCopyRef({ namespace: "team", uid: "uid-again" }).name).not.toBe(ref.name);
});

test("a SharedSecret follows a Secret of its own namespace, or none", () => {
  expect(followedKey(follower())).toBe("team/source");
  expect(followedKey(follower({}, "none"))).toBe("team/source");
  expect(followedKey(follower({}, "follows nothing"))).toBeUndefined();
});

describe("the copy for readers", () => {
  test.for<[string, Source, "written" | "kept" | "removed"]>([
    ["there is data", follower(), "written"],
    ["the Secret is not read yet", follower({ options: { problem } }, "unread"), "kept"],
    ["the Secret is missing", follower({ options: { problem } }, "none"), "kept"],
    ["an option is invalid", follower({ options: { problem } }), "written"],
    ["the Secret does not consent", follower({ options: { refusal } }, "none"), "removed"],
    ["the SharedSecret has data of its own", follower({}, "follows nothing"), "removed"],
    [
      "the SharedSecret is being deleted",
      follower({ metadata: { deletionTimestamp: "2026-01-01T00:01:00Z" } }),
      "removed",
    ],
    ["it names no project", follower({ options: { projects: [] } }), "written"],
  ])("if %s", ([, source, expected]) => {
    const copy = dataCopySource(source);
    const found = copy !== undefined ? "written" : keepsDataCopy(source) ? "kept" : "removed";
    expect(found).toBe(expected);
  });

  test.for<[string, Partial<SharedSecret>, boolean]>([
    ["nobody", {}, false],
    ["an owner", { owner: { user: "ann" } }, true],
    ["a team that owns it", { owner: { team: "ops" } }, true],
    ["a user who may get it", { access: [rule] }, true],
    [
      "a team that may do everything",
      { access: [{ ...rule, verbs: ["*"], users: [], teams: ["a"] }] },
      true,
    ],
    ["one who may only list it", { access: [{ ...rule, verbs: ["list", "watch"] }] }, false],
    ["a rule without subjects", { access: [{ ...rule, users: [] }] }, false],
    ["the second rule", { access: [{ ...rule, verbs: ["patch"] }, rule] }, true],
  ])("is for %s", ([, secret, hasReaders]) => {
    expect(keepsDataCopy(follower({ secret }))).toBe(hasReaders);
  });

  test("has the data keys themselves, without a form, a type or metadata of other copies", () => {
    const format = { kind: "dotenv", key: ".env", from: [] } as const;
    const copyMetadata = { labels: { team: "a" }, annotations: {} };
    const options = { secretType: "kubernetes.io/tls", copyMetadata, secretName: "other" };
    const plain = dataCopySource(follower({ options }));
    expect(plain).toMatchObject({ digest: "new", options: { secretType: "Opaque" } });
    expect(plain?.options.copyMetadata).toBeUndefined();
    expect(plain?.data).toEqual(follower().data);

    const derived = { ...follower({ options: { ...options, format } }), ownDigest: "own" };
    const copy = dataCopySource(derived);
    expect(copy?.digest).toBe("own");
    expect(copy?.options.format).toBeUndefined();
    // What is cached is the form, so it is read.
    expect(copy?.data).toBeUndefined();
  });
});

import { expect, test } from "vitest";
import { identityOf } from "../../../src/domain/access-key/key-identity.ts";
import { personOf } from "../../../src/domain/access-key/key-person.ts";
import type { ResolvedKey } from "../../../src/domain/access-key/key-state.ts";
import { type KeyChanges, resolvedKey } from "./resolved-key.ts";

const requestedBy = (name: string, ...groups: readonly string[]) =>
  ({ requester: { kind: "known", name, uid: "", groups } }) as const;
const ofTeam = (team: string, changes: KeyChanges = {}): ResolvedKey =>
  resolvedKey({ owner: { team }, ...changes });
const byAlice = ofTeam("web", requestedBy("alice", "web", "devs"));
const withIt = requestedBy("management.service:team:web", "web");

test.each<[string, ResolvedKey, string]>([
  ["a key of a user", resolvedKey(requestedBy("deployer", "web")), "alice"],
  ["a key of a subject", resolvedKey({ owner: { subject: "robot" } }), "robot"],
  ["a key of a team that its member made", byAlice, "alice"],
  [
    "a key of a team that somebody else made",
    ofTeam("web", requestedBy("deployer", "ops")),
    "management.service:team:web",
  ],
  [
    "a key of a team whose requester is not known",
    ofTeam("web", { requester: { kind: "unknown", why: "no policies" } }),
    "management.service:team:web",
  ],
  [
    "a key that was made with such a key",
    ofTeam("web", { ...withIt, parentKey: byAlice }),
    "alice",
  ],
  [
    "a key that was made with it for another team",
    ofTeam("pay", { ...withIt, parentKey: byAlice }),
    "management.service:team:pay",
  ],
  [
    "a key that was made with a key that is gone",
    ofTeam("web", { ...withIt, parentKey: "gone" }),
    "management.service:team:web",
  ],
])("%s counts for its person", (_what, key, expected) => {
  const identity = identityOf(key.key.spec, key.config.prefixes);
  expect(personOf(key, identity.kind === "valid" ? identity.username : "")).toBe(expected);
});

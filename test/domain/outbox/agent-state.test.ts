import { describe, expect, test } from "vitest";
import {
  type AgentFacts,
  agentProblem,
  agentState,
  agentWrites,
} from "../../../src/domain/outbox/agent-state.ts";

const well: AgentFacts = {
  identity: { kind: "own" },
  isOutboxListed: true,
  arePoliciesChecked: true,
  policyProblem: undefined,
  silentMs: 0,
  deleteAfterMs: undefined,
};
const other = { kind: "other", uid: "uid-west" } as const;
const hour = 3_600_000;

describe("the state of an agent", () => {
  test.each<[string, Partial<AgentFacts>, string, string | undefined]>([
    ["works", {}, "working", "all"],
    ["works without the central cluster", { silentMs: 100 * hour }, "working", "all"],
    ["waits for the outbox", { isOutboxListed: false }, "waiting", undefined],
    ["waits for its Lease", { identity: { kind: "unknown" } }, "waiting", undefined],
    ["waits for an answer about policies", { arePoliciesChecked: false }, "waiting", undefined],
    ["removes without a policy", { policyProblem: "gone" }, "policies-missing", "removals"],
    [
      "is not disconnected too early",
      { silentMs: hour - 1, deleteAfterMs: hour },
      "working",
      "all",
    ],
    [
      "removes everything when it is disconnected",
      { silentMs: hour, deleteAfterMs: hour, policyProblem: "gone" },
      "disconnected",
      "remove-all",
    ],
    [
      "also after a restart",
      {
        silentMs: hour,
        deleteAfterMs: hour,
        isOutboxListed: false,
        identity: { kind: "unknown" },
      },
      "disconnected",
      "remove-all",
    ],
    [
      "writes nothing as a duplicate, whatever else there is",
      { identity: other, silentMs: hour, deleteAfterMs: hour, policyProblem: "gone" },
      "duplicate",
      undefined,
    ],
  ])("%s", (_, changes, kind, writes) => {
    const state = agentState({ ...well, ...changes });
    expect([state.kind, agentWrites(state)?.kind]).toEqual([kind, writes]);
  });

  test("a duplicate names the other cluster", () => {
    const state = agentState({ ...well, identity: other });
    expect(state).toMatchObject({ why: expect.stringContaining('the uid "uid-west"') });
    const hostile = agentState({ ...well, identity: { ...other, uid: "\u{1b}[2J" } });
    expect(hostile).toMatchObject({ why: expect.stringMatching(/^\P{Cc}+$/u) });
  });

  test("says what keeps it from its work, also if it reports nothing", () => {
    const problemOf = (changes: Partial<AgentFacts>) =>
      agentProblem(agentState({ ...well, ...changes }));
    expect(problemOf({ policyProblem: "it is gone" })).toEqual({
      reason: "PoliciesMissing",
      message: "it is gone",
    });
    expect([problemOf({}), problemOf({ identity: other })?.reason]).toEqual([
      undefined,
      "DuplicateAgent",
    ]);
  });
});

import assert from "node:assert/strict";
import fc from "fast-check";
import { listAt, recordAt } from "../../src/api/parse.ts";
import { heartbeatIn, type Heartbeat } from "../../src/controllers/heartbeat.ts";
import { connectedPolicies, policyProblem } from "../../src/domain/gateway/connected-policy.ts";
import { outboxName } from "../../src/domain/outbox/outbox-names.ts";
import { outboxState } from "../../src/domain/outbox/outbox-state.ts";
import { guardingPolicies, policyDifference } from "../../src/domain/policies/guarding-policies.ts";
import { namespacesInPolicy } from "../../src/domain/policies/latchkey-namespaces.ts";
import type { LeaseRecord } from "../../src/kube/lease-record.ts";
import { shippedPolicy } from "../support/connected-policies.ts";
import { east, sharedWith } from "../support/observed-outbox.ts";
import { observedMetadata } from "../support/observed-objects.ts";
import { decidesNothing, isUnsaid, policyChanges } from "../support/policy-changes.ts";
import { anyRequest, anyScope } from "../domain/scope/arbitraries.ts";
import { isAllowed } from "../domain/scope/verdict-of.ts";
import { hostileWord } from "./hostile.ts";
import type { Target } from "./target.ts";

const createdAt = "2026-01-01T00:00:00Z";
const later = Date.parse(createdAt) + 10_000;

/** A policy of a list, and a change of it. */
const changeOf = <T extends { readonly name: string }>(all: readonly T[]) =>
  fc.oneof(
    ...all.map((expected) =>
      policyChanges(shippedPolicy(expected.name, createdAt)).map((change) => ({
        ...change,
        expected,
      })),
    ),
  );

/** A time as another administrator may write it, or anything else. */
const time = fc.oneof(
  fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
  fc.constantFrom("9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "2026-01-01T00:00:00.000000Z"),
  hostileWord,
);

function leaseOf(resourceVersion: string, renewTime: string): LeaseRecord {
  const spec = { holderIdentity: "", leaseDurationSeconds: 15, leaseTransitions: 0, renewTime };
  return { metadata: observedMetadata({ resourceVersion }), spec };
}

const namespace = fc.oneof(
  fc.constantFrom("ns", "other", "", "kube-system", "__proto__"),
  hostileWord,
);

/** An account of Latchkey in this namespace, in an expression that another administrator writes. */
const account = fc
  .tuple(namespace, fc.constantFrom("latchkey-controller", "latchkey-"), hostileWord, hostileWord)
  .map(([name, own, before, after]) => ({
    name,
    text: `${before}system:serviceaccount:${name}:${own}${after}`,
  }));

/** Namespaces that fill an outbox, and the sizes of what each adds. */
const fillings = fc.array(fc.record({ namespace: fc.nat(20), size: fc.nat(90) }), {
  maxLength: 120,
});
const maximumBytes = 1_000;
const target = {
  namespace: "latchkey-cluster-east",
  name: outboxName({ namespace: "a", name: "b" }),
};

/** Whether a source of this size gets a Secret of the outbox that it has not got. */
function isOffered(
  size: number,
  held: { readonly bytes: number; readonly namespaceBytes: number },
) {
  const { kind } = outboxState({
    target,
    existing: undefined,
    cluster: east,
    source: { ...sharedWith(), size },
    isTerminating: false,
    reported: { done: new Map() },
    usage: { ...held, maximumBytes, withdrawals: 0 },
  });
  return kind === "missing";
}

/** What guards a cluster or a share of it against its tenants and against other administrators. */
export const guardTargets: readonly Target[] = [
  {
    name: "policies: a policy of a connected cluster with another value at any place counts for nothing",
    property: () =>
      fc.property(
        changeOf(Object.values(connectedPolicies)),
        ({ expected, place, before, after, policy, binding }) => {
          const problem = policyProblem(expected, { policy, binding }, later);
          if (problem === undefined) assert.ok(decidesNothing(place, before, after));
        },
      ),
  },
  {
    name: "policies: a policy of the central cluster with another value at any place is said",
    property: () =>
      fc.property(
        changeOf(guardingPolicies),
        ({ expected, place, before, after, policy, binding }) => {
          const difference = policyDifference(expected, { policy, binding }, { isCentral: true });
          if (difference === undefined)
            assert.ok(decidesNothing(place, before, after) || isUnsaid(before, after));
        },
      ),
  },
  {
    name: "namespaces: a policy of a connected cluster adds guarded namespaces, and takes none away",
    property: () =>
      fc.property(
        ...[changeOf([connectedPolicies.ownSecrets]), fc.array(account, { maxLength: 3 })],
        ...[anyScope, anyRequest],
        ({ policy }, accounts, scope, request) => {
          const spec = recordAt(policy, "spec");
          const validations = [
            ...listAt(spec, "validations"),
            ...accounts.map(({ text }) => ({ expression: text })),
          ];
          const named = new Set(namespacesInPolicy({ spec: { ...spec, validations } }));
          for (const { name } of accounts)
            if (!name.includes(":")) assert.ok(named.has(name), `${name} is not guarded`);
          const isLet = (latchkeyNamespaces: ReadonlySet<string> | "unknown"): boolean =>
            isAllowed(scope, { ...request, latchkeyNamespaces });
          if (isLet("unknown")) assert.ok(isLet(named));
          if (isLet(named)) assert.ok(isLet(new Set()));
        },
      ),
  },
  {
    name: "heartbeats: no time in a Lease makes an agent live longer than its writes",
    property: () =>
      fc.property(
        fc.array(fc.record({ waitMs: fc.nat(200_000), renewTime: fc.option(time) })),
        (steps) => {
          let [heartbeat, monotonic, writtenAt]: [Heartbeat | undefined, number, number] = [
            ...([undefined, 0, 0] as const),
          ];
          for (const [index, { waitMs, renewTime }] of steps.entries()) {
            monotonic += waitMs;
            const clock = { now: () => later + monotonic, monotonic: () => monotonic };
            if (renewTime === null) continue;
            const lease = leaseOf(String(index), renewTime);
            const withinMs: number = heartbeat === undefined ? Infinity : 0;
            const next = heartbeatIn(lease, heartbeat, { clock, withinMs });
            if (next !== undefined) writtenAt = monotonic;
            heartbeat = next;
            if (heartbeat === undefined) continue;
            assert.ok(heartbeat.writtenAt <= writtenAt);
            assert.equal(heartbeatIn(lease, heartbeat, { clock, withinMs }), heartbeat);
            if (withinMs === 0) assert.equal(heartbeat.writtenAt, monotonic);
          }
        },
      ),
  },
  {
    name: "shares: a namespace that holds little is refused only by a full outbox, whatever others offer",
    property: () =>
      fc.property(fillings, (offers) => {
        const held = new Map<number, number>();
        let bytes = 0;
        for (const { namespace, size } of offers) {
          const namespaceBytes = held.get(namespace) ?? 0;
          const isIn = isOffered(size, { bytes, namespaceBytes });
          if (!isIn) assert.ok(bytes + size > maximumBytes * 0.75);
          if (!isIn && namespaceBytes < maximumBytes / 16) assert.ok(bytes + size > maximumBytes);
          if (!isIn) continue;
          held.set(namespace, namespaceBytes + size);
          bytes += size;
          assert.ok(bytes <= maximumBytes);
        }
      }),
  },
];

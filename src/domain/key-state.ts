import type { ConditionClaim, Reason } from "../api/conditions.ts";
import type { OwnedAccessKeySeen } from "../api/owned-access-key.ts";
import type { Requester } from "../api/requester.ts";
import type { Prefixes } from "./access-rules.ts";
import { stalled, timestamp } from "./conditions.ts";
import { identityOf } from "./key-identity.ts";
import { createdAt, expiringFrom, instantOf, isOver, type Lifetime, lifetimeOf } from "./lifetime.ts";

/** An OwnedAccessKey and what decides whether it works. */
export interface KeyView {
  readonly key: OwnedAccessKeySeen;
  readonly requester: Requester;
  /** Name of the older object with the same key, see {@link olderHolder}. */
  readonly olderHolder: string | undefined;
  readonly config: KeyConfig;
}

/** What of the configuration decides whether a key works. */
export interface KeyConfig {
  /** Seconds; 0 is no limit. */
  readonly maximumKeyTtl: number;
  readonly prefixes: Prefixes;
}

/** Whether a key is in order, and why or why not; it is accepted only if the reason is Active. */
export interface KeyState {
  readonly ready: boolean;
  readonly reason: Reason;
  readonly message: string;
}

/** The life of a key (specification, Authentication 4); undefined when it has no end. */
export function keyLifetime({ key, config }: KeyView): Lifetime | undefined {
  return lifetimeOf({
    createdAt: createdAt(key.metadata),
    ttl: key.spec.ttl ?? 0,
    idleSince: key.spec.ttlAfterLastActivity ? instantOf(key.lastActivity) : undefined,
    maximumTtl: config.maximumKeyTtl,
  });
}

/** The state of a key at `now`, in milliseconds since the epoch; the first thing that is wrong is the one that is said. */
export function keyState(view: KeyView, now: number): KeyState {
  const { spec, keyDigest } = view.key;
  const life = keyLifetime(view);
  if (isOver(life, now)) return failed("Expired", `${endOf(life, now)} Create another key.${clampOf(view, life)}`);
  if (view.requester.kind === "unknown") return failed("UnknownRequester", view.requester.why);
  if (keyDigest === undefined) return failed("MissingKey", "spec.key is empty. Set it to a key or to its sha256: digest.");
  const identity = identityOf(spec, view.config.prefixes);
  if (identity.kind === "nobody") return failed(identity.reason, identity.message);
  if (spec.scope === "unreadable") {
    return failed("InvalidScope", "spec.scope cannot be read: a value has another type than it should, or a field is not known. Correct it.");
  }
  if (view.olderHolder !== undefined) {
    return failed("DuplicateKey", `The older OwnedAccessKey "${view.olderHolder}" holds the same key. Set another spec.key.`);
  }
  if (spec.disabled) return { ready: true, reason: "Disabled", message: "spec.disabled is true: the key is refused." };
  return { ready: true, reason: "Active", message: `The key is accepted. ${endOf(life, now)}${clampOf(view, life)}` };
}

/** The conditions of a key at `now`, in milliseconds since the epoch. */
export function keyClaims(view: KeyView, now: number): readonly ConditionClaim[] {
  const { ready, reason, message } = keyState(view, now);
  return [
    ...(ready ? [{ type: "Ready", status: "True", reason, message } as const] : stalled(reason, message)),
    { type: "Active", status: reason === "Active" ? "True" : "False", reason, message },
    ...lifeClaims(keyLifetime(view), now),
  ];
}

function lifeClaims(life: Lifetime | undefined, now: number): readonly ConditionClaim[] {
  const message = endOf(life, now);
  if (isOver(life, now)) {
    return [
      { type: "Expired", status: "True", reason: "Expired", message },
      { type: "Expiring", status: "False", reason: "Expired", message },
    ];
  }
  const near = now >= (expiringFrom(life) ?? Infinity);
  return [
    { type: "Expired", status: "False", reason: "NotExpired", message },
    { type: "Expiring", status: near ? "True" : "False", reason: near ? "Expiring" : "NotExpiring", message },
  ];
}

function failed(reason: Reason, message: string): KeyState {
  return { ready: false, reason, message };
}

function endOf(life: Lifetime | undefined, now: number): string {
  if (life === undefined) return "Its life has no end.";
  return `Its life ${isOver(life, now) ? "ended" : "ends"} at ${timestamp(life.endsAt)}.`;
}

function clampOf({ config }: KeyView, life: Lifetime | undefined): string {
  return life?.clamped === true ? ` The configured maximum of ${config.maximumKeyTtl} seconds applies.` : "";
}

import type { OwnedAccessKeySpec } from "../../api/owned-access-key.ts";
import { timestamp } from "../plan/conditions.ts";
import {
  parentInvalidReason,
  maximumChildExpiry,
  type ResolvedKey,
  effectiveScopes,
} from "./key-state.ts";
import { lifetimeOf } from "../lifetime.ts";
import { isGuardedNamespace } from "../scope/derived-credentials.ts";
import { narrows } from "../scope/narrows.ts";

/**
 * Why a request that was made with `parent` must not create a key with this spec, at `now` in
 * milliseconds since the epoch; undefined if it may: the scope is within that of the parent, and
 * the expiry is fixed and not later. The message names the field and the fix.
 */
export function attenuationProblem(
  spec: OwnedAccessKeySpec,
  parent: ResolvedKey | "gone",
  now: number,
): string | undefined {
  const invalidReason = parentInvalidReason(parent, now);
  if (parent === "gone" || invalidReason !== undefined)
    return `${invalidReason ?? "The parent access key was deleted"}; use a valid credential`;
  // In connected clusters other namespaces are guarded; there, each use checks the parent's scope.
  const isGuarded = (name: string): boolean => isGuardedNamespace(name, parent.config.namespace);
  if (!effectiveScopes(parent).every((limit) => narrows(spec.scope, limit, isGuarded))) {
    return (
      "spec.scope: must not exceed the scope of the access key that made the request: " +
      "each entry must be within one entry of that scope. Narrow spec.scope, or use another " +
      "credential"
    );
  }
  return endProblem(spec, parent, now);
}

function endProblem(
  { ttl = 0, ttlAfterLastActivity }: OwnedAccessKeySpec,
  parent: ResolvedKey,
  now: number,
): string | undefined {
  const latest = maximumChildExpiry(parent, now);
  if (latest === Infinity) return undefined;
  const end =
    lifetimeOf({ createdAt: now, ttl, maximumTtl: parent.config.maximumKeyTtl })?.endsAt ??
    Infinity;
  const isFixed = !ttlAfterLastActivity || ttl === 0;
  if (isFixed && end <= latest) return undefined;
  const most = Math.floor((latest - now) / 1000);
  return (
    "spec.ttl: the key must not outlive the access key that made the request, which expires " +
    `at ${timestamp(latest)}; ` +
    `set spec.ttl to at most ${most} seconds without spec.ttlAfterLastActivity, or use ` +
    "another credential"
  );
}

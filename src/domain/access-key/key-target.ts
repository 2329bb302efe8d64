import { group } from "../../api/names.ts";
import { resources } from "../../api/resources.ts";
import { parseScopeLimit } from "../../api/scope.ts";
import { isSame } from "../plan/merge-patch.ts";
import type { ScopedRequest } from "../scope/scoped-request.ts";
import { ancestorsOf, keyState, type ResolvedKey } from "./key-state.ts";

/**
 * Why a request with a key is denied for the key that it is about, by its name; undefined for any
 * other request. A key changes none of those that it was made with, and does not delete itself
 * (docs/decisions/keys-made-with-keys.md).
 */
export function keyTargetProblem(by: ResolvedKey, request: ScopedRequest): string | undefined {
  if (request.kind === "path" || request.target !== "Management") return undefined;
  const { verb, name, subresource } = request;
  if (request.group !== group || request.resource !== resources.ownedAccessKeys.plural)
    return undefined;
  const [own, ...ancestors] = ancestorsOf(by).map(({ key }) => key.metadata.name);
  const asks = (...verbs: readonly string[]): boolean => [...verbs, "*"].includes(verb);
  if (asks("deletecollection") && (verb !== "*" || name === "")) return notTogether;
  if (name === "") return undefined;
  if (ancestors.includes(name) && asks("update", "patch", "delete")) return isAncestor(name);
  return name === own && subresource === "" && asks("delete") ? isItself(name) : undefined;
}

/** A change of a stored key, or its deletion. */
interface KeyWrite {
  /** The key with the uid of the stored object, if it is known. */
  readonly target: ResolvedKey | undefined;
  readonly uid: string;
  /** Whether the key of the request made it. */
  readonly isChild: boolean;
  readonly isDelete: boolean;
  /** `spec.scope` of the object before and after, as they were sent. */
  readonly scopes: readonly [before: unknown, after: unknown];
}

/**
 * The same for the object that a request is about, at `now` in milliseconds since the epoch: what
 * the policy `latchkey-mint-guard` cannot see, such as parents and the time.
 */
export function keyWriteProblem(
  by: ResolvedKey,
  { target, uid, isChild, isDelete, scopes: [before, after] }: KeyWrite,
  now: number,
): string | undefined {
  const [, ...ancestors] = ancestorsOf(by);
  const ancestor = ancestors.find(({ key }) => key.metadata.uid === uid);
  if (ancestor !== undefined) return isAncestor(ancestor.key.metadata.name);
  if (!isDelete)
    return parseScopeLimit(before) === "unreadable" && !isSame(before, after)
      ? unreadable
      : undefined;
  if (target === undefined || isChild) return undefined;
  const { reason } = keyState(target, now);
  return ended.includes(reason) ? isOver(target.key.metadata.name, reason) : undefined;
}

/** Why a key is not accepted that a deployer would make anew from its manifest. */
const ended: readonly string[] = ["Disabled", "Expired", "ParentKeyInvalid"];

const notTogether =
  "with an access key, access keys can be deleted only by name; name each key, or use another " +
  "credential";

const unreadable =
  "spec.scope: the stored scope is invalid and allows nothing, so a request with an access key " +
  "must not change it; use another credential";

function isAncestor(name: string): string {
  return (
    `the access key of this request was made with OwnedAccessKey "${name}", ` +
    "and must not change it; use another credential"
  );
}

function isItself(name: string): string {
  return (
    `OwnedAccessKey "${name}" is the access key of this request, and cannot delete itself; ` +
    "set spec.disabled to true, or run: kubectl latchkey keys disable --self"
  );
}

function isOver(name: string, reason: string): string {
  return (
    `OwnedAccessKey "${name}" is ${reason}: a tool that deploys it could make it again, ` +
    "with a whole lifetime; use another credential"
  );
}

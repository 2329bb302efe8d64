import { soleExtra } from "../api/access-review.ts";
import type { AdmissionRequest } from "../api/admission-review.ts";
import { annotations, extras, ownObjects } from "../api/names.ts";
import { parseOwnedAccessKeySpec } from "../api/owned-access-key.ts";
import { recordAt, stringAt, stringMapAt } from "../api/parse.ts";
import { resources } from "../api/resources.ts";
import { notSyncedMessage } from "../authn/authorize-request.ts";
import { attenuationProblem } from "../domain/access-key/attenuation.ts";
import {
  candidateOutcome,
  type KeyCandidate,
  mostOfOneIndex,
  requesterNameOf,
} from "../domain/access-key/duplicate-key.ts";
import { keyIndexOf } from "../domain/access-key/key-digest.ts";
import { rulesAdvice } from "../domain/oidc/known-issuers.ts";
import { tokenRuleOf } from "../domain/oidc/trusted-tokens.ts";
import { isSame } from "../domain/plan/merge-patch.ts";
import {
  asNewObject,
  storedRequester,
  takesOver,
} from "../domain/requester/requester-annotations.ts";
import { missingKey, type SentKey, sentKey, withKey } from "../tokens/admitted-key.ts";
import type { AdmissionContext } from "./admission-context.ts";
import { isAllowed, type AdmissionStep, admitted, refused } from "./admission.ts";

/**
 * Refuses a key that another object owns, in any form, or that another object would lose. Only a
 * user who may read that object gets the error; for any other user the object is stored with the
 * status DuplicateKey.
 */
export const rejectDuplicateKey: AdmissionStep = async (request, context) => {
  const { accessKeys } = context;
  const sent = sentKey(request.object);
  if (sent === undefined || sent.keyDigest === sentKey(request.oldObject)?.keyDigest)
    return admitted(request);
  const outcome = candidateOutcome(
    claimOf(request, sent, accessKeys),
    accessKeys.ofIndex(keyIndexOf(sent.keyDigest)),
    sent.matches,
  );
  switch (outcome.kind) {
    case "free":
      return admitted(request);
    case "over-limit":
      return refused(
        422,
        `spec.key: the requester already has ${mostOfOneIndex} OwnedAccessKeys whose digests ` +
          "begin with the same 16 digits, which is the limit; delete one of them, or set " +
          "another key",
      );
    case "newer-duplicate":
      return refused(
        422,
        "spec.key: another OwnedAccessKey that was created later already has this key; set " +
          "another key",
      );
    case "duplicate":
      if (!(await mayRead(outcome.by, request, context))) return admitted(request);
      return refused(
        422,
        "spec.key: another OwnedAccessKey already has this key; set another key, or leave " +
          "spec.key empty to have one generated",
      );
  }
};

/**
 * The candidate of a write: a new object is newer than all others; the metadata of an existing one
 * comes from the cache, not from the request.
 */
function claimOf(
  { object, user }: AdmissionRequest,
  { keyDigest }: SentKey,
  accessKeys: AdmissionContext["accessKeys"],
): KeyCandidate {
  const known = accessKeys.byId(stringAt(recordAt(object, "metadata"), "uid") ?? "")?.key.metadata;
  const youngest = {
    name: "",
    uid: "",
    creationTimestamp: "~",
    annotations: { [annotations.requester]: user.username },
  };
  return {
    metadata: known ?? youngest,
    spec: parseOwnedAccessKeySpec(recordAt(object, "spec")),
    keyDigest,
  };
}

async function mayRead(
  owner: KeyCandidate,
  { user }: AdmissionRequest,
  context: AdmissionContext,
): Promise<boolean> {
  if (requesterNameOf(owner) === user.username) return true;
  const { group, plural } = resources.ownedAccessKeys;
  return isAllowed(
    user,
    { verb: "get", group, resource: plural, name: owner.metadata.name },
    context,
  );
}

/**
 * Refuses a key if the requester has reached its quota, by the cache: concurrent requests may
 * exceed it.
 */
export const enforceQuota: AdmissionStep = (request, { accessKeys, options }) => {
  const { username } = request.user;
  const { quotaExempt, quotaKeys } = options;
  const isExempt = request.oldObject !== undefined || quotaExempt.includes(username);
  if (isExempt || accessKeys.countOf(username) < quotaKeys) return admitted(request);
  return refused(
    429,
    `${username} already has ${quotaKeys} OwnedAccessKeys, which is the limit for each ` +
      "requester; expired keys count. Delete keys that are not needed",
  );
};

/**
 * Refuses a new key that exceeds the key that its request was made with. Policies reject updates of
 * keys in such requests.
 */
export const enforceAttenuation: AdmissionStep = (request, { accessKeys, clock }) => {
  const { user, object, oldObject } = request;
  if (user.extra[extras.keyId] === undefined || oldObject !== undefined) return admitted(request);
  if (!accessKeys.isFresh()) return refused(503, notSyncedMessage);
  const parent = accessKeys.byId(soleExtra(user, extras.keyId) ?? "") ?? "gone";
  const problem = attenuationProblem(
    parseOwnedAccessKeySpec(recordAt(object, "spec")),
    parent,
    clock.now(),
  );
  return problem === undefined ? admitted(request) : refused(403, problem);
};

/**
 * Refuses a rule about tokens that is invalid or trusts too many of them. The policy
 * `latchkey-mint-guard` decides who may set and change one.
 */
export const checkTokenRule: AdmissionStep = (request) => {
  const [rule, stored] = [request.object, request.oldObject].map(ruleOf);
  if (rule?.kind !== "invalid" || isSame(rule, stored)) return admitted(request);
  return refused(422, `metadata.annotations[${rule.annotation}] ${rule.problem}`);
};

/** Returns warnings about a new rule about tokens: what it probably does not mean. */
export function tokenRuleWarnings(
  { object, oldObject }: Pick<AdmissionRequest, "object" | "oldObject">,
  { accessKeys }: Pick<AdmissionContext, "accessKeys">,
): readonly string[] {
  const [rule, stored] = [object, oldObject].map(ruleOf);
  if (rule?.kind !== "rule" || isSame(rule, stored)) return [];
  const { issuer, rules } = rule;
  const advice = rulesAdvice(issuer, rules);
  return [
    ...(accessKeys.issuers().has(issuer)
      ? []
      : [
          `metadata.annotations[${annotations.issuer}]: no issuer of the ConfigMap ` +
            `${ownObjects.issuers} has this URL, so no token is accepted`,
        ]),
    ...(advice === undefined ? [] : [`metadata.annotations[${annotations.claims}]: ${advice}`]),
  ];
}

function ruleOf(object: unknown): ReturnType<typeof tokenRuleOf> {
  return tokenRuleOf({ annotations: stringMapAt(recordAt(object, "metadata"), "annotations") });
}

/** Refuses a takeover with a digest of the stored key: the former requester knows that key. */
export const newKeyOnTakeOver: AdmissionStep = (request) => {
  const { object, oldObject } = request;
  const [sent, stored] = [object, oldObject].map((state) => sentKey(state)?.keyDigest);
  const isSame =
    sent !== undefined && stored !== undefined && keyIndexOf(sent) === keyIndexOf(stored);
  if (!isSame || !takesOver(request)) return admitted(request);
  return refused(
    422,
    "spec.key: must not be a digest of the stored key, which the requester " +
      `${JSON.stringify(storedRequester(oldObject) ?? "")} may know; set the digest of a new key`,
  );
};

/** Sets a key that was sent empty. */
export const defaultKey: AdmissionStep = (request) => {
  const { object, oldObject } = request;
  const key = missingKey(object, oldObject);
  return key === undefined ? admitted(request) : { kind: "admitted", object: withKey(object, key) };
};

/** Adds the finalizer and the start of the lifetime to a new object. */
export const newObject: AdmissionStep = (request, { clock }) => ({
  kind: "admitted",
  object: asNewObject(request, clock.now()),
});

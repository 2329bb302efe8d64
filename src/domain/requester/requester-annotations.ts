import type { AdmissionRequest, AdmissionUser } from "../../api/admission-review.ts";
import { annotations, extras, ownAccounts, cleanupFinalizer } from "../../api/names.ts";
import { isRecord, recordAt, stringMapAt } from "../../api/parse.ts";
import { lifetimeAnnotations, lockedAnnotations } from "../../api/requester.ts";
import { specKeyOf } from "../../api/owned-access-key.ts";
import { instantOf } from "../lifetime.ts";
import { timestamp } from "../plan/conditions.ts";

type Annotations = Readonly<Record<string, string | undefined>>;

const date = String.raw`\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])`;
const time = String.raw`([01]\d|2[0-3]):[0-5]\d`;
const rfc3339 = new RegExp(String.raw`^${date}T${time}:[0-5]\d(\.\d+)?(Z|[+-]${time})$`);
const uid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Sets the requester annotations of an object: those of the user on a create or takeover, the
 * stored ones on any other update; `namespace` is Latchkey's own. The policy
 * `latchkey-requester-annotations` does the same on servers with MutatingAdmissionPolicy.
 */
export function withRequesterAnnotations(
  request: AdmissionRequest,
  namespace: string,
): AdmissionRequest["object"] {
  const { object } = request;
  const metadata = recordAt(object, "metadata");
  const others = Object.entries(recordAt(metadata, "annotations")).filter(
    ([name]) => !lockedAnnotations.includes(name),
  );
  const due = Object.entries(dueAnnotations(request, ownAccounts(namespace))).filter(
    ([, value]) => value !== undefined,
  );
  if (due.length === 0 && !isRecord(metadata["annotations"])) return object;
  return {
    ...object,
    metadata: { ...metadata, annotations: Object.fromEntries([...others, ...due]) },
  };
}

/** The requester in the annotation of an object; undefined if it has none. */
export function storedRequester(stored: unknown): string | undefined {
  const name = annotationsOf(stored)[annotations.requester] ?? "";
  return name === "" ? undefined : name;
}

/**
 * Whether a user other than the requester sets `spec.key` to another digest, or trusts tokens with
 * other claims where there is no key, which makes that user the requester.
 */
export function takesOver({ user, object, oldObject }: AdmissionRequest): boolean {
  const requester = storedRequester(oldObject);
  if (requester === undefined || requester === user.username) return false;
  const [key, storedKey] = [specKeyOf(object), specKeyOf(oldObject)];
  if (key !== "") return key.startsWith("sha256:") && key !== storedKey;
  const [claims = "", storedClaims = ""] = [object, oldObject].map(
    (state) => annotationsOf(state)[annotations.claims],
  );
  return storedKey === "" && claims !== "" && storedClaims !== "" && claims !== storedClaims;
}

function dueAnnotations(request: AdmissionRequest, own: readonly string[]): Annotations {
  const { user, object, oldObject } = request;
  const [sent, stored] = [annotationsOf(object), annotationsOf(oldObject)];
  const isTakeOver = takesOver(request);
  const isOwn = own.includes(user.username);
  const former = {
    [annotations.formerRequester]: isTakeOver
      ? stored[annotations.requester]
      : (isOwn ? sent : stored)[annotations.formerRequester],
  };
  return {
    ...(oldObject === undefined || isTakeOver
      ? madeBy(user, oldObject === undefined ? sent : {})
      : requesterIn(stored)),
    ...former,
    [annotations.audienceCluster]: (oldObject === undefined ? sent : stored)[
      annotations.audienceCluster
    ],
    [annotations.credentialEnds]:
      oldObject === undefined
        ? (user.extra[extras.credentialEnds]?.join("\n") ??
          timeIn(sent, annotations.credentialEnds))
        : stored[annotations.credentialEnds],
    ...timesIn(sent, oldObject === undefined || isOwn ? undefined : stored),
  };
}

function madeBy(
  { username, uid: userUid, groups, extra }: AdmissionUser,
  sent: Annotations,
): Annotations {
  const sentKeyId = sent[annotations.requesterKeyId];
  return {
    [annotations.requester]: username,
    [annotations.requesterUid]: userUid,
    [annotations.requesterGroups]: groups.join("\n"),
    // A user without a key may set the annotation: it only restricts the object, and a restore
    // keeps its parent key.
    [annotations.requesterKeyId]:
      extra[extras.keyId]?.join("\n") ?? (uid.test(sentKeyId ?? "") ? sentKeyId : undefined),
  };
}

function requesterIn(stored: Annotations): Annotations {
  const names = [
    annotations.requester,
    annotations.requesterUid,
    annotations.requesterGroups,
    annotations.requesterKeyId,
  ];
  return Object.fromEntries(names.map((name) => [name, stored[name]]));
}

function timesIn(sent: Annotations, stored: Annotations | undefined): Annotations {
  const valueOf = (name: string): string | undefined =>
    stored === undefined ? timeIn(sent, name) : stored[name];
  return Object.fromEntries(lifetimeAnnotations.map((name) => [name, valueOf(name)]));
}

function timeIn(sent: Annotations, name: string): string | undefined {
  return rfc3339.test(sent[name] ?? "") ? sent[name] : undefined;
}

function annotationsOf(object: unknown): Annotations {
  return stringMapAt(recordAt(object, "metadata"), "annotations");
}

/**
 * Adds to a new key or token what the controller would otherwise write after its creation: the
 * finalizer, and the start of its lifetime at `now` in milliseconds since the epoch. An earlier
 * start, of a restored object, is kept. On an update, the object is returned unchanged.
 */
export function asNewObject(
  { object, oldObject }: Pick<AdmissionRequest, "object" | "oldObject">,
  now: number,
): AdmissionRequest["object"] {
  if (oldObject !== undefined) return object;
  const metadata = recordAt(object, "metadata");
  const sent = instantOf(stringMapAt(metadata, "annotations")[annotations.createdAt]);
  const start =
    sent !== undefined && sent <= now ? {} : { [annotations.createdAt]: timestamp(now) };
  const { finalizers } = metadata;
  const others: readonly unknown[] = Array.isArray(finalizers) ? finalizers : [];
  return {
    ...object,
    metadata: {
      ...metadata,
      annotations: {
        ...(isRecord(metadata["annotations"]) ? metadata["annotations"] : {}),
        ...start,
      },
      finalizers: others.includes(cleanupFinalizer) ? others : [...others, cleanupFinalizer],
    },
  };
}

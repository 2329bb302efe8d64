import type { AdmissionRequest } from "../api/admission-review.ts";
import { annotations, extras } from "../api/names.ts";
import { isRecord, recordAt } from "../api/parse.ts";
import { stampAnnotations } from "../api/requester.ts";

/**
 * The object with the stamp of who sends it, or on an update with the stamp of the stored one, whatever was sent: what the policy
 * `latchkey-requester-stamp` writes on servers that have MutatingAdmissionPolicy.
 */
export function stamped({ user, object, oldObject }: AdmissionRequest): AdmissionRequest["object"] {
  const metadata = recordAt(object, "metadata");
  const stamp = oldObject === undefined ? stampBy(user) : recordAt(recordAt(oldObject, "metadata"), "annotations");
  const sent = recordAt(metadata, "annotations");
  const others = Object.entries(sent).filter(([name]) => !stampAnnotations.includes(name));
  const due = stampAnnotations.flatMap((name) => (stamp[name] === undefined ? [] : [[name, stamp[name]] as const]));
  if (due.length === 0 && !isRecord(metadata["annotations"])) return object;
  return { ...object, metadata: { ...metadata, annotations: Object.fromEntries([...others, ...due]) } };
}

function stampBy({ username, uid, groups, extra }: AdmissionRequest["user"]): Readonly<Record<string, string>> {
  const keyIds = extra[extras.keyId];
  return {
    [annotations.requester]: username,
    [annotations.requesterUid]: uid,
    [annotations.requesterGroups]: groups.join("\n"),
    ...(keyIds === undefined ? {} : { [annotations.requesterKeyId]: keyIds.join("\n") }),
  };
}

import { annotations } from "../../api/names.ts";
import type { Annotated } from "../../api/object.ts";
import { quoted } from "../report-object.ts";
import { syncList } from "./option-items.ts";
import { type PickedKeys, pickedKeysOf } from "./placeholder.ts";

/** The Secret beside a SharedSecret whose data it has, and which of its data keys. */
export interface DataFrom {
  readonly name: string;
  readonly keys: PickedKeys;
}

/** The options `data-from` and `data-from-keys`, or why one of them is invalid. */
type DataFromOption =
  | { readonly kind: "own" }
  | { readonly kind: "from"; readonly from: DataFrom }
  | { readonly kind: "refused"; readonly why: string };

const dnsName = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const longestName = 253;

/** Whether a Secret can have this name (RFC 1123 subdomain). */
export function isSecretName(name: string): boolean {
  return name.length <= longestName && dnsName.test(name);
}

/** Parses `data-from` and `data-from-keys` of a SharedSecret. */
export function dataFromOf({ annotations: given }: Annotated): DataFromOption {
  const { [annotations.dataFrom]: name, [annotations.dataFromKeys]: text } = given;
  if (name === undefined)
    return text === undefined
      ? { kind: "own" }
      : refused(
          `${annotations.dataFromKeys}: has no effect without ${annotations.dataFrom}; ` +
            "set it to the name of a Secret",
        );
  if (!isSecretName(name))
    return refused(
      `${annotations.dataFrom}: ${quoted(name)} is not a valid Secret name; must be the name of ` +
        'one Secret in the same namespace, such as "db-password"',
    );
  const picked = pickedKeysOf(text);
  return "why" in picked
    ? refused(`${annotations.dataFromKeys}: ${picked.why}`)
    : { kind: "from", from: { name, keys: picked.keys } };
}

function refused(why: string): DataFromOption {
  return { kind: "refused", why };
}

/** Maximum names of `data-for`, and so SharedSecrets that follow one Secret. */
export const mostFollowers = 16;

/** Whether the owner of a Secret lets a SharedSecret of this name have its data. */
type DataConsent = "named" | "not-named" | "unreadable";

/** Reads `data-for` of a Secret: names of SharedSecrets in its namespace. */
export function dataConsent({ annotations: given }: Annotated, sharedSecret: string): DataConsent {
  const list = syncList(given[annotations.dataFor]);
  if (list.kind === "refused" || list.entries.length > mostFollowers) return "unreadable";
  if (list.entries.some((name) => name.includes("*"))) return "unreadable";
  return list.entries.includes(sharedSecret) ? "named" : "not-named";
}

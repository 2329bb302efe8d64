import { copiedFrom, mark } from "./consent.ts";
import type { Followed, Raw, Texts } from "./raw.ts";

/*
 * What a SharedSecret has of the Secret that it follows, over objects as the API server stores them:
 * from docs/shared-secret.md. Calls no code of src.
 */

/** What is known of the Secret that a SharedSecret follows: it, or why there is nothing. */
export type ReadSecret = Raw | "gone" | "unreadable" | "unread";

/** A SharedSecret as if the data of the Secret that it follows stood in its spec. */
export function sourceWith(source: Raw, read: ReadSecret): Raw {
  const hasOwnData = Object.keys(source.spec?.data ?? {}).length > 0;
  if (hasOwnData || !/^[-a-z0-9.]+$/.test(mark(source, "data-from") ?? "")) return source;
  const { data, ...followed } = followedBy(source, read);
  return { ...source, spec: { ...source.spec, data }, followed };
}

function followedBy(source: Raw, read: ReadSecret): Followed & { readonly data: Texts } {
  const kept = (reason: string) => ({ state: "kept", reason, data: {} }) as const;
  if (read === "unread") return kept("Progressing");
  if (read === "gone") return kept("SourceMissing");
  if (read === "unreadable") return kept("SourceInvalid");
  if (read.metadata.deletionTimestamp !== undefined) return kept("SourceMissing");
  if (isOfLatchkey(read)) return kept("SourceInvalid");
  const named = itemsOf(mark(read, "data-for"));
  if (named.length > 16 || named.some((name) => !/^[-a-z0-9.]+$/.test(name)))
    return kept("SourceInvalid");
  if (!named.includes(source.metadata.name)) return { state: "withdrawn", data: {} };
  const { type = "Opaque" } = read;
  if (!types.includes(type) && mark(source, "sync-secret-type") === undefined)
    return kept("SourceInvalid");
  const data = pickedFrom(read.data ?? {}, mark(source, "data-from-keys"));
  return data === undefined ? kept("SourceInvalid") : { state: "data", type, data };
}

/** Types that copies follow. */
const types: readonly string[] = [
  "Opaque",
  ...["tls", "dockerconfigjson", "dockercfg", "basic-auth", "ssh-auth"].map(
    (type) => `kubernetes.io/${type}`,
  ),
];

/** Whether a Secret is a copy, a placeholder, or of Latchkey itself: none of them is followed. */
function isOfLatchkey(secret: Raw): boolean {
  const own = ["source-uid", "sharedsecret-name", "component", "outbox-uid", "cluster"];
  return (
    own.some((name) => mark(secret, name, "labels") !== undefined) ||
    copiedFrom(secret) !== undefined
  );
}

function pickedFrom(data: Texts, list: string | undefined): Texts | undefined {
  if (list === undefined) return data;
  const picked = itemsOf(list).map((item) => {
    const [own = "", key = own] = item.split("=");
    return [own, data[key]] as const;
  });
  const found = picked.flatMap(([own, value]) =>
    value === undefined ? [] : [[own, value] as const],
  );
  return found.length === picked.length ? Object.fromEntries(found) : undefined;
}

function itemsOf(list = ""): readonly string[] {
  return list
    .split(/[,\n\r]/)
    .map((item) => item.trim())
    .filter((item) => item !== "");
}

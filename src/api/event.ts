import type { Reason } from "./conditions.ts";
import type { ObjectRef } from "./object.ts";
import type { Resource } from "./resources.ts";

/**
 * An Event about an object. It is recorded once for each `subject`, `reason` and
 * `deduplicationKey`.
 */
export interface Event<R extends string = Reason> {
  readonly resource: Resource;
  readonly subject: ObjectRef & { readonly uid: string };
  readonly type: "Normal" | "Warning";
  readonly reason: R;
  /** The message; the recorder truncates it to 1,024 bytes. */
  readonly note: string;
  /** Distinguishes Events with the same subject and reason, for example by an expiry time. */
  readonly deduplicationKey: string;
  /** Whether the Event may be left out when there are many; default: false. */
  readonly isOptional?: boolean;
}

import type { Reason } from "./conditions.ts";
import type { ObjectRef } from "./object.ts";
import type { Resource } from "./resources.ts";

/**
 * An Event about an object. The same `subject`, `reason` and `deduplicationKey` make the same
 * Event, which is recorded once.
 */
export interface Event<R extends string = Reason> {
  readonly resource: Resource;
  readonly subject: ObjectRef & { readonly uid: string };
  readonly type: "Normal" | "Warning";
  readonly reason: R;
  /** The message for people; the recorder cuts it after 1,024 bytes. */
  readonly note: string;
  /** Tells this Event from the last one with the same reason, such as the instant of expiry. */
  readonly deduplicationKey: string;
}

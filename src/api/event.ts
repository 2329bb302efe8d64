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
  /**
   * Which Events share a limit, beyond which they are left out: all `optional` ones, or the `hints`
   * of a namespace, each of which a process records once. Default: those of the object.
   */
  readonly limit?: "optional" | "hints" | undefined;
}

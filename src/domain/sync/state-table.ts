import type { ObjectRef } from "../../api/object.ts";
import type { ObservedCopy, Source, UnmanagedSecret, TargetSecret } from "./copy.ts";

/** The state of a target, which decides the writes. */
export type TargetState =
  | { readonly kind: "not-wanted" }
  | { readonly kind: "current"; readonly source: Source }
  /** The annotation `disable-sync` is on the first of the candidates, or on the existing Secret. */
  | { readonly kind: "paused"; readonly by: "source" | "copy" }
  | { readonly kind: "conflict"; readonly source: Source }
  | { readonly kind: "missing"; readonly source: Source }
  /**
   * A copy by its annotation, without the label; its data is compared once the label is restored.
   */
  | { readonly kind: "unlabelled"; readonly source: Source; readonly unmanaged: UnmanagedSecret }
  | {
      readonly kind: "differs" | "to-recreate";
      readonly source: Source;
      readonly copy: ObservedCopy;
      /** The copy has data of another source, which may not stay if this one cannot be written. */
      readonly hasWithdrawnData?: boolean;
    }
  /**
   * The annotations of the source are invalid: the copy is kept, with the reason in an annotation.
   */
  | {
      readonly kind: "source-invalid";
      readonly copy: ObservedCopy;
      readonly source: ObjectRef;
      readonly why: string;
    }
  /**
   * The source exists, but the sync is no longer permitted; or the source is not in the cache, to be
   * confirmed with the API server before the copy is deleted.
   */
  | {
      readonly kind: "withdrawn" | "orphaned";
      readonly copy: TargetSecret;
      readonly source: ObjectRef;
      /** Why a placeholder is emptied. */
      readonly why?: string;
      /** The annotation `disable-sync` is on the Secret, or on the source that is synced next. */
      readonly isPaused?: boolean;
    }
  /** A placeholder without data of Latchkey, and without a source that it may have. */
  | { readonly kind: "unfilled"; readonly copy: ObservedCopy; readonly why: string }
  /** A placeholder that cannot have the data that it asks for; what it has is kept. */
  | {
      readonly kind: "unfillable";
      readonly source: Source;
      readonly copy: ObservedCopy;
      readonly why: string;
    }
  /** A Secret that was filled, and that may not have its data any more or does not ask for it. */
  | {
      readonly kind: "to-empty";
      readonly copy: ObservedCopy;
      readonly why?: string;
      readonly isPaused?: boolean;
    }
  /** A Secret that was filled, and has lost all labels: it is labelled to be observed as a whole. */
  | { readonly kind: "to-relabel"; readonly unmanaged: UnmanagedSecret; readonly uid: string };

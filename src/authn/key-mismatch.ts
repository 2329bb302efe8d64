import { resources } from "../api/resources.ts";
import { boundSubjectOf } from "../domain/access-key/key-digest.ts";
import { type KeyCandidate, requesterNameOf } from "../domain/access-key/duplicate-key.ts";
import { EventBudget } from "../kube/event-budget.ts";
import type { EventRecorder } from "../kube/event-recorder.ts";
import type { Clock } from "../runtime/clock.ts";

/** Dependencies of {@link KeyMismatches}. */
interface KeyMismatchDeps {
  readonly events: Pick<EventRecorder, "record">;
  readonly clock: Clock;
}

/**
 * Records an Event on objects whose digest has the index of a presented key but does not match it:
 * most likely the digest is bound to another user. Limits the Events of one requester, who may copy
 * an index to many objects, to 25, then one in five minutes.
 */
export class KeyMismatches {
  readonly #deps: KeyMismatchDeps;
  readonly #budget: EventBudget;

  constructor(deps: KeyMismatchDeps) {
    this.#deps = deps;
    this.#budget = new EventBudget(deps.clock);
  }

  /** Records that a presented key is the key of none of these objects with its index. */
  note(
    sameIndex: readonly (KeyCandidate & { readonly metadata: { readonly generation: number } })[],
  ): void {
    for (const { metadata, spec, keyDigest } of sameIndex) {
      const subject = boundSubjectOf(spec);
      if (subject === undefined) continue;
      if (!this.#budget.tryTake(requesterNameOf({ metadata, spec, keyDigest }))) continue;
      const quoted = JSON.stringify(subject);
      const note =
        "A client presented a key with the index of spec.key, " +
        `but the digest in spec.key is not bound to ${quoted}. ` +
        `Set spec.key to a digest of the key that is bound to ${quoted}.`;
      const about = {
        resource: resources.ownedAccessKeys,
        subject: { name: metadata.name, uid: metadata.uid },
        deduplicationKey: `generation ${metadata.generation}`,
      };
      void this.#deps.events.record({ ...about, type: "Warning", reason: "KeyMismatch", note });
    }
  }
}

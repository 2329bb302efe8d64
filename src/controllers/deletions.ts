import type { Clock } from "../runtime/clock.ts";
import type { FormerGrantee } from "../domain/grants/former-grantee.ts";

/**
 * What this leader remembers of an object that is being deleted; instants are monotonic
 * milliseconds.
 */
export interface Deletion {
  readonly seenAt: number;
  /** When the last grant was deleted; undefined while a grant exists. */
  readonly grantsGoneAt: number | undefined;
  /** Whether this leader has seen a grant stand. */
  readonly hadGrants: boolean;
  /** Whom its bindings let in. */
  readonly grantees: readonly FormerGrantee[];
}

/**
 * When this leader first saw each deletion, by uid. A new leader begins anew: that an object goes
 * later is the only consequence.
 */
export class Deletions {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #known = new Map<string, Deletion>();

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /**
   * The instant at which the deletion of this object was first seen: now, unless it was seen
   * before.
   */
  seenAt(uid: string): number {
    return this.#get(uid).seenAt;
  }

  /** Takes in how the grants of an object stand now, and answers what is known of its deletion. */
  note(
    uid: string,
    { stand, grantees }: { readonly stand: boolean; readonly grantees: readonly FormerGrantee[] },
  ): Deletion {
    const before = this.#get(uid);
    const met = new Set(grantees.map(({ allowedBy }) => allowedBy));
    const deletion = {
      seenAt: before.seenAt,
      grantsGoneAt: stand ? undefined : (before.grantsGoneAt ?? this.#clock.monotonic()),
      hadGrants: before.hadGrants || stand,
      grantees: [...before.grantees.filter(({ allowedBy }) => !met.has(allowedBy)), ...grantees],
    };
    this.#known.set(uid, deletion);
    return deletion;
  }

  /** The object is gone. */
  forget(uid: string): void {
    this.#known.delete(uid);
  }

  #get(uid: string): Deletion {
    const known = this.#known.get(uid) ?? {
      seenAt: this.#clock.monotonic(),
      grantsGoneAt: undefined,
      hadGrants: false,
      grantees: [],
    };
    this.#known.set(uid, known);
    return known;
  }
}
